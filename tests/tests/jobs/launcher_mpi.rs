//! Whole MPI jobs through the launcher: those that go well, and what is said of those that do not.

use crate::launcher_support::{has_in_environment, mpiexec, runs, send};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::thread::sleep;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");
/// Its name as the kernel keeps it.
const NAME: &str = "launcher-mpi";

#[test]
fn a_job_goes_well_under_every_protocol() {
    for protocol in ["sr", "nsr", "auto"] {
        let finished = mpiexec(["-n", "4", "--protocol", protocol, PROGRAM, "succeed"]).run();
        finished.assert_success();
        let expected: Vec<String> = (0..4).map(|rank| format!("rank {rank} of 4: sum 6")).collect();
        assert_eq!(finished.sorted_lines(), expected);
    }
}

#[test]
fn how_memory_is_copied_is_explained_once_it_was_tried() {
    let finished = mpiexec(["-n", "3", "--explain", PROGRAM, "succeed"]).run();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(finished.stderr.matches("mpiexec: copies: ").count(), 1, "{finished:?}");
}

#[test]
fn a_program_started_by_hand_is_a_job_of_one() {
    let finished = mpiexec([PROGRAM, "succeed"]).run();
    finished.assert_success();
    assert_eq!(finished.stdout, "rank 0 of 1: sum 0\n");
}

#[test]
fn ranks_in_rust_start_others() {
    let finished = mpiexec(["-n", "2", PROGRAM, "spawn"]).run();
    finished.assert_success();
    let said = finished.sorted_lines();
    for line in ["child 0 of 2: [10], well met, in /", "child 1 of 2: [11], well met, in /"] {
        assert!(said.contains(&line), "{said:?}");
    }
    assert_eq!(said.iter().filter(|line| line.ends_with("counts 4")).count(), 2, "{said:?}");
}

#[test]
fn ranks_in_rust_meet_at_a_port() {
    let finished = mpiexec(["-n", "3", PROGRAM, "meet"]).run();
    finished.assert_success();
    let said = finished.sorted_lines();
    for line in ["rank 0 meets Some(2)", "rank 1 meets Some(1)", "rank 2 meets Some(1)"] {
        assert!(said.contains(&line), "{said:?}");
    }
}

#[test]
fn a_rank_killed_within_a_call_is_named_with_the_call() {
    let (running, stdout) = mpiexec(["-n", "3", PROGRAM, "cycle"]).start_with_stdout();
    assert_eq!(BufReader::new(stdout).lines().take(3).count(), 3);
    let ranks = running.processes(3, |pid| runs(pid, NAME));
    let victim = ranks.into_iter().find(|&pid| has_in_environment(pid, "RWMPI_RANK=1")).unwrap();
    // A rank prints nothing once it waits, so that it does can only be a matter of time.
    sleep(Duration::from_secs(1));
    send(victim, Signal::KILL);
    let finished = running.wait();
    finished.assert_report(
        137,
        &[&format!("rank 1 (pid {victim} on "), "SIGKILL", "last call: receive from rank 2, tag 7"],
    );
}

#[test]
fn a_deadlock_is_shown_when_the_time_is_over() {
    let finished = mpiexec(["-n", "2", "--timeout", "2", PROGRAM, "cycle"]).run();
    let deadlock = "deadlock: rank 0 waits for rank 1 (receive, tag 7), rank 1 waits for rank 0 (receive, tag 7)";
    finished
        .assert_report(124, &["receive from rank 1, tag 7", "receive from rank 0, tag 7", ", waiting for ", deadlock]);
}

#[test]
fn the_odd_one_out_is_seen_among_those_who_wait_together() {
    let finished = mpiexec(["-n", "4", "--timeout", "2", PROGRAM, "odd"]).run();
    finished.assert_report(124, &["rank 0 (pid ", "receive from any rank, tag 9", "ranks 1-3: last call: barrier"]);
}

#[test]
fn a_wait_for_a_nonblocking_operation_tells_which() {
    let finished = mpiexec(["-n", "3", "--timeout", "2", PROGRAM, "wait-in-cycle"]).run();
    let cycle =
        "deadlock: rank 0 waits for rank 1 (receive, tag 5), rank 1 waits for rank 2 (receive, tag 5), rank 2 waits";
    finished.assert_report(124, &["last call: receive, in the world communicator", cycle]);
}

#[test]
fn who_waits_for_somebody_at_work_is_told_but_no_deadlock() {
    let finished = mpiexec(["-n", "2", "--timeout", "2", PROGRAM, "busy"]).run();
    finished.assert_report(124, &["rank 0 waits for rank 1 (receive, tag 3)"]);
    assert!(!finished.stderr.contains("deadlock"), "{finished:?}");
}

#[test]
fn leaving_without_finalizing_ends_the_job() {
    mpiexec(["-n", "3", PROGRAM, "leave"]).run().assert_report(1, &["rank 1", "exited without finalizing"]);
}

#[test]
fn a_panic_ends_the_job() {
    mpiexec(["-n", "3", PROGRAM, "panic"]).run().assert_report(101, &["a bug", "rank 1", "exited with code 101"]);
}

#[test]
fn an_abort_gives_its_code_and_reason() {
    mpiexec(["-n", "3", PROGRAM, "abort"]).run().assert_report(3, &["rank 1", "the input makes no sense"]);
}

#[test]
fn who_drops_its_universe_is_named() {
    mpiexec(["-n", "3", PROGRAM, "return"]).run().assert_report(1, &["rank 1", "exited without finalizing"]);
    let finished = mpiexec(["-n", "3", "--timeout", "40", PROGRAM, "drop"]).run();
    assert!(finished.stderr.contains("rank 1, which has left the job without finalizing"), "{finished:?}");
    let finished = mpiexec(["-n", "3", "--timeout", "40", PROGRAM, "finalize"]).run();
    assert!(finished.stderr.contains("rank 1, which has finalized"), "{finished:?}");
}

#[test]
fn a_process_joins_its_job_once() {
    let finished = mpiexec(["-n", "2", PROGRAM, "join-twice"]).run();
    finished.assert_success();
    assert_eq!(finished.stdout.matches("it says").count(), 2, "{finished:?}");
}
