//! The suites with every rank a thread of this process.

use libtest_mimic::{Failed, Trial};
use rwmpi::{Protocol, run_threads};
use rwmpi_tests::sample::{Sample, Tier};
use rwmpi_tests::suites::{self, Check};

use crate::{AUTO, NSR, SR};

/// At these numbers of ranks checks are run.
const RANKS: [usize; 6] = [1, 2, 3, 4, 5, 8];
/// More ranks than share short data without messages, and what they are to do.
const MANY: usize = 18;
const OF_MANY: [&str; 2] = ["lengths_that_differ_are_an_error", "lengths_that_take_different_ways_hang_nobody"];

/// A test for each check and protocol.
pub fn trials(sample: Sample) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (name, protocol) in [SR, NSR, AUTO] {
        for check in suites::all() {
            let test = format!("threads/{name}/{}", check.0);
            let all = [&RANKS[..], if OF_MANY.contains(&check.0) { &[MANY] } else { &[] }].concat();
            let ranks = sample.ways(&test, &all).to_vec();
            let left_out = sample.tier() == Tier::Quick && !sample.takes(&test, 3);
            trials.push(Trial::test(test, move || run(check, protocol, &ranks)).with_ignored_flag(left_out));
        }
    }
    trials
}

fn run((_, check): &Check, protocol: Protocol, ranks: &[usize]) -> Result<(), Failed> {
    for &ranks in ranks {
        for (rank, result) in run_threads(ranks, protocol, check)?.into_iter().enumerate() {
            result.map_err(|error| format!("{ranks} ranks, rank {rank}: {error}"))?;
        }
    }
    Ok(())
}
