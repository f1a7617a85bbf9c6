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
        let total = count.checked_mul(self.core().size() as i64)?;
        let (data, all, operation, datatype) = self.operands((data, total, datatype), result, op)?;
        let place = result.runs(Run::of(count.try_into().ok()?, datatype)?);
        self.core().short_reduce_scatter_block(form, data.unwrap_or(all), place, operation, datatype)
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
        let (me, size) = (self.core().rank(), self.core().size());
        let mut total = 0_i64;
        for rank in 0..size {
            total = total.checked_add(counts.get(rank).filter(|&count| count >= 0)?)?;
        }
        let (data, all, operation, datatype) = self.operands((data, total, datatype), result, op)?;
        let place = result.runs(Run::of(counts.get(me)?.try_into().ok()?, datatype)?);
        let counts = (0..size).map(|rank| counts.get(rank).map_or(0, |count| count as usize));
        self.core().short_reduce_scatter(form, data.unwrap_or(all), counts, place, operation, datatype)
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

    /// What a rank gives the root or gets from it, unless that is in place at the root, whose blocks of all are there.
    #[inline(always)]
    fn own_part(&self, part: Even<A>, all: Memory, root: usize) -> Option<Option<Runs>> {
        match root == self.core().rank() {
            true if part.0 == all => None,
            true if Self::in_place(part.0) => Some(None),
            _ => self.runs(part).map(Some),
        }
    }

    /// The same, and the blocks of all, which the root has.
    fn rooted(&self, part: Even<A>, all: Even<A>, root: usize) -> Option<(Option<Runs>, Option<Runs>)> {
        let own = self.own_part(part, all.0, root)?;
        Some((own, if root == self.core().rank() { Some(self.runs(all)?) } else { None }))
    }

    /// The blocks of all, of any length, which the root has.
    fn listed_at(&self, root: usize, all: Varying<A>) -> Option<Option<impl Fn(usize) -> Option<Runs>>> {
        if root == self.core().rank() { self.listed(all).map(Some) } else { Some(None) }
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

    pub(super) fn short_scatter<F: Form>(
        &self,
        form: F,
        all: Even<A>,
        part: Even<A>,
        root: c_int,
    ) -> Option<Result<F::Done>> {
        let root = root.try_into().ok()?;
        let (part, all) = self.rooted(part, all, root)?;
        self.core().short_scatter(form, all, part, root)
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
        let own = self.own_part(part, all.0, root)?;
        self.core().short_gatherv(own, self.listed_at(root, all)?, root)
    }

    pub(super) fn short_scatterv(&self, all: Varying<A>, part: Even<A>, root: c_int) -> Option<Result<()>> {
        let root = root.try_into().ok()?;
        let own = self.own_part(part, all.0, root)?;
        self.core().short_scatterv(self.listed_at(root, all)?, own, root)
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
