//! Jobs whose processes hold several ranks, a thread each.

use std::time::Duration;

use rwmpi_launcher::{JobSpec, Outcome, Output, Section, Transport};

fn job(program: &str, arguments: &[&str], ranks: usize, threads: usize) -> JobSpec {
    JobSpec::new(Section::new(program).arguments(arguments).ranks(ranks))
        .threads(threads)
        .timeout(Duration::from_secs(60))
        .output(Output::Capture)
}

fn run(behaviour: &str, ranks: usize, threads: usize) -> Outcome {
    job(env!("CARGO_BIN_EXE_threads-mpi"), &[behaviour], ranks, threads).run().unwrap()
}

#[test]
fn ranks_are_dealt_to_processes_in_order() {
    let outcome = run("who", 5, 2);
    assert_eq!(outcome.exit_code, 0, "{:?} {}", outcome.report, outcome.stderr);
    let mut lines = outcome.stdout.lines();
    let who: Vec<(&str, &str)> = lines.by_ref().take(5).filter_map(|line| line.split_once(' ')).collect();
    let (pids, threads): (Vec<&str>, Vec<&str>) = who.into_iter().unzip();
    assert_eq!((pids[0], pids[2]), (pids[1], pids[3]), "{}", outcome.stdout);
    assert!(pids[0] != pids[2] && pids[2] != pids[4] && pids[0] != pids[4], "{}", outcome.stdout);
    let several = ["Filtered rank 0", "Filtered rank 1", "Filtered rank 2", "Filtered rank 3"];
    assert_eq!((&threads[..4], threads[4]), (&several[..], "Funneled main"));
    // Of the others, nobody captures it.
    assert_eq!(lines.next(), Some("results [0, 10]"));
}

#[test]
fn all_ranks_in_one_process() {
    let outcome = run("", 3, 8);
    assert_eq!(outcome.exit_code, 0, "{:?} {}", outcome.report, outcome.stderr);
    assert_eq!(outcome.stdout, "results [0, 10, 20]\n");
}

#[test]
fn a_receiver_that_was_late_is_not_waited_for() {
    let outcome = run("late", 2, 2);
    assert_eq!(outcome.exit_code, 0, "{:?} {}", outcome.report, outcome.stderr);
}

/// A rank that goes wrong ends the job, those that wait in its own process and in others included.
#[test]
fn a_rank_that_fails_ends_the_job() {
    let panicked = run("panic", 4, 2);
    assert_ne!(panicked.exit_code, 0);
    assert!(panicked.report.as_deref().is_some_and(|report| report.contains("rank 3")), "{:?}", panicked.report);
    assert!(panicked.stderr.contains("a bug"), "{}", panicked.stderr);

    let failed = run("fail", 4, 2);
    assert_ne!(failed.exit_code, 0);
    let report = failed.report.unwrap_or_default();
    assert!(report.contains("rank 3") && report.contains("the mesh is empty"), "{report}");

    let killed = run("kill", 4, 2);
    assert_eq!(killed.exit_code, 134, "{:?}", killed.report);
}

#[test]
fn a_program_of_one_rank_is_refused() {
    let outcome = job(env!("CARGO_BIN_EXE_launcher-mpi"), &["succeed"], 2, 2).run().unwrap();
    assert_ne!(outcome.exit_code, 0);
    assert!(outcome.stderr.contains("rwmpi::run"), "{}", outcome.stderr);
}

#[test]
fn what_threads_cannot_do_is_said_before_anything_starts() {
    let program = env!("CARGO_BIN_EXE_threads-mpi");
    let tcp = job(program, &[], 4, 2).transport(Transport::Tcp).run().unwrap_err();
    assert!(tcp.to_string().contains("tcp"), "{tcp}");
    let none = job(program, &[], 4, 0).run().unwrap_err();
    assert!(none.to_string().contains("at least 1"), "{none}");
}
