//! What the ranks do together: dividing the buckets among themselves and exchanging the keys.

use super::incoming::Incoming;
use super::keys;
use super::problem::{Problem, TEST_KEYS};
use super::ranking::{Ranking, Way, count_buckets, sort_into_buckets, starts};
use rwmpi::{Buffer, Communicator, Result, Universe, op};
use std::ops::Range;

const LAST_KEY_TAG: i32 = 1000;

/// Which rank gets which buckets.
#[derive(Debug, PartialEq)]
struct Assignment {
    /// For each rank; empty for ranks that get none.
    buckets: Vec<Range<usize>>,
}

impl Assignment {
    /// Gives rank after rank buckets until all ranks up to it have their fair share of all keys, `totals` being how
    /// many keys of all ranks are in each bucket.
    fn new(totals: &[u32], ranks: usize, keys_per_rank: usize) -> Self {
        let (mut buckets, mut start, mut assigned) = (Vec::with_capacity(ranks), 0, 0_u64);
        for (bucket, &total) in totals.iter().enumerate() {
            assigned += u64::from(total);
            if buckets.len() < ranks && assigned >= ((buckets.len() + 1) * keys_per_rank) as u64 {
                buckets.push(start..bucket + 1);
                start = bucket + 1;
            }
        }
        buckets.resize(ranks, start..start);
        Assignment { buckets }
    }

    /// How many keys the rank gets that gets most.
    fn most_keys(&self, totals: &[u32]) -> usize {
        let keys_of = |buckets: &Range<usize>| totals[buckets.clone()].iter().map(|&total| total as usize).sum();
        self.buckets.iter().map(keys_of).max().unwrap_or(0)
    }
}

/// The buffers of the exchange, and what is known of the present iteration.
pub struct Exchange<'a> {
    world: &'a Communicator,
    problem: &'a Problem,
    keys_per_rank: usize,
    /// This rank's keys, bucket after bucket.
    sorted: Buffer<u32>,
    /// Which of them are of its own buckets.
    kept: Range<usize>,
    /// The keys of this rank's buckets from other ranks.
    incoming: Incoming<'a>,
    /// How keys are sorted; found out in the first iteration, which is not timed.
    way: Option<Way>,
}

impl<'a> Exchange<'a> {
    /// For `keys_per_rank` keys on each rank of `world`, the others of which come by `incoming`.
    pub fn new(
        world: &'a Communicator,
        universe: &Universe,
        problem: &'a Problem,
        keys_per_rank: usize,
        incoming: Incoming<'a>,
    ) -> Self {
        let sorted = universe.alloc(keys_per_rank);
        Exchange { world, problem, keys_per_rank, sorted, kept: 0..0, incoming, way: None }
    }

    /// One iteration: ranks all keys into `ranking`; returns how many test keys this rank found to have the right rank.
    pub fn rank_keys(&mut self, own_keys: &mut [u32], ranking: &mut Ranking, iteration: u32) -> Result<u64> {
        let (rank, ranks, problem) = (self.world.rank(), self.world.size(), self.problem);
        if rank == 0 {
            keys::replace(own_keys, iteration, problem);
        }
        let (buckets, shift) = (problem.buckets(), problem.bucket_shift());
        // The test keys ride behind the bucket sizes: the one rank that has them adds them to the others' zeros.
        let mut sizes = vec![0; buckets + TEST_KEYS];
        for (slot, position) in sizes[buckets..].iter_mut().zip(problem.test_positions) {
            if position / self.keys_per_rank == rank {
                *slot = own_keys[position % self.keys_per_rank];
            }
        }
        count_buckets(own_keys, shift, &mut sizes[..buckets]);
        let mut totals = vec![0; sizes.len()];
        self.world.allreduce(&sizes, &mut totals, op::sum)?;
        let (totals, test_keys) = totals.split_at(buckets);
        let assignment = Assignment::new(totals, ranks, self.keys_per_rank);
        let sizes = &sizes[..buckets];
        let keys_in = |buckets: &Range<usize>| sizes[buckets.clone()].iter().sum::<u32>();
        let outgoing = parts(&assignment.buckets.iter().map(keys_in).collect::<Vec<u32>>());
        let mut way = self.way;
        self.incoming.exchange((&mut self.sorted, &outgoing), assignment.most_keys(totals), |sorted| match way {
            Some(way) => sort_into_buckets(own_keys, shift, sizes, sorted, way),
            None => way = Some(Way::faster(own_keys, shift, sizes, sorted)),
        })?;
        (self.way, self.kept) = (way, outgoing[rank].clone());

        let own = &assignment.buckets[rank];
        let values = (own.start << shift) as u32..(own.end << shift) as u32;
        let keys_below = totals[..own.start].iter().map(|&total| u64::from(total)).sum();
        let kept = &self.sorted[self.kept.clone()];
        self.incoming.with_keys(|received| ranking.rank([kept, received], values, keys_below))?;
        let right = test_keys.iter().enumerate();
        Ok(right.filter(|&(test, &key)| ranking.keys_below(key) == Some(problem.test_rank(test, iteration))).count()
            as u64)
    }

    /// Sorts the keys by their ranks; returns whether that puts them in order, here and across the border to the rank
    /// before.
    pub fn is_sorted(&mut self, ranking: &Ranking) -> Result<bool> {
        let kept = &self.sorted[self.kept.clone()];
        let sorted = self.incoming.with_keys(|received| ranking.sort([kept, received]))?;
        let (rank, ranks) = (self.world.rank(), self.world.size());
        let Some((first, last)) = sorted.first().zip(sorted.last()) else {
            self.pass_on_last_key()?;
            return Ok(true);
        };
        let mut before = [0];
        rwmpi::scope(|scope| {
            let incoming =
                (rank > 0).then(|| self.world.irecv(scope, &mut before, rank - 1, LAST_KEY_TAG)).transpose()?;
            if rank + 1 < ranks {
                self.world.send_value(last, rank + 1, LAST_KEY_TAG)?;
            }
            incoming.map(|request| request.wait()).transpose()
        })?;
        Ok(sorted.is_sorted() && before[0] <= *first)
    }

    /// What a rank without keys does where others send their last key: it sends that of the rank before it.
    fn pass_on_last_key(&self) -> Result<()> {
        let (rank, ranks) = (self.world.rank(), self.world.size());
        let before = if rank > 0 { self.world.recv_value::<u32>(rank - 1, LAST_KEY_TAG)?.0 } else { 0 };
        if rank + 1 < ranks { self.world.send_value(&before, rank + 1, LAST_KEY_TAG) } else { Ok(()) }
    }

    /// Lets go of what the ranks have together. Collective.
    pub fn close(self) -> Result<()> {
        self.incoming.close()
    }
}

/// The parts of something, by how long they are.
fn parts(counts: &[u32]) -> Vec<Range<usize>> {
    starts(counts).zip(counts).map(|(start, count)| start as usize..(start + count) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::Assignment;

    #[test]
    fn every_bucket_goes_to_one_rank_and_shares_are_fair() {
        let totals = [1, 5, 2, 0, 4, 3, 1, 0];
        assert_eq!(Assignment::new(&totals, 2, 8).buckets, [0..3, 3..7]);
        assert_eq!(Assignment::new(&totals, 4, 4).buckets, [0..2, 2..3, 3..5, 5..7]);
    }

    #[test]
    fn ranks_left_over_get_no_buckets() {
        assert_eq!(Assignment::new(&[8, 0], 4, 2).buckets, [0..1, 1..2, 2..2, 2..2]);
    }
}
