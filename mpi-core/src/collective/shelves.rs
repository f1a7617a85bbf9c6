//! Short data on one node: every rank of a communicator has a *shelf* in shared memory, puts its data there, and takes
//! what it needs from the shelves of others. There are no messages, no matching and no partners, so no rank waits for
//! one that only passes things on: with more ranks than cores, that saves a change of process for each step of an
//! algorithm. Who has long data says there where they are.
//!
//! Nonblocking collectives have shelves of their own, with rules of their own ([`later`]). Among one rank alone nothing
//! is put anywhere.
//!
//! A shelf has some slots, used in turn by the blocking collectives that use shelves at all, so that who only gives may
//! be as many collectives ahead. In each slot a stamp says which of them the data belong to. Invariants:
//! 1. Only the owner writes to its shelf, but for counts: of those who have left, and of chunks that others put where
//!    it wants them.
//! 2. Every rank stamps its shelf once in every such collective, whether or not it has data.
//! 3. A rank writes to where the data of collective `n` were once all have stamped `n + 1`: whoever did had finished
//!    with `n`.
//! 4. A rank whose data no shelf has room for says on its shelf how long they are, and looks whether those on whom it
//!    will depend say the same ([`Round::agrees`]): so ranks that disagree about the length, and therefore about the
//!    way, do not wait for each other. Parts of any length are the exception: each rank goes its own way with those
//!    that it gives ([`parts`]).
//! 5. A shelf's memory is used for something else once all other ranks have left the communicator.

mod later;
mod lent;
mod parts;
mod round;
mod shelf;

use std::cell::{Cell, OnceCell, RefCell};

use bytemuck::Zeroable;
use rwmpi_transport::{Distance, ReadSpan, SharedWord, WriteSpan};

use super::allgather;
use super::published::Told;
use super::team::Team;
use crate::apart::apart;
use crate::engine::Failure;
use crate::job_engine::JobEngine;
use crate::process::Process;
use crate::select::{Collective, SlotLimits, slots};
use crate::shared_buffer::Buffer;
pub(crate) use later::{Later, Turn};
use later::{Over, Step};
pub(super) use parts::{Comes, MOST_TAKERS, parts};
pub(super) use round::Round;
use shelf::{FETCHED_AHEAD, LONG, SHORT_CAPACITY, Shelf};

/// By how many long broadcasts a root can be ahead.
const ASIDES: usize = 4;

/// The shelves of a communicator, once they are known; `None` inside: there are none.
pub(crate) type OnceShelves = OnceCell<Option<Shelves>>;

pub(crate) struct Shelves {
    mine: Buffer<u128>,
    /// By rank.
    shelves: Box<[Shelf]>,
    /// How many collectives have used them.
    count: Cell<u64>,
    /// All are known to have stamped their shelves for this one.
    all_at: Cell<u64>,
    /// Copies of what this rank has broadcast, used in turn.
    asides: [Cell<Option<Aside>>; ASIDES],
    /// Memory for what is combined, kept from one reduction to the next.
    room: Cell<Vec<u128>>,
    /// Up to which lengths collectives go by them.
    limits: SlotLimits,
    /// Ranks share processors.
    crowded: bool,
    /// Lines take long to some of the others, as far as this rank knows.
    far: Cell<bool>,
    /// Those of nonblocking collectives only.
    over: RefCell<Over>,
}

/// Shelves, and how far a collective goes on them now.
#[derive(Clone, Copy)]
pub(crate) struct Shelved<'a> {
    shelves: &'a Shelves,
    step: Step,
}

/// A copy of long data, which others may read until all have stamped the collective after that.
struct Aside {
    memory: Buffer<u128>,
    last_used_in: u64,
}

/// A shelf that its owner uses no more.
pub(crate) struct Retired {
    _memory: Buffer<u128>,
    _asides: [Cell<Option<Aside>>; ASIDES],
    left: SharedWord,
    others: u64,
}

/// What a rank whose data are elsewhere says about them: their length, and whether it has come to nothing.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Announced {
    len: u64,
    in_trouble: u64,
}

impl<'a> Team<'a> {
    /// The team's shelves, if it has any, and nothing else to do than to use them. The same on all ranks.
    #[inline]
    pub(super) fn shelves(self) -> Result<Option<&'a Shelves>, Failure> {
        let Some(shelves) = self.shelves.filter(|_| self.waits || self.size() == 1) else { return Ok(None) };
        if shelves.get().is_none() {
            self.settle_shelves(shelves)?;
        }
        Ok(shelves.get().and_then(Option::as_ref))
    }

    /// The same, if they have room for that collective.
    #[inline]
    pub(super) fn shelves_for(self, what: Collective) -> Result<Option<&'a Shelves>, Failure> {
        let are_made = self.shelves.is_some_and(|shelves| shelves.get().is_some());
        // Nobody makes any for what has no room there.
        if !are_made && !self.slot_limits().have_room_for(what) {
            return Ok(None);
        }
        Ok(self.shelves()?.filter(|shelves| shelves.limits.have_room_for(what)))
    }

    /// Up to which lengths its collectives go by shelves.
    fn slot_limits(self) -> SlotLimits {
        let processors = self.process.engine().processors();
        SlotLimits::new(self.process.tuning(), self.size(), processors, SHORT_CAPACITY)
    }

    /// Whether the shelf of one of its ranks is a short one.
    pub(super) fn has_short_shelves(self) -> bool {
        slots::are_short(self.process.tuning(), self.size())
    }

    #[cold]
    #[inline(never)]
    fn settle_shelves(self, shelves: &OnceShelves) -> Result<(), Failure> {
        let made = self.process.block_on(|| self.make_shelves())?;
        let _ = shelves.set(made);
        Ok(())
    }

    #[cold]
    async fn make_shelves(self) -> Result<Option<Shelves>, Failure> {
        if self.size() == 1 {
            let nothing = Buffer::recycled(self.process.engine().heap(), 0);
            return Ok(Some(Shelves::new(nothing, Box::new([]), SlotLimits::ALONE, false)));
        }
        let processors = self.process.engine().processors();
        if !slots::are_worth_it(self.process.tuning(), self.size(), processors) || !self.may_publish() {
            return Ok(None);
        }
        self.process.reuse_retired();
        let mine =
            Buffer::recycled(self.process.engine().heap(), shelf::len(self.has_short_shelves()) / size_of::<u128>());
        let told = self.tell_where(ReadSpan::from(bytemuck::cast_slice(&mine)));
        let shelf = Shelf::new(self, self.peers[self.rank], told.address());
        if let Some(shelf) = shelf.as_ref().filter(|_| mine.is_shared()) {
            let mut engine = self.process.engine();
            shelf.words().for_each(|word| engine.set_words([(word, 0)], &[]));
        }
        let told = if mine.is_shared() && shelf.is_some() { told } else { Told::UNREADABLE };
        let mut heard = vec![Told::zeroed(); self.size()];
        heard[self.rank] = told;
        let (received, len) = (WriteSpan::from(bytemuck::cast_slice_mut(&mut heard)), size_of::<Told>());
        apart(|| allgather::short(self.always_sends(), |rank| received.part(rank * len, len))).await?;
        let shelves = heard.iter().zip(self.peers);
        let shelves: Option<Box<[Shelf]>> =
            shelves.map(|(told, &peer)| Shelf::new(self, peer, told.address())).collect();
        let crowded = self.process.engine().is_crowded();
        Ok(shelves.map(|shelves| Shelves::new(mine, shelves, self.slot_limits(), crowded)))
    }
}

impl<'a> Shelved<'a> {
    /// Begins a collective of which this rank gives `parts`, one behind the other. `None`: that is all for now.
    #[inline(always)]
    pub(super) fn begin<'s>(
        self,
        team: &'a Team<'a>,
        parts: impl Iterator<Item = ReadSpan<'s>> + Clone,
    ) -> Result<Option<Round<'a>>, Failure> {
        let Shelved { shelves, step } = self;
        match step {
            Step::Whole if shelves.are_alone() => Ok(Some(Round::new(team, shelves, 0))),
            Step::Whole => {
                let mut round = shelves.next_round(team);
                round.put(parts)?;
                Ok(Some(round))
            }
            Step::Put(number) => Round::new(team, shelves, number).put_now(parts).map(|()| None),
            Step::Take(number) => Ok(Some(Round::new(team, shelves, number))),
        }
    }
}

/// Of the chunks that go to one place, its owner begins with the first, and takes that upon itself before anybody can.
const TAKEN_BY_OWNER: u64 = 1;

impl Shelves {
    fn new(mine: Buffer<u128>, shelves: Box<[Shelf]>, limits: SlotLimits, crowded: bool) -> Self {
        let (count, all_at, far) = (Cell::new(0), Cell::new(1), Cell::new(false));
        let (asides, room, over) = Default::default();
        Shelves { mine, shelves, count, all_at, asides, room, limits, crowded, far, over }
    }

    /// Up to which lengths collectives go by them.
    #[inline(always)]
    pub(crate) fn limits(&self) -> &SlotLimits {
        &self.limits
    }

    /// Whether there is one rank only, which has nothing to put up.
    #[inline]
    fn are_alone(&self) -> bool {
        self.shelves.is_empty()
    }

    /// For a collective whose caller waits.
    #[inline]
    pub(crate) fn whole(&self) -> Shelved<'_> {
        Shelved { shelves: self, step: Step::Whole }
    }

    /// Says on this rank's shelf how long its data are, and where.
    pub(super) fn announce<'a>(&'a self, team: &'a Team<'a>, len: usize, told: &[Told]) -> Result<Round<'a>, Failure> {
        let round = self.next_round(team);
        round.wait_for_turn(round.places())?;
        self.announce_now(&round, len, told)?;
        Ok(round)
    }

    /// The same, when it is this rank's turn.
    fn announce_now(&self, round: &Round<'_>, len: usize, told: &[Told]) -> Result<(), Failure> {
        let (team, number) = (round.team, round.number());
        let mine = &self.shelves[team.rank];
        let in_trouble = u64::from(team.poisons && team.is_in_trouble());
        let announced = Announced { len: len as u64, in_trouble };
        let said = ReadSpan::from(bytemuck::bytes_of(&announced));
        let mut engine = team.process.engine();
        let told = ReadSpan::from(bytemuck::cast_slice(told));
        engine.write_shared(mine.part(mine.addresses(number), told.len())?, told, false);
        engine.write_shared(mine.part(Shelf::announcement(number), said.len())?, said, false);
        let slot = mine.slot(number);
        engine.set_words([(slot.done(), 0), (slot.taken(), TAKEN_BY_OWNER), (slot.helped(), 0)], &[]);
        self.stamp(team, &mut engine, number, LONG);
        Ok(())
    }

    /// Announces a copy of `data`, so that this rank need not wait until the others have read them; false: nothing has
    /// happened, since there is no memory for it that they could read.
    pub(super) fn announce_copy(&self, team: &Team<'_>, data: ReadSpan<'_>) -> Result<bool, Failure> {
        let number = self.count.get() + 1;
        let place = &self.asides[number as usize % ASIDES];
        let words = data.len().div_ceil(size_of::<u128>());
        let kept = place.take();
        if let Some(aside) = &kept {
            Round::new(team, self, aside.last_used_in + 1).wait_for_all()?;
        }
        let memory = match kept {
            Some(aside) if aside.memory.len() >= words => aside.memory,
            _ => Buffer::recycled(team.process.engine().heap(), words),
        };
        if !memory.is_shared() {
            return Ok(false);
        }
        let told = team.tell_where(ReadSpan::from(bytemuck::cast_slice(&memory)).part(0, data.len()));
        let mut engine = team.process.engine();
        let Some(part) = engine.shared_part(team.peers[team.rank], &told.address()) else { return Ok(false) };
        engine.write_shared(part, data, self.far.get());
        drop(engine);
        place.set(Some(Aside { memory, last_used_in: number }));
        self.announce(team, data.len(), &[told, Told::NOTHING])?;
        Ok(true)
    }

    /// Has `measure` measure how far away `rank` is.
    fn measure(&self, rank: usize, measure: impl FnOnce(&mut Distance) -> bool) -> bool {
        let known = &self.shelves[rank].distance;
        let mut distance = known.get();
        let has_come = measure(&mut distance);
        known.set(distance);
        self.far.set(self.shelves.iter().any(|shelf| !shelf.distance.get().is_near()));
        has_come
    }

    /// Has `use_it` use memory of so many bytes, which is kept for the next time.
    pub(super) fn with_room<R>(&self, len: usize, use_it: impl FnOnce(WriteSpan<'_>) -> R) -> R {
        let mut room = self.room.take();
        room.resize(room.len().max(len.div_ceil(size_of::<u128>())), 0);
        let result = use_it(WriteSpan::from(bytemuck::cast_slice_mut(&mut room)).part(0, len));
        self.room.set(room);
        result
    }

    /// Whether ranks share processors.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded
    }

    #[inline]
    fn stamp(&self, team: &Team<'_>, engine: &mut JobEngine, number: u64, says: u64) {
        let mine = &self.shelves[team.rank];
        let slot = mine.slot(number);
        let says = u64::from(team.mark.word()) << 32 | says;
        engine.set_words([(slot.len(), says), (slot.stamp(), number)], team.peers);
        // The others have read that line a lap ago.
        engine.fetch_word(mine.slot(number + FETCHED_AHEAD).stamp(), true);
        mine.has_stamped(number);
    }

    /// The next use of the shelves. Data are put up in it, or announced.
    #[inline]
    pub(super) fn next_round<'a>(&'a self, team: &'a Team<'a>) -> Round<'a> {
        let number = self.count.get() + 1;
        self.count.set(number);
        Round::new(team, self, number)
    }

    /// Leaves the others' shelves, and gives the own one to the process, to be reused when all others have left it.
    pub(crate) fn retire(self, process: &Process) {
        if self.are_alone() {
            return;
        }
        let (me, others) = (process.me_and_peers().0, self.shelves.len() as u64 - 1);
        let mut engine = process.engine();
        let theirs = self.shelves.iter().filter(|shelf| shelf.peer != me);
        for shelf in theirs {
            engine.add_to_word(shelf.left, 1);
        }
        drop(engine);
        if let Some(mine) = self.shelves.iter().find(|shelf| shelf.peer == me) {
            process.retire(Retired { _memory: self.mine, _asides: self.asides, left: mine.left, others });
        }
    }
}

impl Retired {
    /// Whether others may still look at it.
    pub(crate) fn is_in_use(&self, process: &Process) -> bool {
        process.engine().word(self.left) < self.others
    }
}
