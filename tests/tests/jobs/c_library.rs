//! The C libraries as a whole: what they export, how they end a job, what tools see of them, and what they leave. What
//! the functions do, the programs of `tests/c` check (`tests/tests/programs`).

use std::ffi::OsStr;
use std::process::Command;

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::{Function, Interface, functions};

/// So many that there are limits of what shelves are for.
#[test]
fn ninety_ranks_do_collectives() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("collective_many.c"), &[]).unwrap();
    let output = library.run(90, &[program.as_os_str()], &[]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_deadlock_in_any_lane_is_shown() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/deadlock.c"), &[]).unwrap();
    let mut mpiexec = Command::new(rwmpi_tests::binary("mpiexec"));
    let output = mpiexec.args(["-n", "2", "--timeout", "2", "--lanes", "2"]).arg(program).output().unwrap();
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
    let receive = "(receive, tag 7, in communicator 3)";
    let deadlock = format!("deadlock: rank 0 waits for rank 1 {receive}, rank 1 waits for rank 0 {receive}");
    assert!(text(&output).contains(&deadlock), "{}", text(&output));
}

#[test]
fn who_waits_for_the_lock_of_a_window_is_shown_and_not_left_alone() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/window_deadlock.c"), &[]).unwrap();
    for nodes in ["RWMPI_NODES=0,0", "RWMPI_NODES=0,1"] {
        let mut mpiexec = Command::new(rwmpi_tests::binary("mpiexec"));
        mpiexec.args(["-n", "2", "--timeout", "2", "env", nodes]);
        let output = mpiexec.arg(&program).output().unwrap();
        assert_eq!(output.status.code(), Some(124), "{}", text(&output));
        let deadlock = "deadlock: rank 0 waits for rank 1 (lock of a window), rank 1 waits for rank 0 (receive, tag 7)";
        assert!(text(&output).contains(deadlock), "{}", text(&output));
        let output = library.run(2, &["env".as_ref(), nodes.as_ref(), program.as_os_str(), "die".as_ref()], &[]);
        assert_eq!(output.status.code(), Some(134), "{}", text(&output));
        assert!(text(&output).contains("rank 1") && text(&output).contains("SIGABRT"), "{}", text(&output));
    }
}

#[test]
fn windows_of_memory_that_nobody_can_reach_are_an_error_at_once() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/window_out_of_reach.c"), &[]).unwrap();
    let output = library.run(3, &[program.as_os_str()], &[("RWMPI_KERNEL_COPY", OsStr::new("off"))]);
    assert!(output.status.success(), "{}", text(&output));
}

/// The functions that a library exports.
fn exported(library: &Library) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library.file()).output().expect("there is nm");
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    list.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect()
}

#[test]
fn every_name_is_exported() {
    for interface in [Interface::Standard, Interface::Mpich] {
        let exported = exported(&Library::new(interface));
        for form in functions().iter().flat_map(Function::forms) {
            for name in [form.name(), format!("P{}", form.name())] {
                assert!(exported.contains(&name), "{interface:?}: {name} is missing");
            }
        }
    }
}

#[test]
fn libraries_have_the_names_that_programs_ask_for() {
    for (interface, name) in [(Interface::Standard, "libmpi_abi.so.1"), (Interface::Mpich, "libmpi.so.12")] {
        let library = Library::new(interface);
        let output = Command::new("readelf").arg("-d").arg(library.file()).output().expect("there is readelf");
        assert!(text(&output).contains(&format!("soname: [{name}]")), "{}", text(&output));
    }
}

#[test]
fn a_program_in_c_is_one_rank_for_each_process() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("environment.c"), &[]).unwrap();
    let output = library.run(2, &["--threads".as_ref(), "2".as_ref(), program.as_os_str()], &[]);
    assert!(!output.status.success() && text(&output).contains("rwmpi::run"), "{}", text(&output));
}

#[test]
fn a_preloaded_tool_sees_the_calls() {
    for interface in [Interface::Standard, Interface::Mpich] {
        let library = Library::new(interface);
        let tool = library.compile(&sources().join("tools/count_calls.c"), &["-shared", "-fPIC"]).unwrap();
        let program = library.compile(&sources().join("tools/ask_twice.c"), &[]).unwrap();
        let plain = library.run(2, &[program.as_os_str()], &[]);
        assert!(plain.status.success() && plain.stdout.is_empty(), "{}", text(&plain));
        let watched = library.run(2, &[program.as_os_str()], &[("LD_PRELOAD", tool.as_os_str())]);
        assert!(watched.status.success(), "{}", text(&watched));
        let said = String::from_utf8_lossy(&watched.stdout).into_owned();
        assert_eq!(said.matches("2 calls of MPI_Comm_rank").count(), 2, "{interface:?}: {said}");
    }
}

#[test]
fn errors_end_the_job_with_one_report_unless_the_program_wants_them() {
    for interface in [Interface::Standard, Interface::Mpich] {
        let library = Library::new(interface);
        let program = library.compile(&sources().join("tools/fatal.c"), &[]).unwrap();
        for (mistake, words) in [
            ("rank", ["MPI_Send", "destination 7"]),
            ("freed", ["MPI_Comm_rank", "no communicator"]),
            ("early", ["MPI_Comm_size", "before MPI_Init"]),
            ("late", ["MPI_Comm_size", "after MPI_Finalize"]),
            ("count", ["MPI_Send", "count -1"]),
            ("abort", ["MPI_Abort", ""]),
        ] {
            let output = library.run(2, &[program.as_os_str(), OsStr::new(mistake)], &[]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success(), "{mistake}: {}", text(&output));
            assert!(mistake != "abort" || output.status.code() == Some(5), "{}", text(&output));
            assert!(words.iter().all(|word| said.contains(word)), "{mistake}: {said}");
            let alone = Command::new(&program).arg(mistake).output().unwrap();
            let said = String::from_utf8_lossy(&alone.stderr).into_owned();
            assert!(!alone.status.success(), "{mistake} alone: {}", text(&alone));
            assert_eq!(said.lines().count(), 1, "{mistake} alone: {said}");
            assert!(words.iter().all(|word| said.contains(word)), "{mistake} alone: {said}");
        }
    }
}

#[test]
fn a_job_can_be_aborted_from_anywhere() {
    for interface in [Interface::Standard, Interface::Mpich] {
        let library = Library::new(interface);
        let program = library.compile(&sources().join("tools/abort_anywhere.c"), &[]).unwrap();
        for place in ["receive", "test", "exchange", "operation", "address", "exit", "exit twice", "receive, threads"] {
            let job = [program.as_os_str(), OsStr::new(place)];
            for environment in [[("RWMPI_LANES", "1")], [("RWMPI_LANES", "2")], [("RWMPI_TRANSPORT", "tcp")]] {
                let environment = environment.map(|(name, value)| (name, OsStr::new(value)));
                let output = library.run(3, &job, &environment);
                let said = text(&output);
                assert_eq!(output.status.code(), Some(13), "{place}, {environment:?}: {said}");
                assert!(said.contains("aborted the job with code 13"), "{place}, {environment:?}: {said}");
                assert!(!said.contains("panicked"), "{place}, {environment:?}: {said}");
            }
        }
        for place in ["receive", "test", "exchange", "exit", "exit twice"] {
            let alone = Command::new(&program).arg(place).output().unwrap();
            assert_eq!(alone.status.code(), Some(13), "{place}, alone: {}", text(&alone));
            assert!(!text(&alone).contains("panicked"), "{place}, alone: {}", text(&alone));
        }
    }
}

/// Runs a program that gives all back what it has, and looks for what is lost at its end.
fn loses_nothing(library: &Library, options: &[&str], tool: &[&str]) {
    let Ok(program) = library.compile(&sources().join("tools/loses_nothing.c"), options) else {
        println!("the compiler does not know {options:?}: left out");
        return;
    };
    let mut command: Vec<&OsStr> = tool.iter().map(OsStr::new).collect();
    command.push(program.as_os_str());
    let output = library.run(2, &command, &[]);
    assert!(output.status.success(), "{}", text(&output));
    for complaint in ["lost", "Leak", "leak of"] {
        assert!(!text(&output).contains(complaint), "{}", text(&output));
    }
}

#[test]
fn valgrind_finds_nothing_lost() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed (on Debian: apt-get install valgrind): left out");
        return;
    }
    for interface in [Interface::Standard, Interface::Mpich] {
        let tool = ["valgrind", "--quiet", "--leak-check=full", "--error-exitcode=9"];
        loses_nothing(&Library::new(interface), &[], &tool);
    }
}

#[test]
fn the_address_sanitizer_finds_nothing_lost() {
    for interface in [Interface::Standard, Interface::Mpich] {
        loses_nothing(&Library::new(interface), &["-fsanitize=address"], &[]);
    }
}

/// A program that breaks its promise that one thread at a time calls MPI.
#[test]
fn threads_that_must_not_call_at_the_same_time_are_told_so() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/broken_promise.c"), &[]).unwrap();
    let output = library.run(1, &[program.as_os_str()], &[]);
    assert!(!output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("call MPI_Init_thread with MPI_THREAD_MULTIPLE"), "{}", text(&output));
}
