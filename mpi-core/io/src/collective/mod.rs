//! Collective accesses (MPI-5.0 section 14.4): each rank does its part by itself, or, where their parts are short
//! blocks side by side, the ranks of a node work together.
//!
//! All meet once to tell what they want, and choose alike by it. What is wrong with the arguments of one rank keeps
//! nobody waiting: it tells that it takes no part, and each of the others does its own.
//!
//! - `team`: who works together, round by round; `staging`: memory through which the bytes pass;
//! - `read`, `write`: what is done in a round; `cover`: whether a part of the file is filled by what all have;
//! - `messages`: the same between nodes, where there is no such memory.
//!
//! What always holds: no byte is written that no rank of the call has, no byte is read to be written back, and a
//! failure of one rank in a round is one of all, in that round.

mod cover;
mod messages;
mod read;
mod staging;
mod team;
#[cfg(test)]
mod tests;
mod write;

use std::io;

use rwmpi_core::FileUnion;
use rwmpi_core::untyped::Elements;

use self::messages::Aggregators;
use self::read::Outcome;
use self::staging::{Halves, Near, Staging};
use self::team::{Fault, Part, Team};
use crate::access::Access;
use crate::{Direction, Error, File, Place, Result};

/// By what ranks work together.
pub(crate) enum Means {
    /// All see memory of each other.
    Memory(Staging),
    /// Not all do.
    Messages(Aggregators),
}

impl Means {
    /// Lets go of what they have. Collective.
    ///
    /// # Errors
    /// The ranks could not meet.
    pub(crate) fn free(&self) -> rwmpi_core::Result<()> {
        match self {
            Means::Memory(staging) => staging.free(),
            Means::Messages(_) => Ok(()),
        }
    }
}

/// What a rank wants of the file.
#[derive(Clone, Copy)]
struct Wanted {
    /// Whether it can work with others.
    fits: bool,
    /// From the first byte
    begin: u64,
    /// to the end of the last one,
    end: u64,
    /// so many of these,
    bytes: u64,
    /// in so many blocks, about.
    blocks: u64,
}

const WANTED: usize = 5;

impl Wanted {
    /// Of a rank that takes no part.
    const NONE: Wanted = Wanted { fits: false, begin: 0, end: 0, bytes: 0, blocks: 0 };

    fn of(access: &Access) -> Wanted {
        let Access { view, position, bytes, .. } = access;
        let fits = view.is_plain();
        if *bytes == 0 {
            return Wanted { fits, ..Wanted::NONE };
        }
        let ends = position.checked_add(bytes - 1).and_then(|last| view.place(*position).zip(view.place(last)));
        let Some(((begin, _), (last, _))) = ends.filter(|_| fits) else { return Wanted::NONE };
        Wanted { fits, begin, end: last + 1, bytes: *bytes, blocks: view.blocks(*position, *bytes) }
    }

    fn words(self) -> [u64; WANTED] {
        [u64::from(self.fits), self.begin, self.end, self.bytes, self.blocks]
    }
}

/// What all want together, and in which part of the file it lies; `None` if one of them can't work with others.
fn union(all: &[u64]) -> Option<(FileUnion, std::ops::Range<u64>)> {
    let (mut union, mut first, mut end) = (FileUnion::default(), u64::MAX, 0);
    for words in all.chunks_exact(WANTED) {
        let &[fits, begin, until, bytes, blocks] = words else { return None };
        if fits == 0 {
            return None;
        }
        if bytes > 0 {
            (first, end) = (first.min(begin), end.max(until));
        }
        union.bytes = union.bytes.saturating_add(bytes);
        union.blocks = union.blocks.saturating_add(blocks);
    }
    union.extent = end.saturating_sub(first);
    Some((union, first..end)).filter(|_| union.bytes > 0)
}

impl File {
    /// As [`File::access`], by all ranks (MPI_File_read_all, MPI_File_write_at_all and so on). A rank whose arguments
    /// are wrong takes part with no elements, so that no other waits.
    ///
    /// # Errors
    /// As [`File::access`]; what is wrong with the elements; what has failed at another rank that worked for this one.
    pub fn access_all(
        &self,
        direction: Direction,
        place: Place,
        elements: &std::result::Result<Elements, rwmpi_core::Error>,
    ) -> Result<u64> {
        let lost = self.lost(direction.words());
        let mine = match elements {
            Ok(elements) => self.prepare(direction, place, elements).map(|access| (access, elements)),
            Err(error) => Err(lost(error.clone())),
        };
        self.transfer_all(direction, mine)
    }

    /// What all ranks do once each knows its part.
    pub(crate) fn transfer_all(&self, direction: Direction, mine: Result<(Access, &Elements)>) -> Result<u64> {
        let communicator = &self.shared.communicator;
        // What all of them know alike.
        if communicator.size() == 1 || self.is_atomic() {
            let (access, elements) = mine?;
            return self.transfer(direction, &access, elements);
        }
        let may = self.shared.is_regular && self.shared.together.get().allows(direction);
        let wanted = match &mine {
            Ok((access, _)) if may => Wanted::of(access),
            _ => Wanted::NONE,
        };
        let mut all = vec![0; WANTED * communicator.size()];
        communicator.allgather(&wanted.words(), &mut all).map_err(self.lost(direction.words()))?;
        let (access, elements) = mine?;
        let ways = self.shared.scratch.borrow().ways;
        let together = union(&all).filter(|(union, _)| ways.work_together(*union, direction == Direction::Write));
        match together {
            Some((_, part)) => {
                let end = access.position + access.bytes;
                let part_of_mine = Part { view: &access.view, positions: access.position..end, elements };
                self.work_together(direction, &part, &part_of_mine)
            }
            None => self.transfer(direction, &access, elements),
        }
    }

    /// By what the ranks work together, which is found out once. Collective.
    fn means(&self, direction: Direction) -> Result<&Means> {
        let shared = &self.shared;
        if let Some(means) = shared.means.get() {
            return Ok(means);
        }
        let (ways, lost) = (shared.scratch.borrow().ways, self.lost(direction.words()));
        let writers = ways.writers(shared.communicator.size());
        let halves = Halves { usual: ways.domain(), long: ways.write_domain_max(), writers };
        // While they make a window, ranks would wait for one that has left the access because another has died.
        let staging = match shared.communicator.keeps_going() {
            true => Err(Near::NONE),
            false => Staging::new(&shared.communicator, halves).map_err(&lost)?,
        };
        let means = match staging {
            Ok(staging) => Means::Memory(staging),
            Err(near) => {
                let most = shared.together.get().nodes;
                Means::Messages(Aggregators::new(&shared.communicator, most, |rank| near.is(rank)).map_err(&lost)?)
            }
        };
        Ok(shared.means.get_or_init(|| means))
    }

    fn work_together(&self, direction: Direction, part: &std::ops::Range<u64>, mine: &Part<'_>) -> Result<u64> {
        let (operation, communicator) = (direction.words(), &self.shared.communicator);
        let means = self.means(direction)?;
        let ways = self.shared.scratch.borrow().ways;
        let outcome: Outcome = self.with_disk(operation, |disk| {
            let disk = &self.sieved(disk);
            let outcome = match means {
                Means::Messages(aggregators) => aggregators.access(direction, communicator, disk, part, mine),
                Means::Memory(staging) => {
                    let team = Team { communicator, staging, ways };
                    match direction {
                        Direction::Read => read::read(&team, disk, part, mine),
                        Direction::Write => write::write(&team, disk, part, mine),
                    }
                }
            };
            outcome.map_err(self.lost(operation))
        })?;
        outcome.map_err(|Fault { rank, at, code }| {
            let error = io::Error::from_raw_os_error(code);
            Error::of_system(rank, operation, &self.shared.path, &error).at(at)
        })
    }
}
