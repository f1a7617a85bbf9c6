//! The short way of collectives of values that are their own messages, as numbers are: by slots with room for them
//! that the ranks have already, as the short collectives of buffers ([`super::short`]), no future is made. Those that
//! don't have it, and all other values, go as `values` says.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::at_once;
use super::combining::Combining;
use super::slots::{Shelved, Slots};
use super::team::{Team, Trouble};
use super::values::Values;
use crate::activity::Call;
use crate::engine::Failure;
use crate::message::Place;
use crate::select::Collective;
use crate::{Communicator, Message, Result};

impl Communicator {
    /// Slots with room for that collective of values, if these are their own messages.
    #[inline(always)]
    pub(super) fn slots_for_values<T: Message>(&self, what: Collective) -> Option<&Slots> {
        if T::FORM.is_itself() && size_of::<T>() > 0 { self.slots_for(what) } else { None }
    }

    pub(super) fn bcast_value_at_once<T: Message>(&self, slots: &Slots, value: T, root: usize) -> Result<T> {
        self.replaced(slots, Call::Broadcast, value, |slots, team, place| at_once::broadcast(slots, team, place, root))
    }

    pub(super) fn allreduce_value_at_once<T: Message>(
        &self,
        slots: &Slots,
        value: T,
        op: impl Fn(&T, &T) -> T,
    ) -> Result<T> {
        self.replaced(slots, Call::Allreduce, value, |slots, team, place| {
            let op = Combining::new(&op);
            at_once::allreduce(slots, team, place.as_read(), place, &op)?;
            op.outcome()
        })
    }

    pub(super) fn reduce_value_at_once<T: Message>(
        &self,
        slots: &Slots,
        value: T,
        op: impl Fn(&T, &T) -> T,
        root: usize,
    ) -> Result<Option<T>> {
        let reduced = self.replaced(slots, Call::Reduce, value, |slots, team, place| {
            let op = Combining::new(&op);
            at_once::reduce(slots, team, place.as_read(), place, &op, root)?;
            op.outcome()
        })?;
        Ok((self.rank() == root).then_some(reduced))
    }

    pub(super) fn gather_values_at_once<T: Message>(
        &self,
        slots: &Slots,
        value: &T,
        root: usize,
    ) -> Result<Option<Vec<T>>> {
        let (own, is_root) = (own::<T>(value), self.rank() == root);
        let gathered =
            self.filled(slots, Call::Gather, if is_root { self.size() } else { 0 }, |slots, team, all| {
                at_once::gather(slots, team, own.len(), Some(own), |rank| all.part(rank * own.len(), own.len()), root)
            })?;
        Ok(is_root.then_some(gathered))
    }

    pub(super) fn allgather_values_at_once<T: Message>(&self, slots: &Slots, value: &T) -> Result<Vec<T>> {
        let own = own::<T>(value);
        self.filled(slots, Call::Allgather, self.size(), |slots, team, all| {
            at_once::allgather(slots, team, own, |rank| all.part(rank * own.len(), own.len()))
        })
    }

    /// What a collective makes of a value, in its place.
    #[inline(always)]
    fn replaced<T: Message>(
        &self,
        slots: &Slots,
        call: Call,
        value: T,
        collective: impl FnOnce(Shelved<'_>, Team<'_>, WriteSpan<'_>) -> std::result::Result<(), Failure>,
    ) -> Result<T> {
        let place = Place::holding(value).map_err(|error| self.not_encoded::<T>(call, &error))?;
        self.written::<T, T>(slots, call, place, collective)
    }

    /// So many values, all of which a collective writes.
    #[inline(always)]
    fn filled<T: Message>(
        &self,
        slots: &Slots,
        call: Call,
        values: usize,
        collective: impl FnOnce(Shelved<'_>, Team<'_>, WriteSpan<'_>) -> std::result::Result<(), Failure>,
    ) -> Result<Vec<T>> {
        let len = values * size_of::<T>();
        let place = Place::<Vec<T>>::new(len).ok_or_else(|| self.no_room(len as u64))?;
        self.written::<T, Vec<T>>(slots, call, place, collective)
    }

    /// What a collective of values of type `T` has written to a place.
    #[inline(always)]
    fn written<T: Message, R: Message>(
        &self,
        slots: &Slots,
        call: Call,
        mut place: Place<R>,
        collective: impl FnOnce(Shelved<'_>, Team<'_>, WriteSpan<'_>) -> std::result::Result<(), Failure>,
    ) -> Result<R> {
        self.begin(call, place.len());
        let (trouble, team) = (Trouble::default(), self.team(self.next_collective(), true));
        let team = Team { trouble: Some(&trouble), poisons: true, mark: T::mark(), ..team };
        collective(slots.whole(), team, place.span()).map_err(self.failed(call))?;
        Values { communicator: self, call, team }.landed(place, None)
    }
}

/// The value's memory, which is its message.
#[inline(always)]
fn own<T: Message>(value: &T) -> ReadSpan<'_> {
    T::FORM.lend(value).unwrap_or_default().into()
}
