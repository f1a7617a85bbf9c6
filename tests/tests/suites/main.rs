//! The suites on the Rust API: each check is a test of its own in each mode, `MODE/PROTOCOL/CHECK`.

mod processes;
mod threads;

use libtest_mimic::Arguments;
use rwmpi::Protocol;
use rwmpi_tests::sample::Sample;

/// What the protocols are called in the names of tests.
const SR: (&str, Protocol) = ("sr", Protocol::Sr);
const NSR: (&str, Protocol) = ("nsr", Protocol::Nsr);
const AUTO: (&str, Protocol) = ("auto", Protocol::Auto);

fn main() {
    let sample = Sample::from_environment();
    let trials = threads::trials(sample).into_iter().chain(processes::trials(sample)).collect();
    let mut arguments = Arguments::from_args();
    // The ranks of a job wait for each other, and jobs beside each other would wait for processors.
    arguments.test_threads.get_or_insert(1);
    libtest_mimic::run(&arguments, trials).exit();
}
