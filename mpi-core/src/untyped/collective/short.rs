//! The shortest way: blocking collectives of one group whose ranks have slots, on data that lie side by side and have
//! room there. No value is made of the arguments, which would have to be moved and dropped: for 8 bytes that took
//! longer than the data take from core to core. A scatter goes by messages, with or without slots
//! (docs/decisions/0026), and what has a count for each rank goes whichever way it has.
//!
//! Each is `None` if it is not the way for these arguments, or if something is wrong with them: then nothing has
//! happened, and the call is [`Communicator::collective`]'s to make.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Runs;
use super::form::Form;
use crate::activity::Call;
use crate::collective::{Shelved, Team, allgather, alltoall, at_once, gather, scatter};
use crate::datatype::Datatype;
use crate::engine::Failure;
use crate::reduction::Predefined;
use crate::select::Collective;
use crate::{Communicator, Result};

impl Communicator {
    /// MPI_Barrier.
    pub fn short_barrier<F: Form>(&self, form: F) -> Option<Result<F::Done>> {
        self.in_form(form, (Call::Barrier, 0), Collective::Barrier, |_| true, at_once::barrier)
    }

    /// MPI_Bcast.
    pub fn short_broadcast<F: Form>(&self, form: F, data: Runs, root: usize) -> Option<Result<F::Done>> {
        let data = data.block(0);
        if root >= self.size() {
            return None;
        }
        let broadcast = move |slots: Shelved<'_>, team: Team<'_>| at_once::broadcast(slots, team, data, root);
        let what = Collective::Broadcast { len: data.len() };
        self.in_form(form, (Call::Broadcast, data.len()), what, move |rank| rank == root, broadcast)
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
        let arithmetic = operation.arithmetic_on(datatype).filter(|_| root < self.size())?;
        let place = match result {
            Some(result) if root == self.rank() => result.block(0),
            _ => WriteSpan::EMPTY,
        };
        let data = data.map_or(place.as_read(), first_of);
        let is_root = root == self.rank();
        let reduce =
            move |slots: Shelved<'_>, team: Team<'_>| at_once::reduce(slots, team, data, place, &arithmetic, root);
        let what = Collective::Reduce { len: data.len() };
        self.in_form(form, (Call::Reduce, data.len()), what, move |_| is_root, reduce)
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
        let arithmetic = operation.arithmetic_on(datatype)?;
        let place = result.block(0);
        let data = data.map_or(place.as_read(), first_of);
        let allreduce =
            move |slots: Shelved<'_>, team: Team<'_>| at_once::allreduce(slots, team, data, place, &arithmetic);
        let what = Collective::Allreduce { len: data.len() };
        self.in_form(form, (Call::Allreduce, data.len()), what, |_| true, allreduce)
    }

    /// MPI_Allgather. Where `part` is `None`, it stands in its place.
    pub fn short_allgather<F: Form>(&self, form: F, part: Option<Runs>, all: Runs) -> Option<Result<F::Done>> {
        let own = part.map_or(all.block(self.rank()).as_read(), first_of);
        if own.len() != all.len() {
            return None;
        }
        let (size, len) = (self.size(), own.len());
        let what = Collective::Allgather { total: len.saturating_mul(size), longest: len };
        let place = move |rank| all.block(rank);
        let allgather = move |slots: Shelved<'_>, team: Team<'_>| at_once::allgather(slots, team, own, place);
        self.in_form(form, (Call::Allgather, own.len()), what, |_| true, allgather)
    }

    /// MPI_Gather. `all` has a meaning at the root only, where `part` is `None` if it stands in its place.
    pub fn short_gather<F: Form>(
        &self,
        form: F,
        part: Option<Runs>,
        all: Option<Runs>,
        root: usize,
    ) -> Option<Result<F::Done>> {
        let all = all.filter(|_| root == self.rank());
        let len = all.or(part)?.len();
        if root >= self.size() || part.is_some_and(|part| part.len() != len) {
            return None;
        }
        let is_root = root == self.rank();
        let place = move |rank| all.map_or(WriteSpan::EMPTY, |all| all.block(rank));
        let gather = move |slots: Shelved<'_>, team: Team<'_>| {
            at_once::gather(slots, team, len, part.map(first_of), place, root)
        };
        self.in_form(form, (Call::Gather, len), Collective::Gather { part: len }, move |_| is_root, gather)
    }

    /// MPI_Scatter. `all` has a meaning at the root only, where `part` is `None` if it stays in its place.
    pub fn short_scatter(&self, all: Option<Runs>, part: Option<Runs>, root: usize) -> Option<Result<()>> {
        let all = all.filter(|_| root == self.rank());
        let len = all.or(part)?.len();
        if !self.is_root_here(root) || part.is_some_and(|part| part.len() != len) {
            return None;
        }
        let place = |rank| all.map_or(ReadSpan::EMPTY, |all| all.block(rank).as_read());
        let team = self.team_of_messages(Call::Scatter, len);
        let done = self.process().block_on(|| scatter(team, place, part.map(|part| part.block(0)), root, true));
        Some(done.map_err(self.failed(Call::Scatter)))
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
        let arithmetic = operation.arithmetic_on(datatype)?;
        let place = result.block(0);
        let data = data.map_or(place.as_read(), first_of);
        let end = self.rank() + usize::from(!exclusive);
        let scan = move |slots: Shelved<'_>, team: Team<'_>| at_once::scan(slots, team, data, place, &arithmetic, end);
        let what = Collective::Scan { len: data.len() };
        self.in_form(form, (Call::Scan, data.len()), what, move |rank| rank < end, scan)
    }

    /// MPI_Reduce_scatter, of `data` of all ranks' parts; `before` elements of them come before this rank's.
    pub fn short_reduce_scatter<F: Form>(
        &self,
        form: F,
        data: Runs,
        before: usize,
        result: Runs,
        operation: Predefined,
        datatype: &Datatype,
    ) -> Option<Result<F::Done>> {
        let arithmetic = operation.arithmetic_on(datatype)?;
        let (data, place) = (first_of(data), result.block(0));
        let what = Collective::ReduceScatter { len: data.len() };
        let start = before * datatype.size() as usize;
        let reduce_scatter = move |slots: Shelved<'_>, team: Team<'_>| {
            at_once::reduce_scatter(slots, team, data, start, place, &arithmetic)
        };
        self.in_form(form, (Call::ReduceScatter, data.len()), what, |_| true, reduce_scatter)
    }

    /// MPI_Alltoall.
    pub fn short_alltoall<F: Form>(&self, form: F, sent: Runs, received: Runs) -> Option<Result<F::Done>> {
        if sent.len() != received.len() {
            return None;
        }
        let what = Collective::Alltoall { part: sent.len(), ranks: self.size() };
        let alltoall = move |slots: Shelved<'_>, team: Team<'_>| {
            at_once::alltoall(slots, team, |rank| sent.block(rank).as_read(), |rank| received.block(rank))
        };
        self.in_form(form, (Call::Alltoall, sent.len()), what, |_| true, alltoall)
    }

    /// MPI_Alltoallv, of any length. `sent` and `received` say what this rank gives each rank and gets from it.
    pub fn short_alltoallv(
        &self,
        sent: impl Fn(usize) -> Option<Runs>,
        received: impl Fn(usize) -> Option<Runs>,
    ) -> Option<Result<()>> {
        let (sent, received) = (|rank| place_of(sent(rank)).as_read(), |rank| place_of(received(rank)));
        self.by_parts(Call::Alltoall, sent(self.rank()).len(), async |team| alltoall(team, sent, received, false).await)
    }

    /// MPI_Allgatherv, of any length. `all` says where each rank's part goes; where `part` is `None`, it stands there.
    pub fn short_allgatherv(&self, part: Option<Runs>, all: impl Fn(usize) -> Option<Runs>) -> Option<Result<()>> {
        let place = |rank| place_of(all(rank));
        let own = part.map_or(place(self.rank()).as_read(), first_of);
        if own.len() != place(self.rank()).len() {
            return None;
        }
        self.by_parts(Call::Allgather, own.len(), async |team| allgather(team, own, place).await)
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
        let part = part.map(first_of);
        if !self.is_root_here(root) {
            return None;
        }
        self.by_parts(Call::Gather, part.map_or(0, |part| part.len()), async |team| {
            gather(team, part, place, root, false).await
        })
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
        if !self.is_root_here(root) {
            return None;
        }
        self.by_parts(Call::Scatter, part.map_or(0, |part| part.len()), async |team| {
            scatter(team, place, part, root, false).await
        })
    }

    fn by_parts(
        &self,
        call: Call,
        bytes: usize,
        run: impl AsyncFnOnce(Team<'_>) -> std::result::Result<(), Failure>,
    ) -> Option<Result<()>> {
        let team = self.team_of_messages(call, bytes);
        let done = self.process().block_on(|| run(team));
        Some(done.map_err(self.failed(call)))
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
