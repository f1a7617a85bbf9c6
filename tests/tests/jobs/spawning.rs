//! Jobs that ranks spawn, and jobs that meet: what is said when something goes wrong, and that nothing is left behind.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

use rwmpi_abi_table::Interface;

use crate::c_support::{Library, sources, text};

/// The library, and the program that spawns.
fn spawner() -> (Library, PathBuf) {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/spawner.c"), &[]).expect("it compiles");
    (library, program)
}

/// What comes of two ranks that spawn two others and go on like that.
fn spawn(manner: &str) -> Output {
    let (library, program) = spawner();
    library.run(2, &[program.as_os_str(), OsStr::new(manner)], &[])
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The processes of the children, which have said their numbers.
fn children(output: &Output) -> Vec<String> {
    let said = stdout(output);
    let numbers: Vec<_> = said.lines().filter_map(|line| line.split_once("is process ")).collect();
    assert_eq!(numbers.len(), 2, "{}", text(output));
    numbers.into_iter().map(|(_, number)| number.to_owned()).collect()
}

/// The job has failed with that code and said that, and no child is left.
fn check_failed(output: &Output, code: i32, said: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    let report = String::from_utf8_lossy(&output.stderr);
    said.iter().for_each(|word| assert!(report.contains(word), "{word:?} is not in: {report}"));
    for child in children(output) {
        assert!(!Path::new("/proc").join(&child).exists(), "process {child} is left");
    }
}

#[test]
fn what_children_write_is_output_of_the_job() {
    let output = spawn("well");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
    assert_eq!(children(&output).len(), 2);
}

#[test]
fn a_child_that_is_killed_is_named() {
    check_failed(
        &spawn("child-dies"),
        137,
        &["of the job that rank 0 spawned, rank 1 (pid", "SIGKILL", "spawner child-dies"],
    );
}

#[test]
fn a_child_that_aborts_ends_all() {
    check_failed(&spawn("child-aborts"), 17, &["of the job that rank 0 spawned, rank 1", "code 17"]);
}

#[test]
fn children_end_with_their_parents() {
    check_failed(&spawn("parent-dies"), 137, &["rank 0 (pid", "SIGKILL"]);
}

#[test]
fn a_program_that_is_none_of_mpi_is_not_waited_for() {
    let output = spawn("no-mpi");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("exited without joining"), "{report}");
}

#[test]
fn children_may_outlive_their_parents() {
    let output = spawn("outlive");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stdout(&output).matches("goes on").count(), 2, "{}", text(&output));
}

/// What comes of two jobs that meet, the accepting one with two ranks, the other with three.
fn meet(accepting: &str, connecting: &str) -> [Output; 2] {
    let (library, program) = spawner();
    let service = format!("rwmpi-test-{accepting}-{}", std::process::id());
    let job =
        |ranks, manner: &str| library.run(ranks, &[program.as_os_str(), OsStr::new(manner), OsStr::new(&service)], &[]);
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| job(3, connecting));
        [job(2, accepting), connecting.join().unwrap()]
    })
}

#[test]
fn who_waits_for_a_job_that_has_died_hears_of_it() {
    let [accepting, connecting] = meet("accept-and-die", "connect-and-wait");
    assert_eq!(accepting.status.code(), Some(137), "{}", text(&accepting));
    let report = String::from_utf8_lossy(&connecting.stderr);
    let has_heard = report.contains("left the job without finalizing");
    assert!(!connecting.status.success() && has_heard, "{}", text(&connecting));
}

/// One of the jobs ends while the two are coming together.
fn check_left_waiting(ended: &Output, left: &Output) {
    assert_eq!(ended.status.code(), Some(137), "{}", text(ended));
    let report = String::from_utf8_lossy(&left.stderr);
    let has_heard = report.contains("the other job has ended") || report.contains("was aborted while");
    assert!(!left.status.success() && has_heard, "{}", text(left));
}

#[test]
fn who_comes_to_meet_a_job_that_dies_hears_of_it() {
    let [accepting, connecting] = meet("accept-late", "connect");
    check_left_waiting(&accepting, &connecting);
    let [accepting, connecting] = meet("accept", "connect-late");
    check_left_waiting(&connecting, &accepting);
}

#[test]
fn two_jobs_meet_by_a_name() {
    let [accepting, connecting] = meet("accept", "connect");
    for (output, first) in [(&accepting, 0), (&connecting, 2)] {
        assert!(output.status.success(), "{}", text(output));
        assert!(
            stdout(output).contains(&format!("rank {first} of 5, accepting: {}", u8::from(first == 0))),
            "{}",
            text(output)
        );
    }
}
