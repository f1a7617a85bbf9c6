//! The plans of the typed collectives: arguments checked, and which bytes go where.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::allgather;
use super::alltoall::alltoall;
use super::barrier::barrier;
use super::broadcast::broadcast;
use super::gather::{gather, scatter};
use super::reduce::{allreduce, reduce, reduce_scatter};
use super::reduction::Elementwise;
use super::scan::{exscan, scan};
use super::short::total;
use super::{Parts, Plan, Team};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::staged::{Incoming, Outgoing};
use crate::{Communicator, Datatype, Result};

impl Communicator {
    pub(super) fn check_root(&self, call: Call, root: usize) -> Result<()> {
        if root < self.size() {
            return Ok(());
        }
        let what = format!("root {root} is out of range; the ranks are 0 to {}", self.size() - 1);
        Err(Error::argument(ErrorClass::Root, self, call, what))
    }

    pub(super) fn check_len(&self, call: Call, what: &str, len: usize, expected: usize) -> Result<()> {
        if len == expected {
            return Ok(());
        }
        let text = format!("{what} has {len} elements where {expected} are needed");
        Err(Error::argument(ErrorClass::Count, self, call, text))
    }

    pub(super) fn plan_barrier(&self) -> impl Plan + use<> {
        self.begin(Call::Barrier, 0);
        async move |team: Team<'_>| barrier(team).await
    }

    pub(super) fn plan_bcast<'a, T: Datatype>(&self, data: &'a mut [T], root: usize) -> Result<impl Plan + use<'a, T>> {
        self.begin(Call::Broadcast, size_of_val(data));
        self.check_root(Call::Broadcast, root)?;
        let mut data = Incoming::with_values(data);
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            broadcast(team, data.bytes().into(), root).await?;
            data.finish()
        })
    }

    /// `data` is `None` where the root's contribution stands in `result`.
    pub(super) fn plan_reduce<'a, T: Datatype, F: Fn(&T, &T) -> T>(
        &self,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: F,
        root: usize,
    ) -> Result<impl Plan + use<'a, T, F>> {
        let call = Call::Reduce;
        self.begin(call, data.map_or(size_of_val(result), size_of_val));
        self.check_root(call, root)?;
        if self.rank() == root
            && let Some(data) = data
        {
            self.check_len(call, "the result", result.len(), data.len())?;
        }
        let (data, mut result) = (data.map(Outgoing::new), Incoming::with_values(result));
        let op = Elementwise::new(op);
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let into = WriteSpan::from(result.bytes());
            let data = data.as_ref().map_or(into.as_read(), |data| data.bytes().into());
            reduce(team, data, into, &op, root).await?;
            op.outcome()?;
            result.finish()
        })
    }

    /// `data` is `None` where the contribution stands in `result`.
    pub(super) fn plan_allreduce<'a, T: Datatype, F: Fn(&T, &T) -> T>(
        &self,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        let call = Call::Allreduce;
        self.begin(call, size_of_val(result));
        if let Some(data) = data {
            self.check_len(call, "the result", result.len(), data.len())?;
        }
        let own = data.map(Outgoing::new);
        let (mut result, op) = (Incoming::with_values(result), Elementwise::new(op));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let place = WriteSpan::from(result.bytes());
            let own = own.as_ref().map_or(place.as_read(), |own| own.bytes().into());
            allreduce(team, own, place, &op).await?;
            op.outcome()?;
            result.finish()
        })
    }

    pub(super) fn plan_gather<'a, T: Datatype>(
        &self,
        part: &'a [T],
        all: &'a mut [T],
        root: usize,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Gather;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            self.check_len(call, "the result", all.len(), part.len() * self.size())?;
        }
        let (part, mut all) = (Outgoing::new(part), Incoming::with_values(all));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let (part, into) = (ReadSpan::from(part.bytes()), WriteSpan::from(all.bytes()));
            gather(team, Some(part), |rank| into.part(rank * part.len(), part.len()), root, true).await?;
            all.finish()
        })
    }

    pub(super) fn plan_gatherv<'a, T: Datatype>(
        &self,
        part: &'a [T],
        all: &'a mut [T],
        parts: Parts<'_>,
        root: usize,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Gather;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        let mut places = Vec::new();
        if self.rank() == root {
            parts.check_apart(self, call, all.len(), "the result")?;
            self.check_len(call, "the root's own part", part.len(), parts.counts[root])?;
            places = parts.bytes(T::SIZE);
        }
        let (part, mut all) = (Outgoing::new(part), Incoming::with_values(all));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let into = WriteSpan::from(all.bytes());
            let place = |rank: usize| into.part(places[rank].0, places[rank].1);
            gather(team, Some(part.bytes().into()), place, root, false).await?;
            all.finish()
        })
    }

    pub(super) fn plan_scatter<'a, T: Datatype>(
        &self,
        all: &'a [T],
        part: &'a mut [T],
        root: usize,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Scatter;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            self.check_len(call, "the data", all.len(), part.len() * self.size())?;
        }
        let (all, mut part) = (Outgoing::new(all), Incoming::new(part));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let (all, into) = (ReadSpan::from(all.bytes()), WriteSpan::from(part.bytes()));
            scatter(team, |rank| all.part(rank * into.len(), into.len()), Some(into), root, true).await?;
            part.finish()
        })
    }

    pub(super) fn plan_scatterv<'a, T: Datatype>(
        &self,
        all: &'a [T],
        parts: Parts<'_>,
        part: &'a mut [T],
        root: usize,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Scatter;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        let mut places = Vec::new();
        if self.rank() == root {
            parts.check(self, call, all.len(), "the data")?;
            self.check_len(call, "the root's own part", part.len(), parts.counts[root])?;
            places = parts.bytes(T::SIZE);
        }
        let (all, mut part) = (Outgoing::new(all), Incoming::with_values(part));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let all = ReadSpan::from(all.bytes());
            let place = |rank: usize| all.part(places[rank].0, places[rank].1);
            scatter(team, place, Some(part.bytes().into()), root, false).await?;
            part.finish()
        })
    }

    /// `part` is `None` where it stands in its place already.
    pub(super) fn plan_allgather<'a, T: Datatype>(
        &self,
        part: Option<&'a [T]>,
        all: &'a mut [T],
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        let len = part.map_or(all.len() / self.size(), <[T]>::len);
        self.check_len(call, "the result", all.len(), len * self.size())?;
        let part = part.map(Outgoing::new);
        let (mut all, len) = (Incoming::with_values(all), len * T::SIZE);
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let into = WriteSpan::from(all.bytes());
            let place = |rank: usize| into.part(rank * len, len);
            let own = part.as_ref().map_or(place(team.rank).as_read(), |part| part.bytes().into());
            allgather(team, own, place).await?;
            all.finish()
        })
    }

    pub(super) fn plan_allgatherv<'a, T: Datatype>(
        &self,
        part: &'a [T],
        all: &'a mut [T],
        parts: Parts<'_>,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        parts.check_apart(self, call, all.len(), "the result")?;
        self.check_len(call, "the own part", part.len(), parts.counts[self.rank()])?;
        let (mut all, places) = (Incoming::with_values(all), parts.bytes(T::SIZE));
        let part = Outgoing::new(part);
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let into = WriteSpan::from(all.bytes());
            allgather(team, part.bytes().into(), |rank| into.part(places[rank].0, places[rank].1)).await?;
            all.finish()
        })
    }

    pub(super) fn plan_alltoall<'a, T: Datatype>(
        &self,
        data: &'a [T],
        result: &'a mut [T],
    ) -> Result<impl Plan + use<'a, T>> {
        let (call, size) = (Call::Alltoall, self.size());
        self.begin(call, size_of_val(data));
        let part = data.len() / size;
        self.check_len(call, "the data", data.len(), part * size)?;
        self.check_len(call, "the result", result.len(), data.len())?;
        let (data, mut result, len) = (Outgoing::new(data), Incoming::new(result), part * T::SIZE);
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let (data, into) = (ReadSpan::from(data.bytes()), WriteSpan::from(result.bytes()));
            alltoall(team, |rank| data.part(rank * len, len), |rank| into.part(rank * len, len), true).await?;
            result.finish()
        })
    }

    pub(super) fn plan_alltoallv<'a, T: Datatype>(
        &self,
        data: &'a [T],
        sent: Parts<'_>,
        result: &'a mut [T],
        received: Parts<'_>,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Alltoall;
        self.begin(call, size_of_val(data));
        sent.check(self, call, data.len(), "the data")?;
        received.check_apart(self, call, result.len(), "the result")?;
        let me = self.rank();
        self.check_len(call, "the part to oneself", sent.counts[me], received.counts[me])?;
        let (outgoing, incoming) = (sent.bytes(T::SIZE), received.bytes(T::SIZE));
        let (data, mut result) = (Outgoing::new(data), Incoming::with_values(result));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let (data, into) = (ReadSpan::from(data.bytes()), WriteSpan::from(result.bytes()));
            let sent = |rank: usize| data.part(outgoing[rank].0, outgoing[rank].1);
            let received = |rank: usize| into.part(incoming[rank].0, incoming[rank].1);
            alltoall(team, sent, received, false).await?;
            result.finish()
        })
    }

    pub(super) fn plan_scan<'a, T: Datatype, F: Fn(&T, &T) -> T>(
        &self,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        self.begin(Call::Scan, size_of_val(result));
        if let Some(data) = data {
            self.check_len(Call::Scan, "the result", result.len(), data.len())?;
        }
        let own = data.map(Outgoing::new);
        let (mut result, op) = (Incoming::with_values(result), Elementwise::new(op));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let place = WriteSpan::from(result.bytes());
            let own = own.as_ref().map_or(place.as_read(), |own| own.bytes().into());
            scan(team, own, place, &op).await?;
            op.outcome()?;
            result.finish()
        })
    }

    pub(super) fn plan_exscan<'a, T: Datatype, F: Fn(&T, &T) -> T>(
        &self,
        data: &'a [T],
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        self.begin(Call::Scan, size_of_val(data));
        self.check_len(Call::Scan, "the result", result.len(), data.len())?;
        let (data, mut result, op) = (Outgoing::new(data), Incoming::with_values(result), Elementwise::new(op));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            exscan(team, data.bytes().into(), result.bytes().into(), &op).await?;
            op.outcome()?;
            result.finish()
        })
    }

    pub(super) fn plan_reduce_scatter<'a, T: Datatype, F: Fn(&T, &T) -> T>(
        &self,
        data: &'a [T],
        counts: &[usize],
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        let call = Call::ReduceScatter;
        self.begin(call, size_of_val(data));
        self.check_len(call, "the list of counts", counts.len(), self.size())?;
        self.check_len(call, "the data", data.len(), total(counts))?;
        self.check_len(call, "the result", result.len(), counts[self.rank()])?;
        let mut end = 0;
        let place = |&count: &usize| {
            end += count * T::SIZE;
            (end - count * T::SIZE, count * T::SIZE)
        };
        let places: Vec<(usize, usize)> = counts.iter().map(place).collect();
        let (data, mut result, op) = (Outgoing::new(data), Incoming::new(result), Elementwise::new(op));
        Ok(async move |team: Team<'_>| {
            let team = team.of::<T>();
            let data = ReadSpan::from(data.bytes());
            reduce_scatter(team, data, |rank| places[rank], result.bytes().into(), &op).await?;
            op.outcome()?;
            result.finish()
        })
    }
}
