//! The typed collectives of parts of even length, which have a short way: on values that travel as they lie and have
//! room by slots that the ranks have already, no plan is made, whose state would be moved from call to call
//! ([`super::plans`]). Elements of datatypes ([`crate::untyped`]) have it too.
//!
//! Whether it is the way is asked before anything happens, and before the buffers are given away. It is not if
//! something is wrong with the arguments: the plan says what.

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::at_once;
use super::form::Form;
use super::reduction::Elementwise;
use super::slots::{Shelved, Slots};
use super::team::{Team, Trouble};
use crate::activity::Call;
use crate::engine::Failure;
use crate::plain::Direct;
use crate::select::Collective;
use crate::{Communicator, Datatype, Result};

type Outcome = std::result::Result<(), Failure>;

impl Communicator {
    pub(super) fn barrier_in<'a, F: Form<'a>>(&self, form: F) -> Result<F::Done> {
        match form.way(self, Collective::Barrier) {
            Some(way) => form.go(self, way, (Call::Barrier, 0), |_| true, at_once::barrier),
            None => form.by_plan(self, Call::Barrier, self.plan_barrier()),
        }
    }

    pub(super) fn bcast_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::Broadcast, size_of_val(data));
        let what = Collective::Broadcast { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, root < self.size(), what) else {
            return form.by_plan(self, call, self.plan_bcast(data, root)?);
        };
        let data = WriteSpan::from(direct.bytes_mut(data));
        let collective = typed::<T>(move |slots, team| at_once::broadcast(slots, team, data, root));
        form.go(self, way, (call, bytes), move |rank| rank == root, collective)
    }

    /// `data` is `None` where the root's contribution stands in `result`.
    pub(super) fn reduce_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
        root: usize,
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::Reduce, data.map_or(size_of_val(result), size_of_val));
        let is_root = self.rank() == root;
        let fits = root < self.size() && (!is_root || bytes == size_of_val(result));
        let what = Collective::Reduce { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, what) else {
            return form.by_plan(self, call, self.plan_reduce(data, result, op, root)?);
        };
        let place = WriteSpan::from(direct.bytes_mut(result));
        let data = data.map_or(place.as_read(), |data| direct.bytes(data).into());
        let op = Elementwise::new(op);
        let collective = typed::<T>(move |slots, team| {
            at_once::reduce(slots, team, data, place, &op, root)?;
            op.outcome()
        });
        form.go(self, way, (call, bytes), move |_| is_root, collective)
    }

    /// `data` is `None` where the contribution stands in `result`.
    pub(super) fn allreduce_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::Allreduce, size_of_val(result));
        let fits = data.is_none_or(|data| size_of_val(data) == bytes);
        let what = Collective::Allreduce { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, what) else {
            return form.by_plan(self, call, self.plan_allreduce(data, result, op)?);
        };
        let place = WriteSpan::from(direct.bytes_mut(result));
        let data = data.map_or(place.as_read(), |data| direct.bytes(data).into());
        let op = Elementwise::new(op);
        let collective = typed::<T>(move |slots, team| {
            at_once::allreduce(slots, team, data, place, &op)?;
            op.outcome()
        });
        form.go(self, way, (call, bytes), |_| true, collective)
    }

    pub(super) fn gather_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: &'a [T],
        all: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        let (call, len, is_root) = (Call::Gather, size_of_val(part), self.rank() == root);
        let fits = root < self.size() && (!is_root || size_of_val(all) == len * self.size());
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, Collective::Gather { part: len }) else {
            return form.by_plan(self, call, self.plan_gather(part, all, root)?);
        };
        let (part, all) = (ReadSpan::from(direct.bytes(part)), WriteSpan::from(direct.bytes_mut(all)));
        let place = move |rank| all.part(rank * len, len);
        let collective = typed::<T>(move |slots, team| at_once::gather(slots, team, len, Some(part), place, root));
        form.go(self, way, (call, len), move |_| is_root, collective)
    }

    /// `part` is `None` where it stands in its place already.
    pub(super) fn allgather_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: Option<&'a [T]>,
        all: &'a mut [T],
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::Allgather, size_of_val(all));
        let len = part.map_or(all.len() / self.size() * size_of::<T>(), size_of_val);
        let what = Collective::Allgather { total: bytes, longest: len };
        let Some((way, direct)) = self.short_way::<T, F>(form, bytes == len * self.size(), what) else {
            return form.by_plan(self, call, self.plan_allgather(part, all)?);
        };
        let all = WriteSpan::from(direct.bytes_mut(all));
        let place = move |rank| all.part(rank * len, len);
        let part = part.map_or_else(|| place(self.rank()).as_read(), |part| direct.bytes(part).into());
        let collective = typed::<T>(move |slots, team| at_once::allgather(slots, team, part, place));
        form.go(self, way, (call, bytes), |_| true, collective)
    }

    pub(super) fn alltoall_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        result: &'a mut [T],
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::Alltoall, size_of_val(data));
        let len = data.len() / self.size() * size_of::<T>();
        let fits = bytes == len * self.size() && size_of_val(result) == bytes;
        let what = Collective::Alltoall { part: len, ranks: self.size() };
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, what) else {
            return form.by_plan(self, call, self.plan_alltoall(data, result)?);
        };
        let (data, result) = (ReadSpan::from(direct.bytes(data)), WriteSpan::from(direct.bytes_mut(result)));
        let (sent, received) = (move |rank| data.part(rank * len, len), move |rank| result.part(rank * len, len));
        let collective = typed::<T>(move |slots, team| at_once::alltoall(slots, team, sent, received));
        form.go(self, way, (call, bytes), |_| true, collective)
    }

    pub(super) fn scan_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let bytes = size_of_val(result);
        let fits = data.is_none_or(|data| size_of_val(data) == bytes);
        let what = Collective::Scan { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, what) else {
            return form.by_plan(self, Call::Scan, self.plan_scan(data, result, op)?);
        };
        let place = WriteSpan::from(direct.bytes_mut(result));
        let data = data.map_or(place.as_read(), |data| direct.bytes(data).into());
        self.scan_shortly::<T, F>(form, way, (data, place), op, self.rank() + 1)
    }

    pub(super) fn exscan_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let bytes = size_of_val(data);
        let what = Collective::Scan { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, size_of_val(result) == bytes, what) else {
            return form.by_plan(self, Call::Scan, self.plan_exscan(data, result, op)?);
        };
        let (data, place) = (direct.bytes(data).into(), direct.bytes_mut(result).into());
        self.scan_shortly::<T, F>(form, way, (data, place), op, self.rank())
    }

    /// Of the ranks before `end`.
    #[inline(always)]
    fn scan_shortly<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        way: F::Way<'_>,
        (data, place): (ReadSpan<'a>, WriteSpan<'a>),
        op: impl Fn(&T, &T) -> T + 'a,
        end: usize,
    ) -> Result<F::Done> {
        let op = Elementwise::new(op);
        let collective = typed::<T>(move |slots, team| {
            at_once::scan(slots, team, data, place, &op, end)?;
            op.outcome()
        });
        form.go(self, way, (Call::Scan, data.len()), move |rank| rank < end, collective)
    }

    pub(super) fn reduce_scatter_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        counts: &[usize],
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let (call, bytes) = (Call::ReduceScatter, size_of_val(data));
        let before = total(counts.get(..self.rank()).unwrap_or_default());
        let fits = counts.len() == self.size() && total(counts) == data.len() && counts[self.rank()] == result.len();
        let what = Collective::ReduceScatter { len: bytes };
        let Some((way, direct)) = self.short_way::<T, F>(form, fits, what) else {
            return form.by_plan(self, call, self.plan_reduce_scatter(data, counts, result, op)?);
        };
        let (data, place) = (ReadSpan::from(direct.bytes(data)), WriteSpan::from(direct.bytes_mut(result)));
        let start = before * size_of::<T>();
        let op = Elementwise::new(op);
        let collective = typed::<T>(move |slots, team| {
            at_once::reduce_scatter(slots, team, data, start, place, &op)?;
            op.outcome()
        });
        form.go(self, way, (call, bytes), |_| true, collective)
    }

    /// The short way of values that it is the way for, if the arguments fit each other.
    #[inline(always)]
    fn short_way<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        fits: bool,
        what: Collective,
    ) -> Option<(F::Way<'_>, Direct<T>)> {
        let direct = Direct::known().filter(|_| fits)?;
        Some((form.way(self, what)?, direct))
    }

    /// Does a collective by slots with room for it. There is no way back.
    #[inline(always)]
    pub(crate) fn complete_on_slots(
        &self,
        slots: &Slots,
        (call, bytes): (Call, usize),
        collective: impl FnOnce(Shelved<'_>, Team<'_>) -> Outcome,
    ) -> Result<()> {
        self.begin(call, bytes);
        collective(slots.whole(), self.team(self.next_collective(), true)).map_err(self.failed(call))
    }
}

/// The same of elements of that type: its team says so, and what goes wrong on one rank all learn.
#[inline(always)]
fn typed<T: Datatype>(
    collective: impl Fn(Shelved<'_>, Team<'_>) -> Outcome,
) -> impl Fn(Shelved<'_>, Team<'_>) -> Outcome {
    move |slots, team| {
        let trouble = Trouble::default();
        collective(slots, Team { trouble: Some(&trouble), poisons: true, ..team.of::<T>() })?;
        trouble.outcome()
    }
}

/// Of numbers of elements, which may be more than there can be.
pub(super) fn total(counts: &[usize]) -> usize {
    counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
}
