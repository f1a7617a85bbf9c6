//! SP and BT as jobs of processes: the benchmarks whose ranks own several cells each and pass lines on.

use rwmpi_launcher::{JobSpec, Outcome, Output, Section};
use rwmpi_tests::binary;
use std::time::Duration;

fn run(benchmark: &str, class: &str, ranks: usize, arguments: &[&str]) -> Outcome {
    let section = Section::new(binary("npb")).arguments([benchmark, "--class", class]).arguments(arguments);
    let job = JobSpec::new(section.ranks(ranks)).output(Output::Capture).timeout(Duration::from_secs(240));
    job.run().unwrap()
}

fn assert_verified(class: &str, ranks: usize) {
    for benchmark in ["sp", "bt"] {
        let outcome = run(benchmark, class, ranks, &[]);
        assert_eq!(outcome.exit_code, 0, "{benchmark} on {ranks} ranks: {outcome:?}");
        assert!(outcome.stdout.contains("Verification = SUCCESSFUL"), "{benchmark} on {ranks} ranks: {outcome:?}");
    }
}

#[test]
fn one_process_gets_the_reference_values() {
    assert_verified("S", 1);
}

#[test]
fn four_processes_get_the_reference_values() {
    assert_verified("S", 4);
}

#[test]
fn nine_processes_get_the_reference_values() {
    assert_verified("S", 9);
}

#[test]
fn a_falsified_value_is_found_out() {
    for benchmark in ["sp", "bt"] {
        let outcome = run(benchmark, "S", 4, &["--corrupt"]);
        assert_eq!(outcome.exit_code, 1, "{outcome:?}");
        assert!(outcome.stdout.contains("Verification = UNSUCCESSFUL"), "{outcome:?}");
    }
}

#[test]
fn a_number_of_processes_that_is_no_square_is_refused() {
    let outcome = run("bt", "S", 3, &[]);
    assert_eq!(outcome.exit_code, 2, "{outcome:?}");
    assert!(outcome.stderr.contains("it needs a square number; the nearest that work: 1, 4, 9"), "{outcome:?}");
}
