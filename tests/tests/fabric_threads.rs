//! The conformance suite with peers that are threads of one process.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use rwmpi_tests::conformance::{Case, cases};
use rwmpi_transport::NodeFabric;

/// Far beyond what any case takes on a busy machine.
const WATCHDOG: Duration = Duration::from_secs(60);

fn main() {
    let trials = cases::<NodeFabric>().into_iter().map(|case| Trial::test(case.name, move || run(&case))).collect();
    let mut arguments = Arguments::from_args();
    // A case waits, and those of others would wait with it.
    arguments.test_threads.get_or_insert(1);
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs a case; fails as soon as one peer does, and leaves the rest of its threads behind.
fn run(case: &Case<NodeFabric>) -> Result<(), Failed> {
    let (report, reports) = channel();
    for mut fabric in NodeFabric::threads(case.peers)? {
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
