//! The short way of the typed collectives: blocking ones, on values that travel as they lie and have room on shelves that the ranks have
//! already. No plan is made, whose state would be moved from call to call ([`super::plans`]). Those on elements of datatypes
//! ([`crate::untyped`]) go it too.
//!
//! Each is `None` if it is not the way for these arguments, or if something is wrong with them: then nothing has happened, and the plan goes on,
//! or says what is wrong.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::at_once;
use super::reduction::Elementwise;
use super::shelves::Shelved;
use super::team::{Team, Trouble};
use crate::activity::Call;
use crate::engine::Failure;
use crate::plain::{direct, direct_mut};
use crate::{Communicator, Datatype, Result};

type Outcome = std::result::Result<(), Failure>;

impl Communicator {
    pub(super) fn bcast_at_once<T: Datatype>(&self, data: &mut [T], root: usize) -> Option<Result<()>> {
        let data = WriteSpan::from(direct_mut(data)?);
        let collective = typed::<T>(|shelves, team| at_once::broadcast(shelves, team, data, root));
        self.shortly_to(root, Call::Broadcast, data.len(), data.len(), collective)
    }

    /// `data` is `None` where the root's contribution stands in `result`.
    pub(super) fn reduce_at_once<T: Datatype>(
        &self,
        data: Option<&[T]>,
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
        root: usize,
    ) -> Option<Result<()>> {
        let (data, place) = operands(data, result)?;
        if self.rank() == root && data.len() != place.len() {
            return None;
        }
        let op = Elementwise::new(op);
        let collective = typed::<T>(|shelves, team| {
            at_once::reduce(shelves, team, data, place, &op, root)?;
            op.outcome()
        });
        self.shortly_to(root, Call::Reduce, data.len(), data.len(), collective)
    }

    /// `data` is `None` where the contribution stands in `result`.
    pub(super) fn allreduce_at_once<T: Datatype>(
        &self,
        data: Option<&[T]>,
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Option<Result<()>> {
        let (data, place) = operands(data, result)?;
        if data.len() != place.len() {
            return None;
        }
        let op = Elementwise::new(op);
        let collective = typed::<T>(|shelves, team| {
            at_once::allreduce(shelves, team, data, place, &op)?;
            op.outcome()
        });
        self.shortly(Call::Allreduce, data.len(), data.len(), collective)
    }

    pub(super) fn gather_at_once<T: Datatype>(&self, part: &[T], all: &mut [T], root: usize) -> Option<Result<()>> {
        let (part, all) = (ReadSpan::from(direct(part)?), WriteSpan::from(direct_mut(all)?));
        let len = part.len();
        if self.rank() == root && all.len() != len * self.size() {
            return None;
        }
        let place = |rank| all.part(rank * len, len);
        let collective = typed::<T>(|shelves, team| at_once::gather(shelves, team, len, Some(part), place, root));
        self.shortly_to(root, Call::Gather, len, len, collective)
    }

    pub(super) fn allgather_at_once<T: Datatype>(&self, part: &[T], all: &mut [T]) -> Option<Result<()>> {
        let (part, all) = (ReadSpan::from(direct(part)?), WriteSpan::from(direct_mut(all)?));
        let len = part.len();
        if all.len() != len * self.size() {
            return None;
        }
        let shelved = at_once::allgather_bytes(all.len(), len);
        let place = |rank| all.part(rank * len, len);
        let collective = typed::<T>(|shelves, team| at_once::allgather(shelves, team, part, place));
        self.shortly(Call::Allgather, all.len(), shelved, collective)
    }

    pub(super) fn alltoall_at_once<T: Datatype>(&self, data: &[T], result: &mut [T]) -> Option<Result<()>> {
        let (data, result) = (ReadSpan::from(direct(data)?), WriteSpan::from(direct_mut(result)?));
        let len = data.len() / self.size();
        if data.len() != len * self.size() || result.len() != data.len() || !len.is_multiple_of(T::SIZE.max(1)) {
            return None;
        }
        let (sent, received) = (|rank| data.part(rank * len, len), |rank| result.part(rank * len, len));
        let shelved = at_once::alltoall_bytes(len, self.size());
        let collective = typed::<T>(|shelves, team| at_once::alltoall(shelves, team, sent, received));
        self.shortly(Call::Alltoall, data.len(), shelved, collective)
    }

    /// With a root, which there must be.
    #[inline(always)]
    pub(crate) fn shortly_to(
        &self,
        root: usize,
        call: Call,
        bytes: usize,
        shelved: usize,
        collective: impl FnOnce(Shelved<'_>, Team<'_>) -> Outcome,
    ) -> Option<Result<()>> {
        if root < self.size() { self.shortly(call, bytes, shelved, collective) } else { None }
    }

    /// Does it, if there is room for so many bytes on the shelves. There is no way back then.
    #[inline(always)]
    pub(crate) fn shortly(
        &self,
        call: Call,
        bytes: usize,
        shelved: usize,
        collective: impl FnOnce(Shelved<'_>, Team<'_>) -> Outcome,
    ) -> Option<Result<()>> {
        let shelves = self.shelves_for(shelved)?;
        self.begin(call, bytes);
        Some(collective(shelves.whole(), self.team(self.next_collective(), true)).map_err(self.failed(call)))
    }
}

/// The same of elements of that type: its team says so, and what goes wrong on one rank all learn.
#[inline(always)]
fn typed<T: Datatype>(
    collective: impl FnOnce(Shelved<'_>, Team<'_>) -> Outcome,
) -> impl FnOnce(Shelved<'_>, Team<'_>) -> Outcome {
    |shelves, team| {
        let trouble = Trouble::default();
        collective(shelves, Team { trouble: Some(&trouble), poisons: true, ..team.of::<T>() })?;
        trouble.outcome()
    }
}

/// What is combined, and where the result goes.
fn operands<'a, T: Datatype>(data: Option<&'a [T]>, result: &'a mut [T]) -> Option<(ReadSpan<'a>, WriteSpan<'a>)> {
    let place = WriteSpan::from(direct_mut(result)?);
    let data = match data {
        Some(data) => direct(data)?.into(),
        None => place.as_read(),
    };
    Some((data, place))
}
