//! The suites with every rank a thread of this process.

use rwmpi::{Protocol, run_threads};
use rwmpi_tests::suites;

fn run(protocol: Protocol) {
    for ranks in [1, 2, 3, 4, 5, 8] {
        for (name, check) in suites::all() {
            for (rank, result) in run_threads(ranks, protocol, check).unwrap().into_iter().enumerate() {
                result.unwrap_or_else(|error| panic!("{name}, {ranks} ranks, rank {rank}: {error}"));
            }
        }
    }
}

#[test]
fn sr() {
    run(Protocol::Sr);
}

#[test]
fn nsr() {
    run(Protocol::Nsr);
}

#[test]
fn auto() {
    run(Protocol::Auto);
}

/// More ranks than share short data without messages.
#[test]
fn lengths_that_differ_among_many_ranks() {
    let wanted = ["lengths_that_differ_are_an_error", "lengths_that_take_different_ways_hang_nobody"];
    for (name, check) in suites::all().filter(|(name, _)| wanted.contains(name)) {
        for protocol in [Protocol::Auto, Protocol::Nsr] {
            for (rank, result) in run_threads(18, protocol, check).unwrap().into_iter().enumerate() {
                result.unwrap_or_else(|error| panic!("{name}, {protocol:?}, rank {rank}: {error}"));
            }
        }
    }
}
