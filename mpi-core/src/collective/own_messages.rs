//! Collectives of values that are their own messages, as numbers are: they need no message of their length, and are
//! described where they lie, as buffers are ([`Described`]). What goes for all other values is in `values`.

use rwmpi_collective::{Allgather, Allreduce, Broadcast, Described, Gather, Reduce};
use rwmpi_transport::ReadSpan;

use super::combining::Combining;
use super::form::{Form, Waiting};
use crate::activity::Call;
use crate::message::Place;
use crate::{Communicator, Message, Result};

/// Whether values of that type are their own messages.
#[inline(always)]
pub(super) fn are_messages<T: Message>() -> bool {
    T::FORM.is_itself() && size_of::<T>() > 0
}

/// The value's memory, which is its message.
#[inline(always)]
fn own<T: Message>(value: &T) -> ReadSpan<'_> {
    T::FORM.lend(value).unwrap_or_default().into()
}

impl Communicator {
    #[inline(always)]
    pub(super) fn bcast_message<T: Message>(&self, value: T, root: usize) -> Result<T> {
        let mut place = self.holding(Call::Broadcast, value)?;
        self.perform_on_values::<T>(Broadcast { data: place.span(), root })?;
        self.held::<T, T>(Call::Broadcast, place)
    }

    #[inline(always)]
    pub(super) fn allreduce_message<T: Message>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        let mut place = self.holding(Call::Allreduce, value)?;
        let result = place.span();
        self.perform_on_values::<T>(Allreduce { data: result.as_read(), result, op: Combining::new(op) })?;
        self.held::<T, T>(Call::Allreduce, place)
    }

    #[inline(always)]
    pub(super) fn reduce_message<T: Message>(
        &self,
        value: T,
        op: impl Fn(&T, &T) -> T,
        root: usize,
    ) -> Result<Option<T>> {
        let mut place = self.holding(Call::Reduce, value)?;
        let result = place.span();
        self.perform_on_values::<T>(Reduce { data: result.as_read(), result, op: Combining::new(op), root })?;
        if self.rank() == root { self.held::<T, T>(Call::Reduce, place).map(Some) } else { Ok(None) }
    }

    #[inline(always)]
    pub(super) fn gather_messages<T: Message>(&self, value: &T, root: usize) -> Result<Option<Vec<T>>> {
        let (own, is_root) = (own(value), self.rank() == root);
        let mut place = self.room_for::<T>(if is_root { self.size() } else { 0 })?;
        let (all, len) = (place.span(), own.len());
        self.perform_on_values::<T>(Gather::even(Some(own), |rank| all.part(rank * len, len), root, len))?;
        if is_root { self.held::<T, _>(Call::Gather, place).map(Some) } else { Ok(None) }
    }

    #[inline(always)]
    pub(super) fn allgather_messages<T: Message>(&self, value: &T) -> Result<Vec<T>> {
        let (own, size) = (own(value), self.size());
        let mut place = self.room_for::<T>(size)?;
        let (all, len) = (place.span(), own.len());
        self.perform_on_values::<T>(Allgather::even(own, |rank| all.part(rank * len, len), size))?;
        self.held::<T, _>(Call::Allgather, place)
    }

    #[inline(always)]
    fn perform_on_values<T: Message>(&self, described: impl Described) -> Result<()> {
        Waiting.perform(self, Some(T::mark()), described)
    }

    /// A value, in a place where it can be replaced.
    #[inline(always)]
    fn holding<T: Message>(&self, call: Call, value: T) -> Result<Place<T>> {
        Place::holding(value).map_err(|error| self.not_encoded::<T>(call, &error))
    }

    /// Room for so many values.
    #[inline(always)]
    fn room_for<T: Message>(&self, values: usize) -> Result<Place<Vec<T>>> {
        let len = values * size_of::<T>();
        Place::new(len).ok_or_else(|| self.no_room(len as u64))
    }

    /// What a collective of values of type `T` has written to a place.
    #[inline(always)]
    fn held<T: Message, R: Message>(&self, call: Call, place: Place<R>) -> Result<R> {
        let len = place.len();
        place.value(len).map_err(|error| self.not_decoded::<T>(call, len, None, &error))
    }
}
