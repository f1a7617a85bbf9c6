//! What was sent in a run: counters of one rank, summed over all, and who sent how much to whom.

use bytemuck::{Pod, Zeroable, cast};
use rwmpi::{Communicator, Datatype, Result, Universe};
use serde::{Deserialize, Serialize};
use std::array;

/// [`rwmpi::TrafficCounters`] of a stretch of time, of one rank or summed over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable, Datatype, Serialize, Deserialize)]
#[allow(missing_docs)] // the names and meanings are those of `TrafficCounters`
#[repr(C)]
pub struct Traffic {
    pub messages: u64,
    pub bytes: u64,
    pub remote_write_messages: u64,
    pub remote_write_bytes: u64,
    pub large_messages: u64,
    pub large_bytes: u64,
    pub large_single_copy_bytes: u64,
    pub requests_posted: u64,
    pub requests_reposted: u64,
    pub requests_used: u64,
    pub requests_stale: u64,
    pub requests_skipped: u64,
    pub requests_dropped: u64,
}

impl Traffic {
    /// What the calling rank has sent so far.
    pub fn so_far(universe: &Universe) -> Self {
        let counters = universe.traffic();
        Traffic {
            messages: counters.messages,
            bytes: counters.bytes,
            remote_write_messages: counters.remote_write_messages,
            remote_write_bytes: counters.remote_write_bytes,
            large_messages: counters.large_messages,
            large_bytes: counters.large_bytes,
            large_single_copy_bytes: counters.large_single_copy_bytes,
            requests_posted: counters.requests_posted,
            requests_reposted: counters.requests_reposted,
            requests_used: counters.requests_used,
            requests_stale: counters.requests_stale,
            requests_skipped: counters.requests_skipped,
            requests_dropped: counters.requests_dropped,
        }
    }

    /// What was sent since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        self.combine(earlier, |now, then| now - then)
    }

    /// The sum over all ranks. Collective.
    pub fn sum_over_ranks(&self, world: &Communicator) -> Result<Self> {
        world.allreduce_value(*self, |a, b| a.combine(b, |a, b| a + b))
    }

    fn combine(&self, other: &Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        const COUNTERS: usize = size_of::<Traffic>() / size_of::<u64>();
        let (a, b): ([u64; COUNTERS], [u64; COUNTERS]) = (cast(*self), cast(*other));
        cast::<[u64; COUNTERS], Self>(array::from_fn(|counter| operation(a[counter], b[counter])))
    }
}

/// What one rank sent to one other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairTraffic {
    /// Messages.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

impl PairTraffic {
    /// The matrix of all ranks, from what this rank sent to each. Collective.
    pub fn gather(sent_to: &[(u64, u64)], world: &Communicator) -> Result<Vec<Vec<Self>>> {
        let ranks = world.size();
        let own: Vec<u64> = sent_to.iter().flat_map(|&(messages, bytes)| [messages, bytes]).collect();
        let mut all = vec![0; 2 * ranks * ranks];
        world.allgather(&own, &mut all)?;
        let pair = |numbers: &[u64]| PairTraffic { messages: numbers[0], bytes: numbers[1] };
        Ok(all.chunks(2 * ranks).map(|row| row.chunks(2).map(pair).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Traffic;

    #[test]
    fn every_counter_is_subtracted_from_itself() {
        let then = Traffic { messages: 1, bytes: 10, requests_dropped: 3, ..Traffic::default() };
        let now = Traffic { messages: 3, bytes: 15, requests_dropped: 3, requests_used: 7, ..Traffic::default() };
        assert_eq!(now.since(&then), Traffic { messages: 2, bytes: 5, requests_used: 7, ..Traffic::default() });
    }
}
