//! What lies where in the slots of one rank: a line for the count of those who have left them, the slots, of a line
//! each, and, fewer, places for what has no room in a slot, and two halves for what has none there. A reader knows
//! where data are before it sees the stamp: so the processor can ask for both at once.

use std::cell::Cell;

use rwmpi_transport::{Distance, RemoteAddress, RemoteError, SHARED_LINE, SharedLines, SharedPart, SharedWord};

use super::Announced;
use crate::engine::Failure;
use crate::team::Team;
use crate::tuning::SLOT_ROOM;

/// How many collectives a rank that only gives a little can be ahead. Where ranks share processors, that many fit
/// between two changes of process.
const SLOTS: u64 = 64;
/// How far ahead lines are fetched: the own ones, and others' where collectives follow each other in which this rank
/// only takes.
pub(super) const FETCHED_AHEAD: u64 = 3;
/// Data of up to so many bytes are asked for while their stamp is awaited: of more, near cores lose lines that they
/// have not written yet.
const ASKED_FOR: usize = 512;
const ASKED_FOR_FROM_FAR: usize = PLACE;
const LINE: usize = SHARED_LINE;
/// In a slot are its stamp, the length of the data, and the data, if they fit. An announcement has its length there,
/// where its owner says when it is done with the others' data, too, and addresses in a place.
const STAMP: usize = 0;
const LEN: usize = 8;
const DATA: usize = 16;
const BESIDE: usize = LINE - DATA;
const ANNOUNCEMENT: usize = 24;
const TAKEN: usize = ANNOUNCEMENT + size_of::<Announced>();
const HELPED: usize = TAKEN + 8;
const USERS: usize = HELPED + 8;
const _: () = assert!(USERS + 8 <= LINE);
/// In place of a length: its rank is in trouble. In the upper half of the same word is what the data are marked with.
pub(super) const NOTHING: u64 = u32::MAX as u64;
/// In place of a length: the data are elsewhere, and there is an announcement.
pub(super) const LONG: u64 = NOTHING - 1;
/// How many places a rank has.
const PLACES: u64 = 32;
/// One of many ranks has fewer: each rank maps each page of all ranks' slots, which takes long where they are many.
const FEW_PLACES: u64 = 8;
const _: () = assert!(PLACES <= SLOTS && PLACES.is_power_of_two() && FEW_PLACES.is_power_of_two());
pub(super) const PLACE: usize = 2048;
/// In the first line, beside the count of those who have left.
const OVER: usize = 8;
const FIRST_PLACE: usize = LINE + SLOTS as usize * LINE;
const HALVES: usize = FIRST_PLACE + PLACES as usize * PLACE;
/// Room for the data of one collective: as much as ever pays ([`SLOT_ROOM`]). No power of two: where all places were,
/// their address would be worked out without a branch, in ten instructions more.
const HALF: usize = SLOT_ROOM + LINE;
const LENGTH: usize = HALVES + 2 * HALF;
/// Of one of many ranks, which posts no more than a place has room for.
const SHORT_LENGTH: usize = FIRST_PLACE + FEW_PLACES as usize * PLACE;
/// What a rank of many posts is shorter than this.
pub(super) const SHORT_CAPACITY: usize = PLACE + 1;

/// How long the slots of one rank are.
pub(super) fn len(is_short: bool) -> usize {
    if is_short { SHORT_LENGTH } else { LENGTH }
}

/// The slots of one rank.
pub(super) struct RankSlots {
    pub(super) peer: u32,
    memory: SharedPart,
    /// How many places it has.
    places: u64,
    slots: SharedLines<{ SLOTS as usize }>,
    pub(super) left: SharedWord,
    /// Up to which nonblocking collective all are over on its rank.
    pub(super) over: SharedWord,
    /// The last collective in which this rank has taken data from here without giving any.
    pub(super) taken_in: Cell<u64>,
    /// Of the owner, as far as this rank knows.
    pub(super) distance: Cell<Distance>,
    /// The collective for which it has last been seen stamped.
    seen: Cell<u64>,
}

/// The words of one.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    lines: SharedLines<{ SLOTS as usize }>,
    number: u64,
}

impl Slot {
    #[inline(always)]
    pub(super) fn stamp(self) -> SharedWord {
        self.lines.word(self.number, STAMP)
    }

    #[inline(always)]
    pub(super) fn len(self) -> SharedWord {
        self.lines.word(self.number, LEN)
    }

    /// Of an announcement: its stamp once more, when its owner is done.
    #[inline(always)]
    pub(super) fn done(self) -> SharedWord {
        self.lines.word(self.number, DATA)
    }

    /// Of an announcement of where data are to be put: how many chunks of them somebody has taken upon itself,
    pub(super) fn taken(self) -> SharedWord {
        self.lines.word(self.number, TAKEN)
    }

    /// and how many others than the owner have put there.
    pub(super) fn helped(self) -> SharedWord {
        self.lines.word(self.number, HELPED)
    }

    /// Of a nonblocking announcement: a bit for each rank that uses the data, and one if their owner has revoked
    /// them.
    pub(super) fn users(self) -> SharedWord {
        self.lines.word(self.number, USERS)
    }
}

/// Where the slot of collective `number` begins,
#[inline(always)]
fn start(number: u64) -> usize {
    LINE + (number % SLOTS) as usize * LINE
}

/// its place, of so many: a power of two,
#[inline(always)]
fn place(places: u64, number: u64) -> usize {
    FIRST_PLACE + (number & (places - 1)) as usize * PLACE
}

/// and its data; and how many take turns there.
#[inline(always)]
fn data(places: u64, number: u64, len: usize) -> (usize, u64) {
    match len {
        _ if len <= BESIDE => (start(number) + DATA, SLOTS),
        _ if len <= PLACE => (place(places, number), places),
        _ => (HALVES + (number % 2) as usize * HALF, 2),
    }
}

impl RankSlots {
    /// `None` if the memory is not shared, or not as long as the slots of a rank.
    pub(super) fn new(team: Team<'_>, peer: u32, address: RemoteAddress) -> Option<RankSlots> {
        let is_short = team.has_short_slots();
        let memory =
            team.process.engine().shared_part(peer, &address).filter(|memory| memory.len() == len(is_short))?;
        let (left, over) = (memory.word(0)?, memory.word(OVER)?);
        let slots = memory.lines(start(0))?;
        Some(RankSlots {
            peer,
            memory,
            places: if is_short { FEW_PLACES } else { PLACES },
            slots,
            left,
            over,
            taken_in: Cell::new(0),
            distance: Cell::new(Distance::near()),
            seen: Cell::new(0),
        })
    }

    /// Those that must be zero before it is used.
    pub(super) fn words(&self) -> impl Iterator<Item = SharedWord> {
        (0..SLOTS).map(|number| self.slot(number).stamp()).chain([self.left, self.over])
    }

    #[inline(always)]
    pub(super) fn slot(&self, number: u64) -> Slot {
        Slot { lines: self.slots, number }
    }

    /// Where the data of collective `number` lie, and how many such places take turns.
    #[inline]
    pub(super) fn data(&self, number: u64, len: usize) -> (usize, u64) {
        data(self.places, number, len)
    }

    /// How many collectives whose data or addresses lie in places take turns.
    pub(super) fn places(&self) -> u64 {
        self.places
    }

    pub(super) fn announcement(number: u64) -> usize {
        start(number) + ANNOUNCEMENT
    }

    /// Where the addresses of an announcement lie, which take turns with data.
    pub(super) fn addresses(&self, number: u64) -> usize {
        place(self.places, number)
    }

    /// A part of it.
    #[inline]
    pub(super) fn part(&self, place: usize, len: usize) -> Result<SharedPart, Failure> {
        self.memory.part(place, len).ok_or(self.refused())
    }

    fn refused(&self) -> Failure {
        Failure::Remote { peer: self.peer, error: RemoteError::Refused }
    }

    /// The lines in which the `part` of so many bytes of data lies that begins at `offset`, if these are others than
    /// the slot's, and so few that it pays to ask for them with each look at the stamp.
    #[inline]
    pub(super) fn lines_ahead(&self, number: u64, len: usize, offset: usize, part: usize) -> Option<SharedPart> {
        if len <= BESIDE {
            return None;
        }
        let most = if self.distance.get().is_near() { ASKED_FOR } else { ASKED_FOR_FROM_FAR };
        if part > most {
            return None;
        }
        let start = self.data(number, len).0 + offset;
        let line = start / LINE * LINE;
        self.memory.part(line, start + part - line)
    }

    /// Whether it is known to have been stamped for collective `number`.
    #[inline]
    pub(super) fn is_stamped(&self, number: u64) -> bool {
        self.seen.get() == number
    }

    #[inline]
    pub(super) fn has_stamped(&self, number: u64) {
        self.seen.set(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever collectives in a row posted at most, side by side and in the memory of one rank.
    #[test]
    fn data_that_take_turns_lie_apart() {
        for (places, longest) in
            [(PLACES, BESIDE), (PLACES, PLACE), (PLACES, HALF), (FEW_PLACES, BESIDE), (FEW_PLACES, PLACE)]
        {
            let is_short = places == FEW_PLACES;
            let (_, turns) = data(places, 0, longest);
            let mut starts: Vec<usize> = (5..5 + turns).map(|number| data(places, number, longest).0).collect();
            starts.sort_unstable();
            assert!(starts.windows(2).all(|pair| pair[0] + longest <= pair[1]), "{longest} bytes");
            assert!(starts[turns as usize - 1] + longest <= len(is_short), "{longest} bytes");
        }
    }
}
