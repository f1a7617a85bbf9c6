//! The short way of C: collectives of one group on data that lie side by side, combined by predefined operations. They
//! are described as they are. No value is made of the arguments, which would have to be moved and dropped: for 8 bytes
//! that took longer than the data take from core to core (docs/decisions/0048).
//!
//! What is out of the ordinary, and so all that could be wrong, is `None`: then nothing has happened, and the long way
//! ([`super::arguments`]) deals with it, and says what it does not like.

use rwmpi_core::Result;
use rwmpi_core::datatype::Datatype;
use rwmpi_core::reduction::Arithmetic;
use rwmpi_core::untyped::collective::{
    Allgather, Allreduce, Alltoall, Barrier, Blocking, Broadcast, Consecutive, Form, Gather, Reduce, ReduceScatter,
    Scan, Scatter,
};
use rwmpi_core::untyped::{ReadSpan, Run, Runs, WriteSpan};

use super::arguments::{Call, Even, Varying};
use crate::argument::{Integers, Memory, c_int};
use crate::interface::Abi;
use crate::operation::predefined;

/// What has become of it, in that form, if it goes this way.
type Done<F> = Option<Result<<F as Form>::Done>>;

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

    /// A part, unless it is in place.
    #[inline]
    fn part_unless_in_place(&self, part: Even<A>) -> Option<Option<Runs>> {
        if Self::in_place(part.0) { Some(None) } else { self.runs(part).map(Some) }
    }

    /// Blocks of which each has a length of its own, by rank.
    fn listed(&self, (memory, counts, displacements, datatype): Varying<A>) -> Option<impl Fn(usize) -> Runs> {
        let elements = self.runs((memory, 1, datatype))?;
        let block = move |rank| elements.as_one(displacements.get(rank)?, counts.get(rank)?.try_into().ok()?);
        let are_there = !self.core().is_inter() && (0..self.core().size()).all(|rank| block(rank).is_some());
        are_there.then_some(move |rank| block(rank).unwrap_or(Runs::NONE))
    }

    /// The rank of the root, if there is one.
    #[inline(always)]
    fn rank_of(&self, root: c_int) -> Option<usize> {
        usize::try_from(root).ok().filter(|&root| root < self.core().size())
    }

    pub(super) fn short_barrier<F: Form>(&self, form: F) -> Done<F> {
        form.perform(self.core(), Barrier)
    }

    pub(super) fn short_broadcast<F: Form>(&self, form: F, data: Even<A>, root: c_int) -> Done<F> {
        let (data, root) = (self.runs(data)?.block(0), self.rank_of(root)?);
        form.perform(self.core(), Broadcast { data, root })
    }

    pub(super) fn short_reduce<F: Form>(
        &self,
        form: F,
        (given, count, datatype): Even<A>,
        result: Memory,
        op: A::Handle,
        root: c_int,
    ) -> Done<F> {
        let (operation, root) = (predefined::<A>(A::code(op))?, self.rank_of(root)?);
        let (run, datatype) = self.run(count, datatype)?;
        let op = operation.arithmetic_on(datatype)?;
        let (data, result) = match root == self.core().rank() {
            true if given == result => return None,
            true => (unless_in_place::<A>(given, run)?, result.runs_unless_special::<A>(run)?),
            false => (Some(given.runs_unless_special::<A>(run)?), Runs::NONE),
        };
        let (data, result) = (data.unwrap_or(result).read(), result.block(0));
        form.perform(self.core(), Reduce { data, result, op, root })
    }

    /// What all ranks give, which may be in place, and where the result goes; with the operation, and on what.
    #[inline(always)]
    fn operands(
        &self,
        (given, count, datatype): Even<A>,
        result: Memory,
        op: A::Handle,
    ) -> Option<(ReadSpan<'static>, WriteSpan<'static>, Arithmetic, &Datatype)> {
        if given == result {
            return None;
        }
        let operation = predefined::<A>(A::code(op))?;
        let (run, datatype) = self.run(count, datatype)?;
        let (given, result) = (unless_in_place::<A>(given, run)?, result.runs_unless_special::<A>(run)?);
        Some((given.unwrap_or(result).read(), result.block(0), operation.arithmetic_on(datatype)?, datatype))
    }

    pub(super) fn short_allreduce<F: Form>(&self, form: F, data: Even<A>, result: Memory, op: A::Handle) -> Done<F> {
        let (data, result, op, _) = self.operands(data, result, op)?;
        form.perform(self.core(), Allreduce { data, result, op })
    }

    pub(super) fn short_scan<F: Form>(
        &self,
        form: F,
        data: Even<A>,
        result: Memory,
        op: A::Handle,
        exclusive: bool,
    ) -> Done<F> {
        let (data, result, op, _) = self.operands(data, result, op)?;
        form.perform(self.core(), Scan { data, result, op, exclusive })
    }

    pub(super) fn short_reduce_scatter_block<F: Form>(
        &self,
        form: F,
        data: Memory,
        (result, count, datatype): Even<A>,
        op: A::Handle,
    ) -> Done<F> {
        let total = count.checked_mul(self.core().size() as i64)?;
        let (data, _, op, datatype) = self.operands((data, total, datatype), result, op)?;
        let result = result.runs(Run::of(count.try_into().ok()?, datatype)?).block(0);
        let len = result.len();
        form.perform(self.core(), ReduceScatter { data, result, op, place: move |rank| (rank * len, len) })
    }

    pub(super) fn short_reduce_scatter<F: Form>(
        &self,
        form: F,
        data: Memory,
        result: Memory,
        counts: Integers,
        datatype: A::Handle,
        op: A::Handle,
    ) -> Done<F> {
        let (me, size) = (self.core().rank(), self.core().size());
        let mut total = 0_i64;
        for rank in 0..size {
            total = total.checked_add(counts.get(rank).filter(|&count| count >= 0)?)?;
        }
        let (data, _, op, datatype) = self.operands((data, total, datatype), result, op)?;
        let result = result.runs(Run::of(counts.get(me)?.try_into().ok()?, datatype)?).block(0);
        let counts = (0..size).map(|rank| counts.get(rank).map_or(0, |count| count as usize));
        let parts = Consecutive::new(counts, datatype.size() as usize);
        form.perform(self.core(), ReduceScatter { data, result, op, place: move |rank| parts.place(rank) })
    }

    pub(super) fn short_allgather<F: Form>(&self, form: F, part: Even<A>, all: Even<A>) -> Done<F> {
        if part.0 == all.0 {
            return None;
        }
        let (part, all) = (self.part_unless_in_place(part)?, self.runs(all)?);
        let own = part.map_or(all.block(self.core().rank()).as_read(), Runs::read);
        if own.len() != all.block_len() {
            return None;
        }
        form.perform(self.core(), Allgather::even(own, move |rank| all.block(rank), self.core().size()))
    }

    /// What a rank gives the root or gets from it, unless that is in place at the root, whose blocks of all are there.
    #[inline(always)]
    fn own_part(&self, part: Even<A>, all: Memory, root: usize) -> Option<Option<Runs>> {
        match root == self.core().rank() {
            true if part.0 == all => None,
            true => self.part_unless_in_place(part),
            false => self.runs(part).map(Some),
        }
    }

    /// The same, and the blocks of all, which the root has: all equally long. With the length.
    #[inline(always)]
    fn rooted(&self, part: Even<A>, all: Even<A>, root: usize) -> Option<(Option<Runs>, Runs, usize)> {
        let own = self.own_part(part, all.0, root)?;
        let all = if root == self.core().rank() { Some(self.runs(all)?) } else { None };
        let len = all.or(own)?.block_len();
        own.is_none_or(|own| own.block_len() == len).then_some((own, all.unwrap_or(Runs::NONE), len))
    }

    /// The blocks of all, of any length, which the root has.
    fn listed_at(&self, root: usize, all: Varying<A>) -> Option<impl Fn(usize) -> Runs> {
        let all = if root == self.core().rank() { Some(self.listed(all)?) } else { None };
        Some(move |rank| all.as_ref().map_or(Runs::NONE, |all| all(rank)))
    }

    pub(super) fn short_gather<F: Form>(&self, form: F, part: Even<A>, all: Even<A>, root: c_int) -> Done<F> {
        let root = self.rank_of(root)?;
        let (part, all, len) = self.rooted(part, all, root)?;
        form.perform(self.core(), Gather::even(part.map(Runs::read), move |rank| all.block(rank), root, len))
    }

    pub(super) fn short_scatter<F: Form>(&self, form: F, all: Even<A>, part: Even<A>, root: c_int) -> Done<F> {
        let root = self.rank_of(root)?;
        let (part, all, _) = self.rooted(part, all, root)?;
        let part = part.map(|part| part.block(0));
        form.perform(self.core(), Scatter::new(move |rank| all.block(rank).as_read(), part, root, true))
    }

    pub(super) fn short_allgatherv(&self, form: Blocking, part: Even<A>, all: Varying<A>) -> Done<Blocking> {
        if part.0 == all.0 {
            return None;
        }
        let (part, all) = (self.part_unless_in_place(part)?, self.listed(all)?);
        let (me, place) = (self.core().rank(), |rank| all(rank).block(0));
        let own = part.map_or(place(me).as_read(), Runs::read);
        if own.len() != place(me).len() {
            return None;
        }
        form.wait(self.core(), Allgather::uneven(own, place, self.core().size()))
    }

    pub(super) fn short_gatherv(&self, form: Blocking, part: Even<A>, all: Varying<A>, root: c_int) -> Done<Blocking> {
        let root = self.rank_of(root)?;
        let own = self.own_part(part, all.0, root)?.map(Runs::read);
        let all = self.listed_at(root, all)?;
        form.wait(self.core(), Gather::uneven(own, |rank| all(rank).block(0), root))
    }

    pub(super) fn short_scatterv(&self, form: Blocking, all: Varying<A>, part: Even<A>, root: c_int) -> Done<Blocking> {
        let root = self.rank_of(root)?;
        let own = self.own_part(part, all.0, root)?.map(|part| part.block(0));
        let all = self.listed_at(root, all)?;
        form.wait(self.core(), Scatter::new(|rank| all(rank).read(), own, root, false))
    }

    pub(super) fn short_alltoallv(&self, form: Blocking, sent: Varying<A>, received: Varying<A>) -> Done<Blocking> {
        if sent.0 == received.0 {
            return None;
        }
        let (sent, received) = (self.listed(sent)?, self.listed(received)?);
        let (sent, received) = (|rank| sent(rank).read(), |rank| received(rank).block(0));
        form.wait(self.core(), Alltoall::uneven(sent, received, self.core().rank()))
    }

    pub(super) fn short_alltoall<F: Form>(&self, form: F, sent: Even<A>, received: Even<A>) -> Done<F> {
        if sent.0 == received.0 {
            return None;
        }
        let (sent, received) = (self.runs(sent)?, self.runs(received)?);
        let len = sent.block_len();
        if len != received.block_len() {
            return None;
        }
        let (sent, received) = (move |rank| sent.block(rank).as_read(), move |rank| received.block(rank));
        form.perform(self.core(), Alltoall::even(sent, received, len))
    }
}
