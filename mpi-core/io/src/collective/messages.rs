//! Working together where ranks have no memory in common: one rank a node, an *aggregator*, reads or writes for all.
//!
//! In each round each aggregator has a domain of the file. All tell it which ranges of that they want. Writing, they
//! send the bytes along, and it writes what lies side by side by one call; what no rank has is not written. Reading, it
//! reads the domain by one call, and sends to each rank what that wants.

use std::ops::Range;

use rwmpi_core::{Communicator, Parts};

use super::read::Outcome;
use super::team::{Fault, Heard, Part, Round, Told, meet, rounds};
use crate::Direction;
use crate::disk::{Disk, Failure, read_all, write_all};
use crate::span::Span;

/// So many bytes of the file an aggregator has at a time.
const DOMAIN: u64 = 4 << 20;

/// The ranks that read and write for all.
pub(crate) struct Aggregators {
    ranks: Vec<usize>,
}

/// The numbers of an exchange between all ranks, and where those of each rank begin.
struct Counts {
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl Counts {
    fn new(counts: Vec<usize>) -> Counts {
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        let starts = ends.zip(&counts).map(|(end, count)| end - count).collect();
        Counts { counts, starts }
    }

    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }

    fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    fn of<'a, T>(&self, rank: usize, all: &'a [T]) -> &'a [T] {
        &all[self.starts[rank]..][..self.counts[rank]]
    }
}

/// Data for each rank, exchanged for those of each rank.
fn exchange<T: rwmpi_core::Datatype + Default + Clone>(
    communicator: &Communicator,
    data: &[T],
    sent: Vec<usize>,
) -> rwmpi_core::Result<(Vec<T>, Counts)> {
    let mut counts = vec![0; sent.len()];
    communicator.alltoall(&sent, &mut counts)?;
    let (sent, received) = (Counts::new(sent), Counts::new(counts));
    let mut all = vec![T::default(); received.total()];
    communicator.alltoallv(data, sent.parts(), &mut all, received.parts())?;
    Ok((all, received))
}

/// The ranges of one rank, as they were told: pairs of a beginning and an end. `None` if they don't lie in the domain
/// one behind the other.
fn checked(told: &[u64], domain: &Range<u64>) -> Option<Vec<Range<u64>>> {
    let (ranges, mut before) = (told.chunks_exact(2).map(|pair| pair[0]..pair[1]), domain.start);
    ranges
        .map(|range| {
            let is_well = before <= range.start && range.start < range.end && range.end <= domain.end;
            before = range.end;
            is_well.then_some(range)
        })
        .collect()
}

impl Aggregators {
    /// Those of at most `most` nodes, when this rank sees the memory of the ranks for which `is_near` says so.
    /// Collective.
    ///
    /// # Errors
    /// The ranks could not tell each other.
    pub(super) fn new(
        communicator: &Communicator,
        most: usize,
        is_near: impl Fn(usize) -> bool,
    ) -> rwmpi_core::Result<Aggregators> {
        let mine = (0..communicator.rank()).find(|&rank| is_near(rank)).unwrap_or(communicator.rank());
        let mut told = vec![0; 2 * communicator.size()];
        communicator.allgather(&[mine, most.max(1)], &mut told)?;
        let (mut ranks, most): (Vec<_>, Vec<_>) = told.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
        ranks.sort_unstable();
        ranks.dedup();
        // Whatever each has been told, all have the same.
        ranks.truncate(most.into_iter().min().unwrap_or(1));
        Ok(Aggregators { ranks })
    }

    /// Reads or writes what all ranks want of a part of the file. All come out alike where it fails.
    pub(super) fn access(
        &self,
        direction: Direction,
        communicator: &Communicator,
        disk: &impl Disk,
        part: &Range<u64>,
        mine: &Part<'_>,
    ) -> rwmpi_core::Result<Outcome> {
        let mut done = Done { next: mine.positions.start, transferred: 0 };
        for round in rounds(part, self.ranks.len(), DOMAIN) {
            let failure = match direction {
                Direction::Write => self.write(communicator, disk, &round, mine, &mut done)?,
                Direction::Read => self.read(communicator, disk, &round, mine, &mut done)?,
            };
            let heard: Heard = meet(communicator, Told::new(0, failure))?;
            if let Some(fault) = heard.fault() {
                return Ok(Err::<u64, Fault>(fault));
            }
        }
        Ok(Ok(done.transferred))
    }

    /// What of this rank's positions from `next` on lies in the domains of a round: ranges, positions and the count of
    /// numbers and bytes for each rank.
    fn wanted(&self, ranks: usize, round: &Round, mine: &Part<'_>, next: u64) -> Wanted {
        let mut wanted = Wanted { ranges: vec![], end: next, numbers: vec![0; ranks], bytes: vec![0; ranks] };
        for (number, &rank) in self.ranks.iter().enumerate() {
            let (begin, before) = (wanted.end, wanted.ranges.len());
            wanted.end = mine.view.position_of(round.domain(number).end, begin, mine.positions.end);
            mine.view.for_each_run(begin, wanted.end, |from, until| match wanted.ranges[before..].last_mut() {
                Some(last) if *last == from => *last = until,
                _ => wanted.ranges.extend([from, until]),
            });
            wanted.numbers[rank] = wanted.ranges.len() - before;
            wanted.bytes[rank] = (wanted.end - begin) as usize;
        }
        wanted
    }

    /// The domain of this rank, if it is an aggregator.
    fn domain(&self, communicator: &Communicator, round: &Round) -> Range<u64> {
        let number = self.ranks.iter().position(|&rank| rank == communicator.rank());
        number.map_or(0..0, |number| round.domain(number))
    }

    fn write(
        &self,
        communicator: &Communicator,
        disk: &impl Disk,
        round: &Round,
        mine: &Part<'_>,
        done: &mut Done,
    ) -> rwmpi_core::Result<Option<Failure>> {
        let wanted = self.wanted(communicator.size(), round, mine, done.next);
        let mut bytes = vec![0_u8; (wanted.end - done.next) as usize];
        mine.elements.pack_at(done.next - mine.positions.start, &mut bytes);
        done.transferred += wanted.end - done.next;
        done.next = wanted.end;
        let (told, numbers) = exchange(communicator, &wanted.ranges, wanted.numbers)?;
        let (brought, counts) = exchange(communicator, &bytes, wanted.bytes)?;
        let domain = self.domain(communicator, round);
        let mut memory = vec![0; (domain.end - domain.start) as usize];
        let mut all = Vec::new();
        for rank in 0..communicator.size() {
            let Some(ranges) = checked(numbers.of(rank, &told), &domain) else { return Ok(Some(garbled(&domain))) };
            let mut bytes = counts.of(rank, &brought);
            for range in ranges {
                let Some((own, rest)) = bytes.split_at_checked((range.end - range.start) as usize) else {
                    return Ok(Some(garbled(&domain)));
                };
                memory[(range.start - domain.start) as usize..][..own.len()].copy_from_slice(own);
                bytes = rest;
                all.push(range);
            }
        }
        Ok(write_joined(disk, &domain, &mut memory, all))
    }

    fn read(
        &self,
        communicator: &Communicator,
        disk: &impl Disk,
        round: &Round,
        mine: &Part<'_>,
        done: &mut Done,
    ) -> rwmpi_core::Result<Option<Failure>> {
        let wanted = self.wanted(communicator.size(), round, mine, done.next);
        let (told, numbers) = exchange(communicator, &wanted.ranges, wanted.numbers)?;
        let domain = self.domain(communicator, round);
        let asked: Option<Vec<_>> =
            (0..communicator.size()).map(|rank| checked(numbers.of(rank, &told), &domain)).collect();
        let (mut failure, asked) = match asked {
            Some(asked) => (None, asked),
            None => (Some(garbled(&domain)), vec![vec![]; communicator.size()]),
        };
        let all = || asked.iter().flatten();
        let hull = all().map(|range| range.start).min().unwrap_or(0)..all().map(|range| range.end).max().unwrap_or(0);
        let mut memory = vec![0; (hull.end - hull.start) as usize];
        let moved = read_all(disk, hull.start, Span::of_bytes(&mut memory));
        failure = failure.or(moved.failure);
        let there = hull.start + moved.bytes;
        let (mut answers, mut lengths) = (Vec::new(), Vec::new());
        for ranges in &asked {
            let before = answers.len();
            for range in ranges {
                let until = range.end.min(there).max(range.start);
                answers.extend_from_slice(&memory[(range.start - hull.start) as usize..(until - hull.start) as usize]);
            }
            lengths.push(answers.len() - before);
        }
        let (bytes, counts) = exchange(communicator, &answers, lengths)?;
        for &rank in &self.ranks {
            let (own, room) = (counts.of(rank, &bytes), wanted.bytes[rank]);
            let own = &own[..own.len().min(room)];
            // Once the file has ended, nothing follows.
            if done.next == mine.positions.start + done.transferred {
                done.transferred += mine.elements.unpack_at(done.transferred, own) as u64;
            }
            done.next += room as u64;
        }
        Ok(failure)
    }
}

/// How far a rank has come: up to which position, and with how many bytes.
struct Done {
    next: u64,
    transferred: u64,
}

/// What a rank wants in a round.
struct Wanted {
    ranges: Vec<u64>,
    end: u64,
    numbers: Vec<usize>,
    bytes: Vec<usize>,
}

/// What another rank has told can't be.
#[cold]
fn garbled(domain: &Range<u64>) -> Failure {
    Failure { at: domain.start, error: std::io::Error::from_raw_os_error(libc::EPROTO) }
}

/// Writes these ranges of a domain, those side by side by one call.
fn write_joined(disk: &impl Disk, domain: &Range<u64>, memory: &mut [u8], mut all: Vec<Range<u64>>) -> Option<Failure> {
    all.sort_unstable_by_key(|range| range.start);
    let mut ranges = all.into_iter().peekable();
    while let Some(mut joined) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start <= joined.end) {
            joined.end = joined.end.max(next.end);
        }
        let own = &mut memory[(joined.start - domain.start) as usize..(joined.end - domain.start) as usize];
        if let Some(failure) = write_all(disk, joined.start, Span::of_bytes(own)).failure {
            return Some(failure);
        }
    }
    None
}
