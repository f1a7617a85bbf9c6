//! The plans of the typed collectives: arguments checked, and which bytes go where.

use bytemuck::{cast_slice, cast_slice_mut};
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::allgather::allgather;
use super::alltoall::alltoall;
use super::barrier::barrier;
use super::broadcast::broadcast;
use super::gather::{gather, scatter};
use super::reduce::{allreduce, combine, reduce};
use super::reduction::Elementwise;
use super::scan::scan;
use super::scratch::Scratch;
use super::{Parts, Plan, Team};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Pod, Result};

fn read<T: Pod>(data: &[T]) -> ReadSpan<'_> {
    cast_slice::<T, u8>(data).into()
}

fn write<T: Pod>(data: &mut [T]) -> WriteSpan<'_> {
    cast_slice_mut::<T, u8>(data).into()
}

impl Communicator {
    fn check_root(&self, call: Call, root: usize) -> Result<()> {
        if root < self.size() {
            return Ok(());
        }
        let what = format!("root {root} is out of range; the ranks are 0 to {}", self.size() - 1);
        Err(Error::argument(ErrorClass::Root, self, call, what))
    }

    fn check_len(&self, call: Call, what: &str, len: usize, expected: usize) -> Result<()> {
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

    pub(super) fn plan_bcast<'a, T: Pod>(&self, data: &'a mut [T], root: usize) -> Result<impl Plan + use<'a, T>> {
        self.begin(Call::Broadcast, size_of_val(data));
        self.check_root(Call::Broadcast, root)?;
        let data = write(data);
        Ok(async move |team: Team<'_>| broadcast(team, data, root).await)
    }

    /// `data` is `None` where the root's contribution stands in `result`.
    pub(super) fn plan_reduce<'a, T: Pod, F: Fn(&T, &T) -> T>(
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
        let result = write(result);
        let data = data.map_or(result.as_read(), read);
        let op = Elementwise::new(op);
        Ok(async move |team: Team<'_>| reduce(team, data, result, &op, root).await)
    }

    /// `data` is `None` where the contribution stands in `result`.
    pub(super) fn plan_allreduce<'a, T: Pod, F: Fn(&T, &T) -> T>(
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
        let (result, op) = (write(result), Elementwise::new(op));
        let data = data.map_or(result.as_read(), read);
        Ok(async move |team: Team<'_>| allreduce(team, data, result, &op).await)
    }

    pub(super) fn plan_gather<'a, T: Pod>(
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
        let (part, all) = (read(part), write(all));
        let place = move |rank| all.part(rank * part.len(), part.len());
        Ok(async move |team: Team<'_>| gather(team, Some(part), place, root).await)
    }

    pub(super) fn plan_gatherv<'a, T: Pod>(
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
            places = parts.bytes(size_of::<T>());
        }
        let (part, all) = (read(part), write(all));
        let place = move |rank: usize| all.part(places[rank].0, places[rank].1);
        Ok(async move |team: Team<'_>| gather(team, Some(part), place, root).await)
    }

    pub(super) fn plan_scatter<'a, T: Pod>(
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
        let (all, part) = (read(all), write(part));
        let place = move |rank| all.part(rank * part.len(), part.len());
        Ok(async move |team: Team<'_>| scatter(team, place, Some(part), root).await)
    }

    pub(super) fn plan_scatterv<'a, T: Pod>(
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
            places = parts.bytes(size_of::<T>());
        }
        let (all, part) = (read(all), write(part));
        let place = move |rank: usize| all.part(places[rank].0, places[rank].1);
        Ok(async move |team: Team<'_>| scatter(team, place, Some(part), root).await)
    }

    /// `part` is `None` where it stands in its place already.
    pub(super) fn plan_allgather<'a, T: Pod>(
        &self,
        part: Option<&'a [T]>,
        all: &'a mut [T],
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        let len = part.map_or(all.len() / self.size(), <[T]>::len);
        self.check_len(call, "the result", all.len(), len * self.size())?;
        if let Some(part) = part {
            all[self.rank() * len..][..len].copy_from_slice(part);
        }
        let (all, len) = (write(all), len * size_of::<T>());
        Ok(async move |team: Team<'_>| allgather(team, |rank| all.part(rank * len, len)).await)
    }

    pub(super) fn plan_allgatherv<'a, T: Pod>(
        &self,
        part: &'a [T],
        all: &'a mut [T],
        parts: Parts<'_>,
    ) -> Result<impl Plan + use<'a, T>> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        parts.check_apart(self, call, all.len(), "the result")?;
        self.check_len(call, "the own part", part.len(), parts.counts[self.rank()])?;
        all[parts.starts[self.rank()]..][..part.len()].copy_from_slice(part);
        let (all, places) = (write(all), parts.bytes(size_of::<T>()));
        Ok(async move |team: Team<'_>| allgather(team, |rank| all.part(places[rank].0, places[rank].1)).await)
    }

    pub(super) fn plan_alltoall<'a, T: Pod>(
        &self,
        data: &'a [T],
        result: &'a mut [T],
    ) -> Result<impl Plan + use<'a, T>> {
        let (call, size) = (Call::Alltoall, self.size());
        self.begin(call, size_of_val(data));
        let part = data.len() / size;
        self.check_len(call, "the data", data.len(), part * size)?;
        self.check_len(call, "the result", result.len(), data.len())?;
        let (data, result, len) = (read(data), write(result), part * size_of::<T>());
        let sent = move |rank| data.part(rank * len, len);
        let received = move |rank| result.part(rank * len, len);
        Ok(async move |team: Team<'_>| alltoall(team, sent, received, true).await)
    }

    pub(super) fn plan_alltoallv<'a, T: Pod>(
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
        let (outgoing, incoming) = (sent.bytes(size_of::<T>()), received.bytes(size_of::<T>()));
        let (data, result) = (read(data), write(result));
        let sent = move |rank: usize| data.part(outgoing[rank].0, outgoing[rank].1);
        let received = move |rank: usize| result.part(incoming[rank].0, incoming[rank].1);
        Ok(async move |team: Team<'_>| alltoall(team, sent, received, false).await)
    }

    pub(super) fn plan_scan<'a, T: Pod, F: Fn(&T, &T) -> T>(
        &self,
        data: &'a mut [T],
        op: F,
    ) -> impl Plan + use<'a, T, F> {
        self.begin(Call::Scan, size_of_val(data));
        let (data, op) = (write(data), Elementwise::new(op));
        async move |team: Team<'_>| scan(team, data, None, &op).await
    }

    pub(super) fn plan_exscan<'a, T: Pod, F: Fn(&T, &T) -> T>(
        &self,
        data: &'a [T],
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        self.begin(Call::Scan, size_of_val(data));
        self.check_len(Call::Scan, "the result", result.len(), data.len())?;
        let (data, result, op) = (read(data), write(result), Elementwise::new(op));
        Ok(async move |team: Team<'_>| {
            let mut inclusive = Scratch::new(team, data.len());
            let inclusive = inclusive.span();
            data.copy_to(inclusive);
            scan(team, inclusive, Some(result), &op).await
        })
    }

    pub(super) fn plan_reduce_scatter<'a, T: Pod, F: Fn(&T, &T) -> T>(
        &self,
        data: &'a [T],
        counts: &[usize],
        result: &'a mut [T],
        op: F,
    ) -> Result<impl Plan + use<'a, T, F>> {
        let call = Call::ReduceScatter;
        self.begin(call, size_of_val(data));
        self.check_len(call, "the list of counts", counts.len(), self.size())?;
        self.check_len(call, "the data", data.len(), counts.iter().sum())?;
        self.check_len(call, "the result", result.len(), counts[self.rank()])?;
        let mut end = 0;
        let place = |&count: &usize| {
            end += count * size_of::<T>();
            (end - count * size_of::<T>(), count * size_of::<T>())
        };
        let places: Vec<(usize, usize)> = counts.iter().map(place).collect();
        let (data, result, op) = (read(data), write(result), Elementwise::new(op));
        let part = move |rank: usize| data.part(places[rank].0, places[rank].1);
        Ok(async move |team: Team<'_>| combine(team, part, result, &op).await)
    }
}
