//! How communicators do what has been described: at once, where slots have room for it, or else by whatever way the
//! algorithm finds; and the same for those that are only started.

use rwmpi_collective::described::{passing, run};
use rwmpi_collective::{Described, Outcome, Slots, Team, Trouble, Typed};

use super::checking::CallForm;
use crate::communicator::nonblocking_tag;
use crate::engine::Failure;
use crate::{Communicator, Result};

/// The next nonblocking collective of a communicator can begin on these slots.
pub(crate) struct Turn<'a> {
    slots: &'a Slots,
    number: u64,
}

impl Communicator {
    /// The slots by which a collective goes whose caller waits, if they are known and have room.
    #[inline(always)]
    pub(crate) fn slots_for(&self, described: &impl Described) -> Option<&Slots> {
        self.slots_of_kind(described.kind(self.size())?)
    }

    /// Does a collective by slots with room for it, and waits. There is no way back.
    #[inline(always)]
    pub(crate) fn complete_on_slots<D: Described>(&self, slots: &Slots, typed: Typed, described: D) -> Result<()> {
        self.begin(D::CALL, described.bytes());
        // Without a closure, which would be a function of its own.
        let trouble = Trouble::default();
        let team = passing(self.team(self.next_collective(), true), typed, &trouble);
        let done = slots.complete(&team, &described);
        done.and_then(|()| described.finish()).and_then(|()| trouble.outcome()).map_err(self.failed(D::CALL))
    }

    /// Does a collective that does not go by slots, as far as is known, and waits.
    #[inline(never)]
    pub(crate) fn complete_otherwise<D: Described>(&self, typed: Typed, described: D) -> Result<()> {
        self.check_one_group(D::CALL)?;
        self.begin(D::CALL, described.bytes());
        let team = self.next_team().map_err(self.failed(D::CALL))?;
        self.compare_calls(CallForm::Blocking, || described.told()).map_err(self.failed(D::CALL))?;
        self.process().block_on(|| run(team, typed, described)).map_err(self.failed(D::CALL))
    }

    /// Starts one that does not go by slots at once: what is to be done as a task.
    pub(crate) fn start_otherwise<'a, D: Described + 'a>(
        &self,
        typed: Typed,
        described: D,
    ) -> Result<impl Future<Output = Outcome> + use<'a, D>> {
        self.check_one_group(D::CALL)?;
        self.begin(D::CALL, described.bytes());
        let to_compare = self.to_compare(CallForm::Nonblocking, || described.told());
        let collective = async move |_: &Communicator, team: Team<'_>| run(team, typed, described).await;
        Ok(self.next_nonblocking(to_compare, collective))
    }

    /// Whether the next nonblocking collective can begin by slots: they are known, and have room for it at once.
    /// Nothing has happened by then.
    #[inline]
    pub(crate) fn turn_on_slots(&self, described: &impl Described) -> Option<Turn<'_>> {
        let kind = described.kind(self.size())?;
        if self.size() == 1 {
            return self.slots_of_kind(kind).map(|slots| Turn { slots, number: 0 });
        }
        let slots = self.slots_to_start_on()?.get()?.as_ref().filter(|slots| slots.limits().have_room_for(kind))?;
        let number = self.nonblocking_collective_to_come();
        slots.has_turn(&self.team(nonblocking_tag(number), false), number, kind).then_some(Turn { slots, number })
    }

    /// Starts a collective whose turn it is. If others have not posted yet what it reads, that is to be done as a task.
    #[inline]
    pub(crate) fn start_on_slots<'a, D: Described + 'a>(
        &self,
        Turn { slots, number }: Turn<'_>,
        typed: Typed,
        described: D,
    ) -> std::result::Result<Option<impl Future<Output = Outcome> + use<'a, D>>, Failure> {
        self.begin(D::CALL, described.bytes());
        if self.size() > 1 {
            self.next_nonblocking_collective();
        }
        let started = slots.start(self.team(nonblocking_tag(number), false), number, typed, described)?;
        Ok(started.map(|described| {
            let communicator = self.clone();
            async move {
                let Some(slots) = communicator.nonblocking_slots().and_then(|slots| slots.get()?.as_ref()) else {
                    return Ok(());
                };
                slots.finish(communicator.team(nonblocking_tag(number), false), number, typed, described).await
            }
        }))
    }
}
