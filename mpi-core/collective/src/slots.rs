//! Short data on one node: every rank of a communicator has *slots* in shared memory, posts its data there, and reads
//! what it needs from the slots of others. There are no messages, no matching and no partners, so no rank waits for
//! one that only passes things on: with more ranks than cores, that saves a change of process for each step of an
//! algorithm. A rank with long data says in its slot where they are.
//!
//! Nonblocking collectives have slots of their own, with rules of their own ([`nonblocking`]). A rank that is alone
//! posts nothing.
//!
//! One blocking collective that uses slots is an *epoch*. Epochs use the slots of a rank in turn, so that a rank that
//! only gives may be as many epochs ahead. In each slot a stamp says to which epoch the data belong. Invariants:
//! 1. Only the owner writes to its slots, but for counts: of those who have left, and of chunks that others write where
//!    it wants them.
//! 2. Every rank stamps its slot once in every epoch, whether or not it has data.
//! 3. A rank writes to where the data of epoch `n` were once all have stamped `n + 1`: a rank that has stamped it had
//!    finished with `n`.
//! 4. A rank whose data no slot has room for says in its slot how long they are, and looks whether those on whom it
//!    will depend say the same ([`Epoch::agrees`]): so ranks that disagree about the length, and therefore about the
//!    way, do not wait for each other. Parts of any length are the exception: each rank goes its own way with those
//!    that it gives ([`parts`]).
//! 5. The memory of slots is used for something else once all other ranks have left the communicator.

mod epoch;
mod exposed;
mod layout;
mod nonblocking;
mod parts;

use std::cell::{Cell, OnceCell, RefCell};

use bytemuck::Zeroable;
use rwmpi_rank::Buffer;
use rwmpi_transport::{Distance, ReadSpan, SharedWord, WriteSpan};

use crate::Outcome;
use crate::allgather;
use crate::apart::apart;
use crate::direct_access::ExposedAddress;
use crate::engine::Failure;
use crate::engine::JobEngine;
use crate::process::Process;
use crate::select::{Collective, SlotLimits, slots};
use crate::team::Team;
pub use epoch::Epoch;
use layout::{FETCHED_AHEAD, LONG, RankSlots, SHORT_CAPACITY};
pub use nonblocking::Nonblocking;
use nonblocking::Over;
pub(crate) use parts::{Comes, MOST_TAKERS, parts};

/// By how many long broadcasts a root can be ahead.
const ASIDES: usize = 4;

/// The slots of a communicator, once they are known; `None` inside: there are none.
pub type OnceSlots = OnceCell<Option<Slots>>;

pub struct Slots {
    mine: Buffer<u128>,
    /// By rank.
    of_ranks: Box<[RankSlots]>,
    /// How many epochs there have been.
    count: Cell<u64>,
    /// All are known to have stamped their slots for this one.
    all_at: Cell<u64>,
    /// Copies of what this rank has broadcast, used in turn.
    asides: [Cell<Option<Aside>>; ASIDES],
    /// Memory for what is combined, kept from one reduction to the next.
    room: Cell<Vec<u128>>,
    /// Up to which lengths collectives go by them.
    limits: SlotLimits,
    /// Ranks share processors.
    oversubscribed: bool,
    /// Lines take long to some of the others, as far as this rank knows.
    far: Cell<bool>,
    /// Those of nonblocking collectives only.
    over: RefCell<Over>,
}

/// A copy of long data, which others may read until all have stamped the collective after that.
struct Aside {
    memory: Buffer<u128>,
    last_used_in: u64,
}

/// Slots that their owner uses no more.
struct RetiredSlots {
    _memory: Buffer<u128>,
    _asides: [Cell<Option<Aside>>; ASIDES],
    left: SharedWord,
    others: u64,
}

/// What a rank whose data are elsewhere says about them: their length, and whether it has come to nothing.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Announced {
    len: u64,
    in_trouble: u64,
}

impl<'a> Team<'a> {
    /// The team's slots, if it has any, and nothing else to do than to use them. The same on all ranks.
    #[inline]
    pub(crate) fn slots(self) -> Result<Option<&'a Slots>, Failure> {
        let Some(slots) = self.slots.filter(|_| self.waits || self.size() == 1) else { return Ok(None) };
        if slots.get().is_none() {
            self.settle_slots(slots)?;
        }
        Ok(slots.get().and_then(Option::as_ref))
    }

    /// The same, if they have room for that collective.
    #[inline]
    pub(crate) fn slots_for(self, what: Collective) -> Result<Option<&'a Slots>, Failure> {
        let are_made = self.slots.is_some_and(|slots| slots.get().is_some());
        // Nobody makes any for what has no room there.
        if !are_made && !self.slot_limits().have_room_for(what) {
            return Ok(None);
        }
        Ok(self.slots()?.filter(|slots| slots.limits.have_room_for(what)))
    }

    /// Up to which lengths its collectives go by slots.
    fn slot_limits(self) -> SlotLimits {
        let processors = self.process.engine().processors();
        SlotLimits::new(self.process.tuning(), self.size(), processors, SHORT_CAPACITY)
    }

    /// Whether each of its ranks has short slots.
    pub(crate) fn has_short_slots(self) -> bool {
        slots::are_short(self.process.tuning(), self.size())
    }

    #[cold]
    #[inline(never)]
    fn settle_slots(self, slots: &OnceSlots) -> Outcome {
        let made = self.process.block_on(|| self.make_slots())?;
        let _ = slots.set(made);
        Ok(())
    }

    #[cold]
    async fn make_slots(self) -> Result<Option<Slots>, Failure> {
        if self.size() == 1 {
            let nothing = Buffer::recycled(self.process.engine().heap(), 0);
            return Ok(Some(Slots::new(nothing, Box::new([]), SlotLimits::ALONE, false)));
        }
        let processors = self.process.engine().processors();
        if !slots::are_worth_it(self.process.tuning(), self.size(), processors) || !self.may_access_directly() {
            return Ok(None);
        }
        self.process.reuse_retired();
        let mine =
            Buffer::recycled(self.process.engine().heap(), layout::len(self.has_short_slots()) / size_of::<u128>());
        let address = self.address_of(ReadSpan::from(bytemuck::cast_slice(&mine)));
        let own = RankSlots::new(self, self.peers[self.rank], address.address());
        if let Some(own) = own.as_ref().filter(|_| mine.is_shared()) {
            let mut engine = self.process.engine();
            own.words().for_each(|word| engine.set_words([(word, 0)], &[]));
        }
        let address = if mine.is_shared() && own.is_some() { address } else { ExposedAddress::UNREADABLE };
        let mut addresses = vec![ExposedAddress::zeroed(); self.size()];
        addresses[self.rank] = address;
        let (received, len) = (WriteSpan::from(bytemuck::cast_slice_mut(&mut addresses)), size_of::<ExposedAddress>());
        apart(|| allgather::short(self.always_sends(), |rank| received.part(rank * len, len))).await?;
        let slots = addresses.iter().zip(self.peers);
        let slots: Option<Box<[RankSlots]>> =
            slots.map(|(address, &peer)| RankSlots::new(self, peer, address.address())).collect();
        let oversubscribed = self.process.engine().is_oversubscribed();
        Ok(slots.map(|slots| Slots::new(mine, slots, self.slot_limits(), oversubscribed)))
    }
}

/// Of the chunks that go to one place, its owner begins with the first, and takes that upon itself before anybody can.
const TAKEN_BY_OWNER: u64 = 1;

impl Slots {
    fn new(mine: Buffer<u128>, of_ranks: Box<[RankSlots]>, limits: SlotLimits, oversubscribed: bool) -> Self {
        let (count, all_at, far) = (Cell::new(0), Cell::new(1), Cell::new(false));
        let (asides, room, over) = Default::default();
        Slots { mine, of_ranks, count, all_at, asides, room, limits, oversubscribed, far, over }
    }

    /// Up to which lengths collectives go by them.
    #[inline(always)]
    pub fn limits(&self) -> &SlotLimits {
        &self.limits
    }

    /// Whether there is one rank only, which has nothing to posted.
    #[inline]
    pub(crate) fn are_alone(&self) -> bool {
        self.of_ranks.is_empty()
    }

    /// Says in this rank's slot how long its data are, and where.
    pub(crate) fn announce<'a>(
        &'a self,
        team: &'a Team<'a>,
        len: usize,
        addresses: &[ExposedAddress],
    ) -> Result<Epoch<'a>, Failure> {
        let epoch = self.next_epoch(team);
        epoch.wait_for_turn(epoch.places())?;
        self.announce_now(&epoch, len, addresses)?;
        Ok(epoch)
    }

    /// The same, when it is this rank's turn.
    fn announce_now(&self, epoch: &Epoch<'_>, len: usize, addresses: &[ExposedAddress]) -> Outcome {
        let (team, number) = (epoch.team, epoch.number());
        let mine = &self.of_ranks[team.rank];
        let in_trouble = u64::from(team.spreads_trouble && team.is_in_trouble());
        let announced = Announced { len: len as u64, in_trouble };
        let said = ReadSpan::from(bytemuck::bytes_of(&announced));
        let mut engine = team.process.engine();
        let addresses = ReadSpan::from(bytemuck::cast_slice(addresses));
        engine.write_shared(mine.part(mine.addresses(number), addresses.len())?, addresses, false);
        engine.write_shared(mine.part(RankSlots::announcement(number), said.len())?, said, false);
        let slot = mine.slot(number);
        engine.set_words([(slot.done(), 0), (slot.taken(), TAKEN_BY_OWNER), (slot.helped(), 0)], &[]);
        self.stamp(team, &mut engine, number, LONG);
        Ok(())
    }

    /// Announces a copy of `data`, so that this rank need not wait until the others have read them; false: nothing has
    /// happened, since there is no memory for it that they could read.
    pub(crate) fn announce_copy(&self, team: &Team<'_>, data: ReadSpan<'_>) -> Result<bool, Failure> {
        let number = self.count.get() + 1;
        let place = &self.asides[number as usize % ASIDES];
        let words = data.len().div_ceil(size_of::<u128>());
        let kept = place.take();
        if let Some(aside) = &kept {
            Epoch::new(team, self, aside.last_used_in + 1).wait_for_all()?;
        }
        let memory = match kept {
            Some(aside) if aside.memory.len() >= words => aside.memory,
            _ => Buffer::recycled(team.process.engine().heap(), words),
        };
        if !memory.is_shared() {
            return Ok(false);
        }
        let address = team.address_of(ReadSpan::from(bytemuck::cast_slice(&memory)).part(0, data.len()));
        let mut engine = team.process.engine();
        let Some(part) = engine.shared_part(team.peers[team.rank], &address.address()) else { return Ok(false) };
        engine.write_shared(part, data, self.far.get());
        drop(engine);
        place.set(Some(Aside { memory, last_used_in: number }));
        self.announce(team, data.len(), &[address, ExposedAddress::NOTHING])?;
        Ok(true)
    }

    /// Has `measure` measure how far away `rank` is.
    fn measure(&self, rank: usize, measure: impl FnOnce(&mut Distance) -> bool) -> bool {
        let known = &self.of_ranks[rank].distance;
        let mut distance = known.get();
        let has_come = measure(&mut distance);
        known.set(distance);
        self.far.set(self.of_ranks.iter().any(|theirs| !theirs.distance.get().is_near()));
        has_come
    }

    /// Has `use_it` use memory of so many bytes, which is kept for the next time.
    pub(crate) fn with_room<R>(&self, len: usize, use_it: impl FnOnce(WriteSpan<'_>) -> R) -> R {
        let mut room = self.room.take();
        room.resize(room.len().max(len.div_ceil(size_of::<u128>())), 0);
        let result = use_it(WriteSpan::from(bytemuck::cast_slice_mut(&mut room)).part(0, len));
        self.room.set(room);
        result
    }

    /// Whether ranks share processors.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    #[inline]
    fn stamp(&self, team: &Team<'_>, engine: &mut JobEngine, number: u64, says: u64) {
        let mine = &self.of_ranks[team.rank];
        let slot = mine.slot(number);
        let says = u64::from(team.mark.word()) << 32 | says;
        engine.set_words([(slot.len(), says), (slot.stamp(), number)], team.peers);
        // The others have read that line a lap ago.
        engine.fetch_word(mine.slot(number + FETCHED_AHEAD).stamp(), true);
        mine.has_stamped(number);
    }

    /// The next epoch. Data are posted in it, or announced.
    #[inline]
    pub(crate) fn next_epoch<'a>(&'a self, team: &'a Team<'a>) -> Epoch<'a> {
        let number = self.count.get() + 1;
        self.count.set(number);
        Epoch::new(team, self, number)
    }

    /// Leaves the others' slots, and gives the own one to the process, to be reused when all others have left it.
    pub fn retire(self, process: &Process) {
        if self.are_alone() {
            return;
        }
        let (me, others) = (process.me_and_peers().0, self.of_ranks.len() as u64 - 1);
        let mut engine = process.engine();
        let theirs = self.of_ranks.iter().filter(|theirs| theirs.peer != me);
        for theirs in theirs {
            engine.add_to_word(theirs.left, 1);
        }
        drop(engine);
        if let Some(mine) = self.of_ranks.iter().find(|theirs| theirs.peer == me) {
            process.retire(Box::new(RetiredSlots {
                _memory: self.mine,
                _asides: self.asides,
                left: mine.left,
                others,
            }));
        }
    }
}

impl crate::process::Retired for RetiredSlots {
    fn is_in_use(&self, process: &Process) -> bool {
        process.engine().word(self.left) < self.others
    }
}
