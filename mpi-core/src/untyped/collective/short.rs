//! The short way: collectives of one group on data that lie side by side, combined by predefined operations. They are
//! described as they are. No value is made of the arguments, which would have to be moved and dropped: for 8 bytes that
//! took longer than the data take from core to core (docs/decisions/0048).
//!
//! Each is `None` if it is not the way for these arguments, or if something is wrong with them: then nothing has
//! happened, and the call is [`Communicator::collective`]'s to make.

use rwmpi_collective::{
    Allgather, Allreduce, Alltoall, Barrier, Broadcast, Consecutive, Gather, Reduce, ReduceScatter, Scan, Scatter,
};
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Runs;
use super::form::Form;
use crate::datatype::Datatype;
use crate::reduction::Predefined;
use crate::{Communicator, Result};

impl Communicator {
    /// MPI_Barrier.
    pub fn short_barrier<F: Form>(&self, form: F) -> Option<Result<F::Done>> {
        self.in_form(form, Barrier)
    }

    /// MPI_Bcast.
    pub fn short_broadcast<F: Form>(&self, form: F, data: Runs, root: usize) -> Option<Result<F::Done>> {
        let data = data.block(0);
        if root < self.size() { self.in_form(form, Broadcast { data, root }) } else { None }
    }

    /// MPI_Reduce. Where `data` are `None`, they stand where the root's `result` goes, which has a meaning there only.
    pub fn short_reduce<F: Form>(
        &self,
        form: F,
        data: Option<Runs>,
        result: Option<Runs>,
        operation: Predefined,
        datatype: &Datatype,
        root: usize,
    ) -> Option<Result<F::Done>> {
        let op = operation.arithmetic_on(datatype).filter(|_| root < self.size())?;
        let result = match result {
            Some(result) if root == self.rank() => result.block(0),
            _ => WriteSpan::EMPTY,
        };
        let data = data.map_or(result.as_read(), first_of);
        self.in_form(form, Reduce { data, result, op, root })
    }

    /// MPI_Allreduce. Where `data` are `None`, they stand where the result goes.
    pub fn short_allreduce<F: Form>(
        &self,
        form: F,
        data: Option<Runs>,
        result: Runs,
        operation: Predefined,
        datatype: &Datatype,
    ) -> Option<Result<F::Done>> {
        let (op, result) = (operation.arithmetic_on(datatype)?, result.block(0));
        self.in_form(form, Allreduce { data: data.map_or(result.as_read(), first_of), result, op })
    }

    /// MPI_Allgather. Where `part` is `None`, it stands in its place.
    pub fn short_allgather<F: Form>(&self, form: F, part: Option<Runs>, all: Runs) -> Option<Result<F::Done>> {
        let own = part.map_or(all.block(self.rank()).as_read(), first_of);
        if own.len() != all.len() {
            return None;
        }
        self.in_form(form, Allgather::even(own, move |rank| all.block(rank), self.size()))
    }

    /// MPI_Gather. `all` has a meaning at the root only, where `part` is `None` if it stands in its place.
    pub fn short_gather<F: Form>(
        &self,
        form: F,
        part: Option<Runs>,
        all: Option<Runs>,
        root: usize,
    ) -> Option<Result<F::Done>> {
        let (all, len) = self.with_root(all, part, root)?;
        let place = move |rank| all.map_or(WriteSpan::EMPTY, |all| all.block(rank));
        self.in_form(form, Gather::even(part.map(first_of), place, root, len))
    }

    /// MPI_Scatter. `all` has a meaning at the root only, where `part` is `None` if it stays in its place.
    pub fn short_scatter<F: Form>(
        &self,
        form: F,
        all: Option<Runs>,
        part: Option<Runs>,
        root: usize,
    ) -> Option<Result<F::Done>> {
        let (all, _) = self.with_root(all, part, root)?;
        let place = move |rank| all.map_or(ReadSpan::EMPTY, |all| all.block(rank).as_read());
        self.in_form(form, Scatter::new(place, part.map(|part| part.block(0)), root, true))
    }

    /// What the root has of all, and how long a part is, if the own one is as long.
    #[inline(always)]
    fn with_root(&self, all: Option<Runs>, part: Option<Runs>, root: usize) -> Option<(Option<Runs>, usize)> {
        let all = all.filter(|_| root == self.rank());
        let len = all.or(part)?.len();
        let fits = root < self.size() && part.is_none_or(|part| part.len() == len);
        fits.then_some((all, len))
    }

    /// MPI_Scan, or MPI_Exscan, which is `exclusive`. Where `data` are `None`, they stand where the result goes.
    pub fn short_scan<F: Form>(
        &self,
        form: F,
        data: Option<Runs>,
        result: Runs,
        operation: Predefined,
        datatype: &Datatype,
        exclusive: bool,
    ) -> Option<Result<F::Done>> {
        let (op, result) = (operation.arithmetic_on(datatype)?, result.block(0));
        self.in_form(form, Scan { data: data.map_or(result.as_read(), first_of), result, op, exclusive })
    }

    /// MPI_Reduce_scatter, of `data` of all ranks' parts, which have so many elements each.
    pub fn short_reduce_scatter<F: Form>(
        &self,
        form: F,
        data: Runs,
        counts: impl Iterator<Item = usize>,
        result: Runs,
        operation: Predefined,
        datatype: &Datatype,
    ) -> Option<Result<F::Done>> {
        let (op, parts) = (operation.arithmetic_on(datatype)?, Consecutive::new(counts, datatype.size() as usize));
        let place = move |rank| parts.place(rank);
        self.in_form(form, ReduceScatter { data: first_of(data), result: result.block(0), op, place })
    }

    /// MPI_Reduce_scatter_block: all parts are as long as `result`.
    pub fn short_reduce_scatter_block<F: Form>(
        &self,
        form: F,
        data: Runs,
        result: Runs,
        operation: Predefined,
        datatype: &Datatype,
    ) -> Option<Result<F::Done>> {
        let (op, len) = (operation.arithmetic_on(datatype)?, result.len());
        let place = move |rank| (rank * len, len);
        self.in_form(form, ReduceScatter { data: first_of(data), result: result.block(0), op, place })
    }

    /// MPI_Alltoall.
    pub fn short_alltoall<F: Form>(&self, form: F, sent: Runs, received: Runs) -> Option<Result<F::Done>> {
        let len = sent.len();
        if len != received.len() {
            return None;
        }
        self.in_form(
            form,
            Alltoall::even(move |rank| sent.block(rank).as_read(), move |rank| received.block(rank), len),
        )
    }

    /// MPI_Alltoallv, of any length. `sent` and `received` say what this rank gives each rank and gets from it.
    pub fn short_alltoallv(
        &self,
        sent: impl Fn(usize) -> Option<Runs>,
        received: impl Fn(usize) -> Option<Runs>,
    ) -> Option<Result<()>> {
        let (sent, received) = (|rank| place_of(sent(rank)).as_read(), |rank| place_of(received(rank)));
        self.and_wait(Alltoall::uneven(sent, received, self.rank()))
    }

    /// MPI_Allgatherv, of any length. `all` says where each rank's part goes; where `part` is `None`, it stands there.
    pub fn short_allgatherv(&self, part: Option<Runs>, all: impl Fn(usize) -> Option<Runs>) -> Option<Result<()>> {
        let place = |rank| place_of(all(rank));
        let own = part.map_or(place(self.rank()).as_read(), first_of);
        if own.len() != place(self.rank()).len() {
            return None;
        }
        self.and_wait(Allgather::uneven(own, place, self.size()))
    }

    /// MPI_Gatherv, of any length. `all` says at the root where each rank's part goes; where `part` is `None`, it
    /// stands there.
    pub fn short_gatherv(
        &self,
        part: Option<Runs>,
        all: Option<impl Fn(usize) -> Option<Runs>>,
        root: usize,
    ) -> Option<Result<()>> {
        let place = |rank| all.as_ref().map_or(WriteSpan::EMPTY, |all| place_of(all(rank)));
        if root < self.size() { self.and_wait(Gather::uneven(part.map(first_of), place, root)) } else { None }
    }

    /// MPI_Scatterv, of any length. `all` says at the root where each rank's part is; where `part` is `None`, it stays
    /// there.
    pub fn short_scatterv(
        &self,
        all: Option<impl Fn(usize) -> Option<Runs>>,
        part: Option<Runs>,
        root: usize,
    ) -> Option<Result<()>> {
        let place = |rank| all.as_ref().map_or(ReadSpan::EMPTY, |all| place_of(all(rank)).as_read());
        let part = part.map(|part| part.block(0));
        if root < self.size() { self.and_wait(Scatter::new(place, part, root, false)) } else { None }
    }
}

#[inline]
fn place_of(runs: Option<Runs>) -> WriteSpan<'static> {
    runs.map_or(WriteSpan::EMPTY, |runs| runs.block(0))
}

#[inline]
fn first_of(runs: Runs) -> ReadSpan<'static> {
    runs.block(0).as_read()
}
