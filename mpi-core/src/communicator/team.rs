//! The ranks of a communicator as its collectives see them: each collective has a number, which is in the tag of its
//! messages, and slots that it may go by.

use rwmpi_collective::{OnceNodes, OnceSlots, Slots, Team};

use super::{Communicator, context};
use crate::activity::{Call, Target};
use crate::engine::Failure;
use crate::engine::context::AGREEMENT;
use crate::select::Collective;

/// So many collectives in a row are told apart by their tags; far more than can be in flight.
const COLLECTIVES: u32 = 1 << 30;
/// Nonblocking collectives have tags from here on.
const NONBLOCKING: u32 = COLLECTIVES;

/// Comparisons of what ranks are about to do have tags from here on.
const COMPARISON: u32 = 3 << 30;

/// The tag of the comparison of that number.
pub(crate) fn comparison_tag(number: u32) -> u32 {
    number | COMPARISON
}

/// The tag of the nonblocking collective of that number.
pub(crate) fn nonblocking_tag(number: u64) -> u32 {
    (number % u64::from(COLLECTIVES)) as u32 | NONBLOCKING
}

impl Communicator {
    /// Tells the watchers.
    pub(crate) fn begin(&self, call: Call, bytes: usize) {
        self.process().tell(self.told_as(call), Target::NONE, self.context() + context::COLLECTIVE, bytes);
    }

    /// Tells the watchers that the rank waits for what an earlier call has started: they may have heard of others
    /// since.
    pub(crate) fn tell_again(&self, call: Call) {
        self.process().tell(self.told_as(call), Target::NONE, self.context(), 0);
    }

    pub(crate) fn team(&self, tag: u32, waits: bool) -> Team<'_> {
        let (process, peers) = (self.process(), self.group().peers());
        let context = self.context() + context::COLLECTIVE;
        Team::new(process, (peers, self.rank()), [context, tag], waits, (self.slots(), self.nodes()))
    }

    /// The ranks of its group, to exchange messages that are of none of its collectives.
    pub(crate) fn apart_from_collectives(&self, tag: u32) -> Team<'_> {
        let context = self.context() + context::COLLECTIVE;
        Team::new(self.process(), (self.group().peers(), self.rank()), [context, tag], false, (None, None))
    }

    /// Does something that is a part of `call`: its collectives here are told as that.
    pub(crate) fn as_part_of<R>(&self, call: Call, part: impl FnOnce(&Self) -> R) -> R {
        let before = self.shared.told_as.replace(Some(call));
        let result = part(self);
        self.shared.told_as.set(before);
        result
    }

    /// What is told of a collective of that name.
    pub(crate) fn told_as(&self, call: Call) -> Call {
        self.shared.told_as.get().unwrap_or(call)
    }

    /// The ranks of its group, to do the blocking collective that begins now.
    ///
    /// # Errors
    /// As of [`Team::check_can_begin`].
    #[inline]
    pub(crate) fn next_team(&self) -> std::result::Result<Team<'_>, Failure> {
        let team = self.team(self.next_collective(), true);
        team.check_can_begin().map(|()| team)
    }

    /// The number of the collective that begins now: the same on all ranks, since all begin them in the same order.
    #[inline]
    pub(crate) fn next_collective(&self) -> u32 {
        let number = self.shared.collectives.get();
        self.shared.collectives.set((number + 1) % COLLECTIVES);
        number
    }

    /// As [`Communicator::next_collective`], of a nonblocking one. They are counted apart: a program may not begin one
    /// before a blocking collective on one rank and after it on another (MPI-5.0 section 6.12), but those that do work
    /// elsewhere.
    pub(crate) fn next_nonblocking_collective(&self) -> u64 {
        let number = self.nonblocking_collective_to_come();
        self.shared.nonblocking_collectives.set(number);
        number
    }

    /// What [`Communicator::next_nonblocking_collective`] will say next.
    pub(crate) fn nonblocking_collective_to_come(&self) -> u64 {
        self.shared.nonblocking_collectives.get() + 1
    }

    /// The number of the comparison that begins now: the same on all ranks, since all begin collectives of whatever
    /// form in the same order.
    pub(crate) fn next_comparison(&self) -> u32 {
        let number = self.shared.comparisons.get();
        self.shared.comparisons.set((number + 1) % COLLECTIVES);
        number
    }

    /// Whether what its ranks call is compared.
    #[inline]
    pub(crate) fn is_checked(&self) -> bool {
        self.shared.is_checked
    }

    /// The tag of the agreement that begins now: the same on all ranks, since all begin them in the same order.
    pub(crate) fn next_agreement(&self) -> u32 {
        let number = self.shared.agreements.get();
        self.shared.agreements.set((number + 1) % AGREEMENT);
        AGREEMENT | number
    }

    /// The slots of its ranks, if it has one group and they are known already, and have room for that collective.
    #[inline]
    pub(crate) fn slots_of_kind(&self, what: Collective) -> Option<&Slots> {
        let slots = self.shared.has_short_way.then_some(&self.shared.slots)?;
        slots.get()?.as_ref().filter(|slots| slots.limits().have_room_for(what))
    }

    /// The slots of its ranks, if it has one group.
    pub(crate) fn slots(&self) -> Option<&OnceSlots> {
        (!self.is_inter()).then_some(&self.shared.slots)
    }

    /// The slots of its ranks for nonblocking collectives, if it has one group.
    pub(crate) fn nonblocking_slots(&self) -> Option<&OnceSlots> {
        (!self.is_inter()).then_some(&self.shared.nonblocking_slots)
    }

    /// The same, if a collective can begin by them at once.
    #[inline]
    pub(crate) fn slots_to_start_on(&self) -> Option<&OnceSlots> {
        self.shared.has_short_start.then_some(&self.shared.nonblocking_slots)
    }

    /// The nodes of its ranks, if it has one group.
    pub(crate) fn nodes(&self) -> Option<&OnceNodes> {
        (!self.is_inter()).then_some(&self.shared.nodes)
    }
}
