//! From the arguments of C to the core's short collectives: of calls whose datatypes and operations are predefined.
//!
//! What is out of the ordinary, and so all that could be wrong, is `None`: the long way ([`super::arguments`]) deals
//! with it, and says what it does not like.

use rwmpi_core::Result;
use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::Predefined;
use rwmpi_core::untyped::collective::Form;
use rwmpi_core::untyped::{Run, Runs};

use super::arguments::{Call, Even, Varying};
use crate::argument::{Integers, Memory, c_int};
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

    /// Blocks of which each has a length of its own, by rank.
    fn listed(&self, (memory, counts, displacements, datatype): Varying<A>) -> Option<impl Fn(usize) -> Option<Runs>> {
        let elements = self.runs((memory, 1, datatype))?;
        let block = move |rank| elements.as_one(displacements.get(rank)?, counts.get(rank)?.try_into().ok()?);
        (!self.core().is_inter() && (0..self.core().size()).all(|rank| block(rank).is_some())).then_some(block)
    }

    pub(super) fn short_barrier<F: Form>(&self, form: F) -> Option<Result<F::Done>> {
        self.core().short_barrier(form)
    }

    pub(super) fn short_broadcast<F: Form>(&self, form: F, data: Even<A>, root: c_int) -> Option<Result<F::Done>> {
        self.core().short_broadcast(form, self.runs(data)?, root.try_into().ok()?)
    }

    pub(super) fn short_reduce<F: Form>(
        &self,
        form: F,
        (given, count, datatype): Even<A>,
        result: Memory,
        op: A::Handle,
        root: c_int,
    ) -> Option<Result<F::Done>> {
        let (operation, root) = (predefined::<A>(A::code(op))?, usize::try_from(root).ok()?);
        let (run, datatype) = self.run(count, datatype)?;
        let (data, result) = match root == self.core().rank() {
            true if given == result => return None,
            true => (unless_in_place::<A>(given, run)?, Some(result.runs_unless_special::<A>(run)?)),
            false => (Some(given.runs_unless_special::<A>(run)?), None),
        };
        self.core().short_reduce(form, data, result, operation, datatype, root)
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

    pub(super) fn short_allreduce<F: Form>(
        &self,
        form: F,
        data: Even<A>,
        result: Memory,
        op: A::Handle,
    ) -> Option<Result<F::Done>> {
        let (data, result, operation, datatype) = self.operands(data, result, op)?;
        self.core().short_allreduce(form, data, result, operation, datatype)
    }

    pub(super) fn short_reduce_scatter_block<F: Form>(
        &self,
        form: F,
        data: Memory,
        (result, count, datatype): Even<A>,
        op: A::Handle,
    ) -> Option<Result<F::Done>> {
        let before = count.checked_mul(self.core().rank() as i64)?;
        let total = count.checked_mul(self.core().size() as i64)?;
        self.scatter_shortly(form, data, result, [before, count, total], datatype, op)
    }

    pub(super) fn short_reduce_scatter<F: Form>(
        &self,
        form: F,
        data: Memory,
        result: Memory,
        counts: Integers,
        datatype: A::Handle,
        op: A::Handle,
    ) -> Option<Result<F::Done>> {
        let (me, mut before, mut total) = (self.core().rank(), 0, 0_i64);
        for rank in 0..self.core().size() {
            if rank == me {
                before = total;
            }
            total = total.checked_add(counts.get(rank).filter(|&count| count >= 0)?)?;
        }
        self.scatter_shortly(form, data, result, [before, counts.get(me)?, total], datatype, op)
    }

    /// Reduces `total` elements, of which this rank gets `own`, so many `before` them.
    fn scatter_shortly<F: Form>(
        &self,
        form: F,
        data: Memory,
        result: Memory,
        [before, own, total]: [i64; 3],
        datatype: A::Handle,
        op: A::Handle,
    ) -> Option<Result<F::Done>> {
        let (data, all, operation, datatype) = self.operands((data, total, datatype), result, op)?;
        let place = result.runs(Run::of(own.try_into().ok()?, datatype)?);
        self.core().short_reduce_scatter(form, data.unwrap_or(all), before.try_into().ok()?, place, operation, datatype)
    }

    pub(super) fn short_scan<F: Form>(
        &self,
        form: F,
        data: Even<A>,
        result: Memory,
        op: A::Handle,
        exclusive: bool,
    ) -> Option<Result<F::Done>> {
        let (data, result, operation, datatype) = self.operands(data, result, op)?;
        self.core().short_scan(form, data, result, operation, datatype, exclusive)
    }

    pub(super) fn short_allgather<F: Form>(&self, form: F, part: Even<A>, all: Even<A>) -> Option<Result<F::Done>> {
        if part.0 == all.0 {
            return None;
        }
        let own = if Self::in_place(part.0) { None } else { Some(self.runs(part)?) };
        self.core().short_allgather(form, own, self.runs(all)?)
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

    pub(super) fn short_gather<F: Form>(
        &self,
        form: F,
        part: Even<A>,
        all: Even<A>,
        root: c_int,
    ) -> Option<Result<F::Done>> {
        let root = root.try_into().ok()?;
        let (part, all) = self.rooted(part, all, root)?;
        self.core().short_gather(form, part, all, root)
    }

    pub(super) fn short_scatter(&self, all: Even<A>, part: Even<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let (part, all) = self.rooted(part, all, root)?;
        self.core().short_scatter(all, part, root)
    }

    pub(super) fn short_allgatherv(&self, part: Even<A>, all: Varying<A>) -> Option<Result<()>> {
        if part.0 == all.0 {
            return None;
        }
        let own = if Self::in_place(part.0) { None } else { Some(self.runs(part)?) };
        self.core().short_allgatherv(own, self.listed(all)?)
    }

    pub(super) fn short_gatherv(&self, part: Even<A>, all: Varying<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let is_root = root == self.core().rank();
        let own = match is_root {
            true if part.0 == all.0 => return None,
            true if Self::in_place(part.0) => None,
            _ => Some(self.runs(part)?),
        };
        self.core().short_gatherv(own, if is_root { Some(self.listed(all)?) } else { None }, root)
    }

    pub(super) fn short_scatterv(&self, all: Varying<A>, part: Even<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let is_root = root == self.core().rank();
        let own = match is_root {
            true if part.0 == all.0 => return None,
            true if Self::in_place(part.0) => None,
            _ => Some(self.runs(part)?),
        };
        self.core().short_scatterv(if is_root { Some(self.listed(all)?) } else { None }, own, root)
    }

    pub(super) fn short_alltoallv(&self, sent: Varying<A>, received: Varying<A>) -> Option<Result<()>> {
        if sent.0 == received.0 {
            return None;
        }
        self.core().short_alltoallv(self.listed(sent)?, self.listed(received)?)
    }

    pub(super) fn short_alltoall<F: Form>(&self, form: F, sent: Even<A>, received: Even<A>) -> Option<Result<F::Done>> {
        if sent.0 == received.0 {
            return None;
        }
        self.core().short_alltoall(form, self.runs(sent)?, self.runs(received)?)
    }
}
