//! From the arguments of C to the core's short collectives: of calls whose datatypes and operations are predefined.
//!
//! What is out of the ordinary, and so all that could be wrong, is `None`: the long way ([`super::arguments`]) deals with it, and says what it
//! does not like.

use rwmpi_core::Result;
use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::Predefined;
use rwmpi_core::untyped::{Run, Runs};

use super::arguments::{Call, Even};
use crate::argument::{Memory, c_int};
use crate::interface::Abi;
use crate::operation::predefined;

/// Such elements there, which may be in place, if there can be any.
#[inline]
fn unless_in_place<A: Abi>(memory: Memory, run: Run) -> Option<Option<Runs>> {
    if memory.is(A::IN_PLACE) { Some(None) } else { memory.runs_unless_special::<A>(run).map(Some) }
}

impl<A: Abi> Call<A> {
    #[inline]
    fn run(&self, count: i64, datatype: A::Handle) -> Option<(Run, &Datatype)> {
        self.rank.run::<A>(count, datatype)
    }

    #[inline]
    fn runs(&self, (memory, count, datatype): Even<A>) -> Option<Runs> {
        self.rank.runs::<A>(memory, count, datatype)
    }

    pub(super) fn short_barrier(&self) -> Option<Result<()>> {
        self.core().short_barrier()
    }

    pub(super) fn short_broadcast(&self, data: Even<A>, root: c_int) -> Option<Result<()>> {
        self.core().short_broadcast(self.runs(data)?, root.try_into().ok()?)
    }

    pub(super) fn short_reduce(
        &self,
        (given, count, datatype): Even<A>,
        result: Memory,
        op: A::Handle,
        root: c_int,
    ) -> Option<Result<()>> {
        let (operation, root) = (predefined::<A>(A::code(op))?, usize::try_from(root).ok()?);
        let (run, datatype) = self.run(count, datatype)?;
        let (data, result) = match root == self.core().rank() {
            true if given == result => return None,
            true => (unless_in_place::<A>(given, run)?, Some(result.runs_unless_special::<A>(run)?)),
            false => (Some(given.runs_unless_special::<A>(run)?), None),
        };
        self.core().short_reduce(data, result, operation, datatype, root)
    }

    /// What all ranks give, unless that is in place, and where the result goes; with the operation, and on what.
    #[inline(always)]
    fn operands(
        &self,
        (given, count, datatype): Even<A>,
        result: Memory,
        op: A::Handle,
    ) -> Option<(Option<Runs>, Runs, Predefined, &Datatype)> {
        if given == result {
            return None;
        }
        let operation = predefined::<A>(A::code(op))?;
        let (run, datatype) = self.run(count, datatype)?;
        Some((unless_in_place::<A>(given, run)?, result.runs_unless_special::<A>(run)?, operation, datatype))
    }

    pub(super) fn short_allreduce(&self, data: Even<A>, result: Memory, op: A::Handle) -> Option<Result<()>> {
        let (data, result, operation, datatype) = self.operands(data, result, op)?;
        self.core().short_allreduce(data, result, operation, datatype)
    }

    pub(super) fn short_reduce_scatter_block(
        &self,
        data: Memory,
        (result, count, datatype): Even<A>,
        op: A::Handle,
    ) -> Option<Result<()>> {
        let (data, result, operation, datatype) = self.operands((data, count, datatype), result, op)?;
        self.core().short_reduce_scatter_block(data, result, operation, datatype)
    }

    pub(super) fn short_scan(
        &self,
        data: Even<A>,
        result: Memory,
        op: A::Handle,
        exclusive: bool,
    ) -> Option<Result<()>> {
        let (data, result, operation, datatype) = self.operands(data, result, op)?;
        self.core().short_scan(data, result, operation, datatype, exclusive)
    }

    pub(super) fn short_allgather(&self, part: Even<A>, all: Even<A>) -> Option<Result<()>> {
        if part.0 == all.0 {
            return None;
        }
        let own = if Self::in_place(part.0) { None } else { Some(self.runs(part)?) };
        self.core().short_allgather(own, self.runs(all)?)
    }

    /// What a rank gives the root or gets from it, unless that is in place, and the blocks of all, which the root has.
    fn rooted(&self, part: Even<A>, all: Even<A>, root: usize) -> Option<(Option<Runs>, Option<Runs>)> {
        let is_root = root == self.core().rank();
        let own = match is_root {
            true if part.0 == all.0 => return None,
            true if Self::in_place(part.0) => None,
            _ => Some(self.runs(part)?),
        };
        Some((own, if is_root { Some(self.runs(all)?) } else { None }))
    }

    pub(super) fn short_gather(&self, part: Even<A>, all: Even<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let (part, all) = self.rooted(part, all, root)?;
        self.core().short_gather(part, all, root)
    }

    pub(super) fn short_scatter(&self, all: Even<A>, part: Even<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let (part, all) = self.rooted(part, all, root)?;
        self.core().short_scatter(all, part, root)
    }

    pub(super) fn short_alltoall(&self, sent: Even<A>, received: Even<A>) -> Option<Result<()>> {
        if sent.0 == received.0 {
            return None;
        }
        self.core().short_alltoall(self.runs(sent)?, self.runs(received)?)
    }
}
