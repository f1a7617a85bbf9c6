//! Who holds the others up. Whom a rank waits for directly is noted; but that one may itself wait for another, so what
//! it has others wait it passes on, as far as it waits.

use super::gathered::{Job, Rank};
use rwmpi_core::profile::recorded::Recorded;

/// How often what is waited for is passed on: chains are seldom longer.
const ROUNDS: usize = 16;

/// Functions that ask whether something has come: a rank that asks again and again waits, too.
const ASKING: [&str; 10] = [
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Iprobe",
    "MPI_Improbe",
    "MPI_Request_get_status",
    "MPI_Request_get_status_all",
    "MPI_Request_get_status_any",
    "MPI_Request_get_status_some",
];

/// How long a rank has asked whether something has come.
pub(super) fn asked(notes: &Recorded) -> u64 {
    let all = notes.functions.iter().filter(|function| ASKING.contains(&function.name.as_str()));
    all.map(|function| function.time.saturating_sub(function.waiting)).sum()
}

/// How long a rank has waited, in whatever way.
pub(super) fn idled(rank: &Rank) -> u64 {
    rank.notes.as_ref().map_or(0, |notes| (notes.waited + asked(notes)).min(rank.ran()))
}

/// How long ranks have waited for that other one, directly.
pub(super) fn waits(notes: &Recorded, other: usize) -> u64 {
    notes.peers.get(other).map_or(0, |peer| peer.waits.iter().map(|[_, time]| time).sum())
}

/// For each rank, how much of all ranks' waiting comes down to it.
pub(super) fn shares(job: &Job) -> Vec<u64> {
    let count = job.ranks.len();
    let waits_of = |rank: &Rank| -> Vec<f64> {
        let notes = rank.notes.as_ref();
        (0..count).map(|other| notes.map_or(0.0, |notes| waits(notes, other) as f64)).collect()
    };
    let table: Vec<Vec<f64>> = job.ranks.iter().map(waits_of).collect();
    let sums: Vec<f64> = table.iter().map(|waits| waits.iter().sum()).collect();
    // What part of what it is waited for a rank passes on.
    let passed: Vec<f64> = job.ranks.iter().map(|rank| idled(rank) as f64 / rank.ran().max(1) as f64).collect();
    let mut pending: Vec<f64> = (0..count).map(|other| table.iter().map(|waits| waits[other]).sum()).collect();
    let mut kept = vec![0.0; count];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; count];
        for (rank, amount) in pending.iter().enumerate().filter(|&(_, &amount)| amount > 0.0) {
            let on = if sums[rank] > 0.0 { amount * passed[rank] } else { 0.0 };
            kept[rank] += amount - on;
            if on > 0.0 {
                next.iter_mut().zip(&table[rank]).for_each(|(next, waits)| *next += on * waits / sums[rank]);
            }
        }
        pending = next;
    }
    kept.iter().zip(&pending).map(|(kept, pending)| (kept + pending) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::job_of;
    use super::*;

    #[test]
    fn what_a_waiting_rank_is_waited_for_is_passed_on() {
        // 2 waits for 1, which waits for 0, which works.
        let job = job_of(&[[0, 0, 0], [900, 0, 0], [0, 900, 0]]);
        let shares = shares(&job);
        assert!(shares[0] > 1600 && shares[1] < 200 && shares[2] == 0, "{shares:?}");
    }

    #[test]
    fn ranks_that_wait_for_each_other_share_it() {
        let shares = shares(&job_of(&[[0, 500], [500, 0]]));
        assert!(shares[0].abs_diff(500) <= 1 && shares[1].abs_diff(500) <= 1, "{shares:?}");
    }
}
