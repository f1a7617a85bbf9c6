//! The stopwatch of a benchmark's timed section: how long it took and what it sent.

use rwmpi::{TrafficCounters, Universe, wtime};

/// Running since [`Stopwatch::start`].
#[derive(Debug)]
#[must_use = "stop it"]
pub struct Stopwatch {
    start: f64,
    traffic: TrafficCounters,
    sent_to: Vec<(u64, u64)>,
}

/// What one rank measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// What this rank sent meanwhile.
    pub traffic: TrafficCounters,
    /// Per rank of the job: messages and bytes that this rank sent to it meanwhile.
    pub sent_to: Vec<(u64, u64)>,
}

impl Stopwatch {
    /// Starts. A barrier before it makes the ranks start together.
    pub fn start(universe: &Universe) -> Self {
        let (traffic, sent_to) = (universe.traffic(), universe.traffic_by_peer());
        Stopwatch { start: wtime(), traffic, sent_to }
    }

    /// Stops.
    pub fn stop(self, universe: &Universe) -> Measurement {
        let seconds = wtime() - self.start;
        let before = self.sent_to.into_iter();
        let sent_to =
            universe.traffic_by_peer().into_iter().zip(before).map(|(now, then)| (now.0 - then.0, now.1 - then.1));
        Measurement { seconds, traffic: difference(&universe.traffic(), &self.traffic), sent_to: sent_to.collect() }
    }
}

fn difference(after: &TrafficCounters, before: &TrafficCounters) -> TrafficCounters {
    TrafficCounters {
        messages: after.messages - before.messages,
        bytes: after.bytes - before.bytes,
        remote_write_messages: after.remote_write_messages - before.remote_write_messages,
        remote_write_bytes: after.remote_write_bytes - before.remote_write_bytes,
        large_messages: after.large_messages - before.large_messages,
        large_bytes: after.large_bytes - before.large_bytes,
        large_single_copy_bytes: after.large_single_copy_bytes - before.large_single_copy_bytes,
        requests_posted: after.requests_posted - before.requests_posted,
        requests_reposted: after.requests_reposted - before.requests_reposted,
        requests_used: after.requests_used - before.requests_used,
        requests_stale: after.requests_stale - before.requests_stale,
        requests_skipped: after.requests_skipped - before.requests_skipped,
        requests_dropped: after.requests_dropped - before.requests_dropped,
    }
}
