//! Jobs that go on when ranks die: what the launcher says, and that the others go on whenever one is killed. What the
//! functions of MPI do then, the programs `tests/c/ft_*.c` check.

use std::ffi::OsStr;
use std::process::{Command, Output};

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;
use rwmpi_tests::sample::{Sample, Tier};

/// Seeds of moments of death: in a usual run, and in one that takes all; the same of programs with windows or files,
/// which take longer.
const SEEDS: [u64; 2] = [5, 1000];
const FEWER_SEEDS: [u64; 2] = [5, 250];

fn mpiexec(arguments: &[&str], program: &OsStr) -> Output {
    let mut mpiexec = Command::new(rwmpi_tests::binary("mpiexec"));
    mpiexec.args(["--timeout", "60"]).args(arguments).arg(program).output().expect("mpiexec starts")
}

#[test]
fn who_has_died_is_said_at_the_end_and_only_if_it_was_asked_for() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("ft_collective.c"), &[]).unwrap();
    let names: [&[&str]; 4] =
        [&["--keep-going"], &["-disable-auto-cleanup"], &["--enable-recovery"], &["--with-ft", "ulfm"]];
    for name in names {
        let output = mpiexec(&[&["-n", "3"], name].concat(), program.as_os_str());
        let said = text(&output);
        assert!(output.status.success(), "{name:?}: {said}");
        for words in ["the job has gone on without rank 2", "rank 2 (pid ", "SIGKILL"] {
            assert!(said.contains(words), "{name:?}: {words:?} in {said}");
        }
    }
    for name in [&[][..], &["--with-ft", "none"]] {
        let output = mpiexec(&[&["-n", "3"], name].concat(), program.as_os_str());
        let said = text(&output);
        assert_eq!(output.status.code(), Some(137), "{said}");
        assert!(said.contains("rank 2 (pid ") && !said.contains("gone on"), "{said}");
    }
}

#[test]
fn a_job_of_which_nobody_is_left_has_failed() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/all_die.c"), &[]).unwrap();
    let output = mpiexec(&["--keep-going", "-n", "3"], program.as_os_str());
    assert_eq!(output.status.code(), Some(134), "{}", text(&output));
    assert!(text(&output).contains("SIGABRT"), "{}", text(&output));
}

#[test]
fn what_such_a_job_can_not_have_yet_is_refused_in_words() {
    for (arguments, words) in [
        (["--transport", "tcp"], "leave out the transport tcp"),
        (["-hosts", "somewhere"], "leave out --hosts"),
        (["--threads", "2"], "leave out --threads"),
    ] {
        let output = mpiexec(&[&["--keep-going", "-n", "2"], &arguments[..]].concat(), "true".as_ref());
        assert!(!output.status.success());
        assert!(text(&output).contains("--keep-going") && text(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn whenever_ranks_are_killed_the_others_go_on() {
    go_on("ft_go_on.c", SEEDS);
}

#[test]
fn whenever_ranks_of_a_window_are_killed_the_others_go_on() {
    go_on("ft_window_go_on.c", FEWER_SEEDS);
}

#[test]
fn whenever_ranks_with_a_file_are_killed_the_others_go_on() {
    go_on("ft_file.c", FEWER_SEEDS);
}

/// Memory that is lent to a window is the program's again, although a rank has died.
#[test]
fn a_program_in_rust_has_back_what_it_has_lent() {
    let output = mpiexec(&["--keep-going", "-n", "3"], rwmpi_tests::binary("outlived-window").as_os_str());
    let said = text(&output);
    assert!(output.status.success() && said.contains("the job has gone on without rank 1"), "{said}");
}

/// The seed decides who is killed, and when.
fn go_on(program: &str, seeds: [u64; 2]) {
    let library = Library::new(Interface::Mpich);
    let program = library.compile(&sources().join(program), &[]).unwrap();
    let is_all = Sample::from_environment().tier() == Tier::All && std::env::var_os("RWMPI_TEST_TIER").is_some();
    for seed in 0..seeds[usize::from(is_all)] {
        let seed = seed.to_string();
        let environment = [("RWMPI_TEST_SEED", OsStr::new(&seed))];
        let output = library.run(4, &["--keep-going".as_ref(), program.as_os_str()], &environment);
        assert!(output.status.success(), "seed {seed}: {}", text(&output));
    }
}
