//! The stopwatch of a benchmark's timed section: how long it took and what it sent.

use crate::traffic::Traffic;
use rwmpi::{Universe, wtime};

/// Running since [`Stopwatch::start`].
#[derive(Debug)]
#[must_use = "stop it"]
pub struct Stopwatch {
    start: f64,
    traffic: Traffic,
    sent_to: Vec<(u64, u64)>,
}

/// What one rank measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// What this rank sent meanwhile.
    pub traffic: Traffic,
    /// Per rank of the job: messages and bytes that this rank sent to it meanwhile.
    pub sent_to: Vec<(u64, u64)>,
}

impl Stopwatch {
    /// Starts. A barrier before it makes the ranks start together.
    pub fn start(universe: &Universe) -> Self {
        let (traffic, sent_to) = (Traffic::so_far(universe), universe.traffic_by_peer());
        Stopwatch { start: wtime(), traffic, sent_to }
    }

    /// Stops.
    pub fn stop(self, universe: &Universe) -> Measurement {
        let seconds = wtime() - self.start;
        let before = self.sent_to.into_iter();
        let sent_to =
            universe.traffic_by_peer().into_iter().zip(before).map(|(now, then)| (now.0 - then.0, now.1 - then.1));
        Measurement { seconds, traffic: Traffic::so_far(universe).since(&self.traffic), sent_to: sent_to.collect() }
    }
}
