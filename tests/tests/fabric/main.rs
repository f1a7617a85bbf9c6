//! The conformance suite on every fabric: one test for each case and each kind of peers.

mod cluster;
mod processes;
mod tcp;
mod threads;

use libtest_mimic::Arguments;

fn main() {
    if processes::play_peer() || tcp::play_peer() {
        return;
    }
    let trials = [threads::trials(), processes::trials(), tcp::trials(), cluster::trials()];
    let mut arguments = Arguments::from_args();
    // A case waits, and those of others would wait with it.
    arguments.test_threads.get_or_insert(1);
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit();
}
