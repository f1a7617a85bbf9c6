//! The blocking collectives of the typed API.

use super::Parts;
use crate::activity::Call;
use crate::{Communicator, Datatype, Result};

impl Communicator {
    /// Returns when all have arrived (MPI_Barrier).
    pub fn barrier(&self) -> Result<()> {
        self.complete(Call::Barrier, self.plan_barrier())
    }

    /// `root`'s `data` to all (MPI_Bcast).
    pub fn bcast<T: Datatype>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.complete(Call::Broadcast, self.plan_bcast(data, root)?)
    }

    /// Combines all `data`, element by element, into `root`'s `result`, which is ignored elsewhere and may be empty there
    /// (MPI_Reduce).
    pub fn reduce<T: Datatype>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
        root: usize,
    ) -> Result<()> {
        self.complete(Call::Reduce, self.plan_reduce(Some(data), result, op, root)?)
    }

    /// As [`Communicator::reduce`], in place: `root`'s `data` is replaced by the result; elsewhere it stays as it is.
    pub fn reduce_in_place<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T, root: usize) -> Result<()> {
        self.complete(Call::Reduce, self.plan_reduce(None, data, op, root)?)
    }

    /// As [`Communicator::reduce`], the result everywhere (MPI_Allreduce).
    pub fn allreduce<T: Datatype>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.complete(Call::Allreduce, self.plan_allreduce(Some(data), result, op)?)
    }

    /// In place: `data` is replaced by the result.
    pub fn allreduce_in_place<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.complete(Call::Allreduce, self.plan_allreduce(None, data, op)?)
    }

    /// Equal parts of all ranks to `root`'s `all`, in rank order; `all` is ignored elsewhere and may be empty there (MPI_Gather).
    pub fn gather<T: Datatype>(&self, part: &[T], all: &mut [T], root: usize) -> Result<()> {
        self.complete(Call::Gather, self.plan_gather(part, all, root)?)
    }

    /// As [`Communicator::gather`] with parts of any length, which `root` knows (MPI_Gatherv). Elsewhere `parts` is ignored.
    pub fn gatherv<T: Datatype>(&self, part: &[T], all: &mut [T], parts: Parts<'_>, root: usize) -> Result<()> {
        self.complete(Call::Gather, self.plan_gatherv(part, all, parts, root)?)
    }

    /// Equal parts of `root`'s `all`, in rank order, to all; `all` is ignored elsewhere and may be empty there (MPI_Scatter).
    pub fn scatter<T: Datatype>(&self, all: &[T], part: &mut [T], root: usize) -> Result<()> {
        self.complete(Call::Scatter, self.plan_scatter(all, part, root)?)
    }

    /// As [`Communicator::scatter`] with parts of any length, which `root` knows (MPI_Scatterv). Elsewhere `parts` is ignored.
    pub fn scatterv<T: Datatype>(&self, all: &[T], parts: Parts<'_>, part: &mut [T], root: usize) -> Result<()> {
        self.complete(Call::Scatter, self.plan_scatterv(all, parts, part, root)?)
    }

    /// Equal parts of all ranks to all, in rank order (MPI_Allgather).
    pub fn allgather<T: Datatype>(&self, part: &[T], all: &mut [T]) -> Result<()> {
        self.complete(Call::Allgather, self.plan_allgather(Some(part), all)?)
    }

    /// As [`Communicator::allgather`], each rank's part standing in its place in `all` already.
    pub fn allgather_in_place<T: Datatype>(&self, all: &mut [T]) -> Result<()> {
        self.complete(Call::Allgather, self.plan_allgather(None, all)?)
    }

    /// As [`Communicator::allgather`] with parts of any length, which all know (MPI_Allgatherv).
    pub fn allgatherv<T: Datatype>(&self, part: &[T], all: &mut [T], parts: Parts<'_>) -> Result<()> {
        self.complete(Call::Allgather, self.plan_allgatherv(part, all, parts)?)
    }

    /// Part `i` of `data` to rank `i`; part `j` of `result` from rank `j`. All parts are equally long (MPI_Alltoall).
    pub fn alltoall<T: Datatype>(&self, data: &[T], result: &mut [T]) -> Result<()> {
        self.complete(Call::Alltoall, self.plan_alltoall(data, result)?)
    }

    /// As [`Communicator::alltoall`] with parts of any length: `send_counts[i]` elements from `send_starts[i]` to rank `i`,
    /// `receive_counts[j]` elements from rank `j` to `receive_starts[j]` (MPI_Alltoallv). Parts of `result` must not overlap.
    pub fn alltoallv<T: Datatype>(
        &self,
        data: &[T],
        send_counts: &[usize],
        send_starts: &[usize],
        result: &mut [T],
        receive_counts: &[usize],
        receive_starts: &[usize],
    ) -> Result<()> {
        let sent = Parts { counts: send_counts, starts: send_starts };
        let received = Parts { counts: receive_counts, starts: receive_starts };
        self.complete(Call::Alltoall, self.plan_alltoallv(data, sent, result, received)?)
    }

    /// Combines `data` of the ranks up to this one (MPI_Scan). In place.
    pub fn scan<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.complete(Call::Scan, self.plan_scan(data, op))
    }

    /// Combines `data` of the ranks before this one into `result`, which rank 0 gets back unchanged (MPI_Exscan).
    pub fn exscan<T: Datatype>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.complete(Call::Scan, self.plan_exscan(data, result, op)?)
    }

    /// Combines all `data`; rank `i` gets the next `counts[i]` elements of the result (MPI_Reduce_scatter).
    pub fn reduce_scatter<T: Datatype>(
        &self,
        data: &[T],
        counts: &[usize],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Result<()> {
        self.complete(Call::ReduceScatter, self.plan_reduce_scatter(data, counts, result, op)?)
    }

    /// As [`Communicator::reduce_scatter`] with equal parts (MPI_Reduce_scatter_block).
    pub fn reduce_scatter_block<T: Datatype>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Result<()> {
        let counts = vec![result.len(); self.size()];
        self.reduce_scatter(data, &counts, result, op)
    }
}
