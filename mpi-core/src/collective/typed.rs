//! The collectives of the typed API, each stated once for all forms: what is wrong with its arguments, and what it is.
//!
//! Every one has at most one buffer of values to give and one for its result. Values of a type that travels as it lies
//! are described where they are, others where they are packed.

use rwmpi_collective::{
    Allgather, Allreduce, Alltoall, Barrier, Broadcast, Consecutive, Described, Gather, Reduce, ReduceScatter, Scan,
    Scatter,
};
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::Parts;
use super::elementwise::Elementwise;
use super::form::Form;
use super::packed::Packed;
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::plain::Direct;
use crate::{Communicator, Datatype, Mark, Result};

impl Communicator {
    /// The typed collectives are those within one group.
    pub(super) fn check_one_group(&self, call: Call) -> Result<()> {
        if !self.is_inter() {
            return Ok(());
        }
        let what = "an intercommunicator has two groups: merge them, or use the untyped collectives".to_string();
        Err(Error::argument(ErrorClass::Communicator, self, call, what))
    }

    #[inline(always)]
    pub(super) fn check_root(&self, call: Call, root: usize) -> Result<()> {
        if root < self.size() { Ok(()) } else { Err(self.no_such_root(call, root)) }
    }

    #[cold]
    fn no_such_root(&self, call: Call, root: usize) -> Error {
        let what = format!("root {root} is out of range; the ranks are 0 to {}", self.size() - 1);
        Error::argument(ErrorClass::Root, self, call, what)
    }

    #[inline(always)]
    pub(super) fn check_len(&self, call: Call, what: &str, len: usize, expected: usize) -> Result<()> {
        if len == expected { Ok(()) } else { Err(self.wrong_len(call, what, len, expected)) }
    }

    #[cold]
    fn wrong_len(&self, call: Call, what: &str, len: usize, expected: usize) -> Error {
        let text = format!("{what} has {len} elements where {expected} are needed");
        Error::argument(ErrorClass::Count, self, call, text)
    }

    pub(super) fn barrier_in<'a, F: Form<'a>>(&self, form: F) -> Result<F::Done> {
        form.perform(self, None, Barrier)
    }

    pub(super) fn bcast_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        self.check_root(Call::Broadcast, root)?;
        self.perform(form, None, data, |_, data| Broadcast { data, root })
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
        self.check_root(Call::Reduce, root)?;
        if self.rank() == root {
            self.check_result(Call::Reduce, data, result)?;
        }
        self.perform(form, data, result, |data, result| Reduce { data, result, op: Elementwise::new(op), root })
    }

    /// `data` is `None` where the contribution stands in `result`.
    pub(super) fn allreduce_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        self.check_result(Call::Allreduce, data, result)?;
        self.perform(form, data, result, |data, result| Allreduce { data, result, op: Elementwise::new(op) })
    }

    /// `data` is `None` where the contribution stands in `result`. `exclusive`: of the ranks before this one only.
    pub(super) fn scan_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
        exclusive: bool,
    ) -> Result<F::Done> {
        self.check_result(Call::Scan, data, result)?;
        self.perform(form, data, result, |data, result| Scan { data, result, op: Elementwise::new(op), exclusive })
    }

    /// Whether the result is as long as what is given, unless that is in place.
    #[inline(always)]
    fn check_result<T>(&self, call: Call, data: Option<&[T]>, result: &[T]) -> Result<()> {
        data.map_or(Ok(()), |data| self.check_len(call, "the result", result.len(), data.len()))
    }

    pub(super) fn reduce_scatter_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        counts: &[usize],
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let call = Call::ReduceScatter;
        self.check_len(call, "the list of counts", counts.len(), self.size())?;
        let total = counts.iter().fold(0, |sum: usize, &count| sum.saturating_add(count));
        self.check_len(call, "the data", data.len(), total)?;
        self.check_len(call, "the result", result.len(), counts[self.rank()])?;
        let (parts, op) = (Consecutive::new(counts.iter().copied(), T::SIZE), Elementwise::new(op));
        self.perform(form, Some(data), result, |data, result| ReduceScatter {
            data,
            result,
            op,
            place: move |rank| parts.place(rank),
        })
    }

    /// With equal parts.
    pub(super) fn reduce_scatter_block_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        result: &'a mut [T],
        op: impl Fn(&T, &T) -> T + 'a,
    ) -> Result<F::Done> {
        let total = self.size().saturating_mul(result.len());
        self.check_len(Call::ReduceScatter, "the data", data.len(), total)?;
        let op = Elementwise::new(op);
        self.perform(form, Some(data), result, |data, result| {
            let len = result.len();
            ReduceScatter { data, result, op, place: move |rank| (rank * len, len) }
        })
    }

    pub(super) fn gather_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: &'a [T],
        all: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        self.check_root(Call::Gather, root)?;
        if self.rank() == root {
            self.check_len(Call::Gather, "the result", all.len(), part.len() * self.size())?;
        }
        self.perform(form, Some(part), all, |part, all| {
            let len = part.len();
            Gather::even(Some(part), move |rank| all.part(rank * len, len), root, len)
        })
    }

    pub(super) fn gatherv_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: &'a [T],
        all: &'a mut [T],
        parts: Parts<'_>,
        root: usize,
    ) -> Result<F::Done> {
        self.check_root(Call::Gather, root)?;
        let mut places = Vec::new();
        if self.rank() == root {
            parts.check_apart(self, Call::Gather, all.len(), "the result")?;
            self.check_len(Call::Gather, "the root's own part", part.len(), parts.counts[root])?;
            places = parts.bytes(T::SIZE);
        }
        self.perform(form, Some(part), all, |part, all| {
            Gather::uneven(Some(part), move |rank| all.part(places[rank].0, places[rank].1), root)
        })
    }

    pub(super) fn scatter_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        all: &'a [T],
        part: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        self.check_root(Call::Scatter, root)?;
        if self.rank() == root {
            self.check_len(Call::Scatter, "the data", all.len(), part.len() * self.size())?;
        }
        self.perform(form, Some(all), part, |all, part| {
            let len = part.len();
            Scatter::new(move |rank| all.part(rank * len, len), Some(part), root, true)
        })
    }

    pub(super) fn scatterv_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        all: &'a [T],
        parts: Parts<'_>,
        part: &'a mut [T],
        root: usize,
    ) -> Result<F::Done> {
        self.check_root(Call::Scatter, root)?;
        let mut places = Vec::new();
        if self.rank() == root {
            parts.check(self, Call::Scatter, all.len(), "the data")?;
            self.check_len(Call::Scatter, "the root's own part", part.len(), parts.counts[root])?;
            places = parts.bytes(T::SIZE);
        }
        self.perform(form, Some(all), part, |all, part| {
            Scatter::new(move |rank| all.part(places[rank].0, places[rank].1), Some(part), root, false)
        })
    }

    /// `part` is `None` where it stands in its place already.
    pub(super) fn allgather_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: Option<&'a [T]>,
        all: &'a mut [T],
    ) -> Result<F::Done> {
        let (me, size, in_place) = (self.rank(), self.size(), part.is_none());
        let len = part.map_or(all.len() / size, <[T]>::len);
        self.check_len(Call::Allgather, "the result", all.len(), len * size)?;
        self.perform(form, part, all, |part, all| {
            let len = all.len() / size;
            let place = move |rank| all.part(rank * len, len);
            Allgather::even(if in_place { place(me).as_read() } else { part }, place, size)
        })
    }

    pub(super) fn allgatherv_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        part: &'a [T],
        all: &'a mut [T],
        parts: Parts<'_>,
    ) -> Result<F::Done> {
        parts.check_apart(self, Call::Allgather, all.len(), "the result")?;
        self.check_len(Call::Allgather, "the own part", part.len(), parts.counts[self.rank()])?;
        let (places, size) = (parts.bytes(T::SIZE), self.size());
        self.perform(form, Some(part), all, |part, all| {
            Allgather::uneven(part, move |rank| all.part(places[rank].0, places[rank].1), size)
        })
    }

    pub(super) fn alltoall_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        data: &'a [T],
        result: &'a mut [T],
    ) -> Result<F::Done> {
        let size = self.size();
        self.check_len(Call::Alltoall, "the data", data.len(), data.len() / size * size)?;
        self.check_len(Call::Alltoall, "the result", result.len(), data.len())?;
        self.perform(form, Some(data), result, |data, result| {
            let len = data.len() / size;
            Alltoall::even(move |rank| data.part(rank * len, len), move |rank| result.part(rank * len, len), len)
        })
    }

    pub(super) fn alltoallv_in<'a, T: Datatype, F: Form<'a>>(
        &self,
        form: F,
        (data, sent): (&'a [T], Parts<'_>),
        (result, received): (&'a mut [T], Parts<'_>),
    ) -> Result<F::Done> {
        let me = self.rank();
        sent.check(self, Call::Alltoall, data.len(), "the data")?;
        received.check_apart(self, Call::Alltoall, result.len(), "the result")?;
        self.check_len(Call::Alltoall, "the part to oneself", sent.counts[me], received.counts[me])?;
        let (outgoing, incoming) = (sent.bytes(T::SIZE), received.bytes(T::SIZE));
        self.perform(form, Some(data), result, |data, result| {
            let sent = move |rank: usize| data.part(outgoing[rank].0, outgoing[rank].1);
            let received = move |rank: usize| result.part(incoming[rank].0, incoming[rank].1);
            Alltoall::uneven(sent, received, me)
        })
    }

    /// Does or starts what `describe` makes of the bytes of values. Where `data` are `None`, they stand in `result`.
    #[inline(always)]
    fn perform<'a, T: Datatype, F: Form<'a>, D: Described + 'a>(
        &self,
        form: F,
        data: Option<&'a [T]>,
        result: &'a mut [T],
        describe: impl FnOnce(ReadSpan<'a>, WriteSpan<'a>) -> D,
    ) -> Result<F::Done> {
        let mark = Some(Mark::of(T::SIGNATURE));
        let Some(direct) = Direct::known() else {
            return form.perform(self, mark, Packed::new(data, result, describe));
        };
        let result = WriteSpan::from(direct.bytes_mut(result));
        let data = data.map_or(result.as_read(), |data| direct.bytes(data).into());
        form.perform(self, mark, describe(data, result))
    }
}
