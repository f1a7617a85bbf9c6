//! The conformance suite with peers that are threads of one process, in a job of one lane and in the second of two.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use rwmpi_tests::conformance::{Case, cases};
use rwmpi_transport::NodeFabric;

/// Far beyond what any case takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A test for each case.
pub fn trials() -> Vec<Trial> {
    let trials = |lanes: usize, kind: &'static str| {
        let trial = move |case: Case<NodeFabric>| {
            Trial::test(format!("{kind}/{}", case.name), move || {
                run(&case, NodeFabric::threads_with_lanes(case.peers, lanes)?)
            })
        };
        cases::<NodeFabric>().into_iter().map(trial)
    };
    trials(1, "threads").chain(trials(2, "threads_second_lane")).collect()
}

/// Runs a case in the last lane of all peers; fails as soon as one peer does, and leaves the rest of its threads
/// behind.
fn run(case: &Case<NodeFabric>, fabrics: Vec<Vec<NodeFabric>>) -> Result<(), Failed> {
    let (report, reports) = channel();
    for mut fabric in fabrics.into_iter().filter_map(|mut lanes| lanes.pop()) {
        let (report, run) = (report.clone(), case.run);
        thread::spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut fabric)));
            let _ = report.send(outcome.is_ok());
        });
    }
    for _ in 0..case.peers {
        match reports.recv_timeout(WATCHDOG) {
            Ok(true) => {}
            Ok(false) => return Err("a peer panicked".into()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err("the peers did not come to an end".into());
            }
        }
    }
    Ok(())
}
