//! Collective communication on the typed API (MPI-5.0 chapter 6). Every rank of the communicator makes the same call.

use crate::{Communicator, Pod, Result};

#[allow(unused_variables)]
impl Communicator {
    /// Returns when all have arrived.
    pub fn barrier(&self) -> Result<()> {
        todo!()
    }
    /// `root`'s `data` to all.
    pub fn bcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        todo!()
    }
    /// Combines all `data`, element by element, in rank order, into `root`'s `result` (ignored elsewhere, may be empty).
    pub fn reduce<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T, root: usize) -> Result<()> {
        todo!()
    }
    /// As [`Communicator::reduce`], the result everywhere.
    pub fn allreduce<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        todo!()
    }
    /// In place: `data` is replaced by the result.
    pub fn allreduce_in_place<T: Pod>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        todo!()
    }
    /// One value.
    pub fn allreduce_value<T: Pod>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        let mut value = [value];
        self.allreduce_in_place(&mut value, op)?;
        Ok(value[0])
    }
    /// Equal parts of all ranks to `root`, in rank order.
    pub fn gather<T: Pod>(&self, part: &[T], all: &mut [T], root: usize) -> Result<()> {
        todo!()
    }
    /// Equal parts of all ranks to all, in rank order.
    pub fn allgather<T: Pod>(&self, part: &[T], all: &mut [T]) -> Result<()> {
        todo!()
    }
    /// Part `i` of `data` to rank `i`; part `j` of `result` from rank `j`. All parts are equally long.
    pub fn alltoall<T: Pod>(&self, data: &[T], result: &mut [T]) -> Result<()> {
        todo!()
    }
    /// As [`Communicator::alltoall`] with parts of any length: `send_counts[i]` elements from `send_starts[i]` to rank `i`,
    /// `receive_counts[j]` elements from rank `j` to `receive_starts[j]`.
    #[allow(clippy::too_many_arguments)]
    pub fn alltoallv<T: Pod>(
        &self,
        data: &[T],
        send_counts: &[usize],
        send_starts: &[usize],
        result: &mut [T],
        receive_counts: &[usize],
        receive_starts: &[usize],
    ) -> Result<()> {
        todo!()
    }
}
