//! The ranks of a collective access that work together, and what they tell each other between two rounds.

use std::ops::Range;

use rwmpi_core::untyped::Elements;
use rwmpi_core::{Communicator, FileWays};

use super::staging::Staging;
use crate::disk::Failure;
use crate::view::View;

/// Domains begin where pages do.
const PAGE: u64 = 4096;
/// What ranks tell that have not failed.
const WELL: u64 = 0;

/// The ranks, and what they work with.
pub(super) struct Team<'a> {
    pub(super) communicator: &'a Communicator,
    pub(super) staging: &'a Staging,
    pub(super) ways: FileWays,
}

/// This rank's part: elements, and from which position on its view shows them.
pub(super) struct Part<'a> {
    pub(super) view: &'a View,
    pub(super) positions: Range<u64>,
    pub(super) elements: &'a Elements,
}

/// What has failed at one of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) rank: usize,
    /// The byte of the file.
    pub(super) at: u64,
    /// What the system says.
    pub(super) code: i32,
}

/// What a rank tells at the end of a round: where it has failed and why, if it has, and one number more.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) number: u64,
    code: u64,
    at: u64,
}

const TOLD: usize = 3;

impl Told {
    pub(super) fn new(number: u64, failure: Option<Failure>) -> Self {
        let Some(Failure { at, error }) = failure else { return Told { number, code: WELL, at: 0 } };
        let code = error.raw_os_error().filter(|&code| code > 0).unwrap_or(libc::EIO);
        Told { number, code: code as u64, at }
    }
}

/// What all ranks have told, by rank.
pub(super) struct Heard(Vec<Told>);

impl Heard {
    /// The numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|told| told.number)
    }

    /// What the first rank says that has failed: the same at all ranks.
    pub(super) fn fault(&self) -> Option<Fault> {
        let rank = self.0.iter().position(|told| told.code != WELL)?;
        Some(Fault { rank, at: self.0[rank].at, code: self.0[rank].code as i32 })
    }
}

impl Team<'_> {
    pub(super) fn rank(&self) -> usize {
        self.communicator.rank()
    }

    /// All ranks meet, and hear of each other. What any of them wrote to the staging memory before, all see after.
    pub(super) fn meet(&self, told: Told) -> rwmpi_core::Result<Heard> {
        meet(self.communicator, told)
    }

    /// The rounds in which all ranks read a part of the file.
    pub(super) fn rounds_of_reading(&self, part: &Range<u64>) -> Rounds {
        rounds(part, self.communicator.size(), self.staging.half() as u64)
    }

    /// The rounds in which so many writers write it.
    pub(super) fn rounds_of_writing(&self, part: &Range<u64>, writers: usize) -> Rounds {
        let each = (part.end - part.start) / writers as u64;
        rounds(part, writers, self.ways.write_domain(each))
    }
}

/// All ranks meet, and hear of each other.
pub(super) fn meet(communicator: &Communicator, told: Told) -> rwmpi_core::Result<Heard> {
    let mut all = vec![0; TOLD * communicator.size()];
    communicator.allgather(&[told.number, told.code, told.at], &mut all)?;
    let heard = all.chunks_exact(TOLD).map(|words| Told { number: words[0], code: words[1], at: words[2] });
    Ok(Heard(heard.collect()))
}

/// The rounds in which so many ranks come through a part of the file, each with a domain of so many bytes at most.
pub(super) fn rounds(part: &Range<u64>, ranks: usize, most: u64) -> Rounds {
    let begin = part.start / PAGE * PAGE;
    let share = (part.end - begin).div_ceil(ranks as u64).next_multiple_of(PAGE);
    Rounds { part: part.clone(), next: begin, domain: share.min(most / PAGE * PAGE), ranks }
}

/// The rounds of an access, one after the other.
pub(super) struct Rounds {
    part: Range<u64>,
    next: u64,
    domain: u64,
    ranks: usize,
}

/// One of them: the part of the file that it is about, and how that is divided.
pub(super) struct Round {
    begin: u64,
    part: Range<u64>,
    domain: u64,
}

impl Iterator for Rounds {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let Rounds { ref part, next: begin, domain, ranks } = *self;
        if begin >= part.end {
            return None;
        }
        self.next = begin.saturating_add(domain.saturating_mul(ranks as u64));
        Some(Round { begin, part: begin.max(part.start)..self.next.min(part.end), domain })
    }
}

impl Round {
    /// All of it.
    pub(super) fn part(&self) -> Range<u64> {
        self.part.clone()
    }

    /// The domain of a rank: perhaps an empty one.
    pub(super) fn domain(&self, rank: usize) -> Range<u64> {
        let begin = self.begin.saturating_add(self.domain.saturating_mul(rank as u64));
        let [begin, end] =
            [begin, begin.saturating_add(self.domain)].map(|place| place.clamp(self.part.start, self.part.end));
        begin..end
    }
}
