//! What the launcher says of ranks that a fault of their own has killed, and of what several ranks say alike.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

use crate::c_support::{Library, sources, text};

const IN_RUST: &str = env!("CARGO_BIN_EXE_launcher-mpi");

fn program() -> PathBuf {
    let source = sources().join("tools").join("faults.c");
    Library::new(Interface::Standard).compile(&source, &["-g", "-O1", "-fno-optimize-sibling-calls"]).unwrap()
}

fn run(ranks: usize, program: &Path, arguments: &[&str], options: &[&str]) -> Output {
    let mut mpiexec = Command::new(binary("mpiexec"));
    mpiexec.args(options).args(["--timeout", "60", "-n", &ranks.to_string()]).arg(program).args(arguments);
    mpiexec.output().expect("mpiexec starts")
}

#[test]
fn a_fault_is_shown_with_its_place_and_its_callers() {
    let program = program();
    for (kind, signal, innermost) in [
        ("segv", "SIGSEGV", "#0 writes_nowhere at "),
        ("fpe", "SIGFPE", "#0 divides_by_zero at "),
        ("ill", "SIGILL", "#0 goes_wrong at "),
        ("abort", "SIGABRT", "#0 goes_wrong at "),
        ("call", "SIGSEGV", "#0 0x0, where no program is\nmpiexec:     #1 goes_wrong at "),
        ("overflow", "SIGSEGV", "#0 overflows at "),
    ] {
        let output = run(2, &program, &[kind], &[]);
        let said = text(&output);
        assert!(!output.status.success() && said.contains(signal), "{kind}: {said}");
        assert!(said.contains(&format!("  rank 1 was here:\nmpiexec:     {innermost}")), "{kind}: {said}");
        assert!(said.contains("faults.c:"), "{kind}: {said}");
        // Of a call that has gone nowhere only the caller is known, and after so many of one function there is no room.
        assert!(["overflow", "call"].contains(&kind) || said.contains(" main at "), "{kind}: {said}");
        assert!(!said.contains("__libc_start"), "{kind}: {said}");
    }
}

#[test]
fn a_signal_that_was_sent_kills_as_it_would() {
    let said = text(&run(2, &program(), &["sent"], &[]));
    assert!(said.contains("SIGBUS") && said.contains("goes_wrong at "), "{said}");
}

#[test]
fn ranks_that_fail_at_the_same_place_share_a_backtrace() {
    let said = text(&run(4, &program(), &["abort", "all"], &[]));
    assert_eq!(said.matches(" here").count(), 1, "{said}");
    assert_eq!(said.matches("#0 goes_wrong").count(), 1, "{said}");
}

#[test]
fn a_program_that_handles_its_faults_goes_on_doing_so() {
    for kind in ["handled", "before"] {
        let output = run(2, &program(), &[kind], &[]);
        let said = text(&output);
        assert!(output.status.code() == Some(7) && !said.contains("was here"), "{kind}: {said}");
    }
}

#[test]
fn no_backtrace_is_shown_if_there_is_to_be_none() {
    let said = text(&run(2, &program(), &["segv"], &["-genv", "RWMPI_BACKTRACE", "off"]));
    assert!(said.contains("SIGSEGV") && !said.contains("was here"), "{said}");
}

#[test]
fn a_fault_of_a_program_in_rust_is_shown_too() {
    let said = text(&run(2, Path::new(IN_RUST), &["die"], &[]));
    assert!(said.contains("rank 1 was here:\nmpiexec:     #0 launcher_mpi::main at "), "{said}");
    assert!(!said.contains("lang_start"), "{said}");
}

/// All say the same, and fail.
#[test]
fn what_all_say_as_they_fail_is_shown_once() {
    let output = run(6, &program(), &["message", "all"], &[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("cannot read the grid\n").count(), 1, "{said}");
    assert!(said.contains("wrote these 2 lines, as rank "), "{said}");
}

/// What goes well is left alone: all is there, be it the same a hundred times.
#[test]
fn nothing_of_a_job_that_goes_well_is_left_out() {
    let script = "echo the same >&2; echo the same; sleep 0.6; echo more >&2";
    let mut mpiexec = Command::new(binary("mpiexec"));
    let output = mpiexec.args(["-n", "6", "sh", "-c", script]).output().expect("mpiexec starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!((said.matches("the same\n").count(), said.matches("more\n").count()), (6, 6), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("the same\n").count(), 6);
}
