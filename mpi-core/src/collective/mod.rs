//! Collective communication (MPI-5.0 chapter 6). Every rank of the communicator makes the same call.
//!
//! The algorithms work on bytes; this file gives them types. Receives are posted before sends wherever there is a choice, so that
//! remote write serves them (MPI/MBCF thesis, section 3.2). Reductions combine in rank order, so an operation need only be
//! associative, and all ranks get the same bits.

mod allgather;
mod alltoall;
mod barrier;
mod broadcast;
mod gather;
mod reduce;
pub(crate) mod reduction;
mod scan;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::activity::{Call, Target};
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Pod, Result};
use reduction::Elementwise;

/// Tags in the collective context: they only tell programs that mix up their collectives from those that don't.
const TAG: i32 = 0;

/// The part of each rank in a buffer: counts and starts, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// How many elements each rank has.
    pub counts: &'a [usize],
    /// Where each rank's elements start.
    pub starts: &'a [usize],
}

impl Parts<'_> {
    fn check(&self, communicator: &Communicator, call: Call, len: usize, what: &str) -> Result<()> {
        let size = communicator.size();
        let refuse = |text| Err(Error::argument(ErrorClass::Count, communicator, call, text));
        if self.counts.len() != size || self.starts.len() != size {
            let (counts, starts) = (self.counts.len(), self.starts.len());
            return refuse(format!("{what} names {counts} counts and {starts} starts for {size} ranks"));
        }
        for (rank, (&count, &start)) in self.counts.iter().zip(self.starts).enumerate() {
            if start.checked_add(count).is_none_or(|end| end > len) {
                return refuse(format!(
                    "{what}: the part of rank {rank}, {count} elements from {start}, lies outside the buffer of {len}"
                ));
            }
        }
        Ok(())
    }

    /// In bytes, for elements of `size` bytes.
    fn ranges(&self, size: usize) -> Vec<std::ops::Range<usize>> {
        self.counts.iter().zip(self.starts).map(|(&count, &start)| start * size..(start + count) * size).collect()
    }
}

/// The ranges of `ranks` equal parts of `bytes` bytes each.
fn equal_ranges(ranks: usize, bytes: usize) -> Vec<std::ops::Range<usize>> {
    (0..ranks).map(|rank| rank * bytes..(rank + 1) * bytes).collect()
}

impl Communicator {
    fn begin(&self, call: Call, bytes: usize) {
        drop(self.process().enter(call, Target::NONE, self.context() + 1, bytes));
    }

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

    /// Returns when all have arrived (MPI_Barrier).
    pub fn barrier(&self) -> Result<()> {
        self.begin(Call::Barrier, 0);
        self.barrier_in_context()
    }

    /// `root`'s `data` to all (MPI_Bcast).
    pub fn bcast<T: Pod>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.begin(Call::Broadcast, size_of_val(data));
        self.check_root(Call::Broadcast, root)?;
        self.broadcast_bytes(cast_slice_mut(data), root)
    }

    /// `root`'s value to all.
    pub fn bcast_value<T: Pod>(&self, value: T, root: usize) -> Result<T> {
        let mut value = [value];
        self.bcast(&mut value, root)?;
        Ok(value[0])
    }

    /// Combines all `data`, element by element, into `root`'s `result`, which is ignored elsewhere and may be empty there
    /// (MPI_Reduce).
    pub fn reduce<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T, root: usize) -> Result<()> {
        let call = Call::Reduce;
        self.begin(call, size_of_val(data));
        self.check_root(call, root)?;
        if self.rank() == root {
            self.check_len(call, "the result", result.len(), data.len())?;
            result.copy_from_slice(data);
            return self.reduce_bytes(cast_slice_mut(result), &Elementwise::new(op), root);
        }
        let mut partial = data.to_vec();
        self.reduce_bytes(cast_slice_mut(&mut partial), &Elementwise::new(op), root)
    }

    /// As [`Communicator::reduce`], in place: `root`'s `data` is replaced by the result; elsewhere its contents are lost.
    pub fn reduce_in_place<T: Pod>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T, root: usize) -> Result<()> {
        self.begin(Call::Reduce, size_of_val(data));
        self.check_root(Call::Reduce, root)?;
        self.reduce_bytes(cast_slice_mut(data), &Elementwise::new(op), root)
    }

    /// As [`Communicator::reduce`], the result everywhere (MPI_Allreduce).
    pub fn allreduce<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.check_len(Call::Allreduce, "the result", result.len(), data.len())?;
        result.copy_from_slice(data);
        self.allreduce_in_place(result, op)
    }

    /// In place: `data` is replaced by the result.
    pub fn allreduce_in_place<T: Pod>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.begin(Call::Allreduce, size_of_val(data));
        self.allreduce_bytes(cast_slice_mut(data), &Elementwise::new(op))
    }

    /// One value.
    pub fn allreduce_value<T: Pod>(&self, value: T, op: impl Fn(&T, &T) -> T) -> Result<T> {
        let mut value = [value];
        self.allreduce_in_place(&mut value, op)?;
        Ok(value[0])
    }

    /// Equal parts of all ranks to `root`'s `all`, in rank order; `all` is ignored elsewhere and may be empty there (MPI_Gather).
    pub fn gather<T: Pod>(&self, part: &[T], all: &mut [T], root: usize) -> Result<()> {
        let (call, size) = (Call::Gather, self.size());
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            self.check_len(call, "the result", all.len(), part.len() * size)?;
        }
        self.gather_bytes(cast_slice(part), cast_slice_mut(all), &equal_ranges(size, size_of_val(part)), root)
    }

    /// As [`Communicator::gather`] with parts of any length, which `root` knows (MPI_Gatherv).
    pub fn gatherv<T: Pod>(&self, part: &[T], all: &mut [T], parts: Parts<'_>, root: usize) -> Result<()> {
        let call = Call::Gather;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            parts.check(self, call, all.len(), "the result")?;
            self.check_len(call, "the root's own part", part.len(), parts.counts[root])?;
        }
        self.gather_bytes(cast_slice(part), cast_slice_mut(all), &parts.ranges(size_of::<T>()), root)
    }

    /// Equal parts of `root`'s `all`, in rank order, to all; `all` is ignored elsewhere and may be empty there (MPI_Scatter).
    pub fn scatter<T: Pod>(&self, all: &[T], part: &mut [T], root: usize) -> Result<()> {
        let (call, size) = (Call::Scatter, self.size());
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            self.check_len(call, "the data", all.len(), part.len() * size)?;
        }
        let ranges = equal_ranges(size, size_of_val(part));
        self.scatter_bytes(cast_slice(all), cast_slice_mut(part), &ranges, root)
    }

    /// As [`Communicator::scatter`] with parts of any length, which `root` knows (MPI_Scatterv).
    pub fn scatterv<T: Pod>(&self, all: &[T], parts: Parts<'_>, part: &mut [T], root: usize) -> Result<()> {
        let call = Call::Scatter;
        self.begin(call, size_of_val(part));
        self.check_root(call, root)?;
        if self.rank() == root {
            parts.check(self, call, all.len(), "the data")?;
            self.check_len(call, "the root's own part", part.len(), parts.counts[root])?;
        }
        self.scatter_bytes(cast_slice(all), cast_slice_mut(part), &parts.ranges(size_of::<T>()), root)
    }

    /// Equal parts of all ranks to all, in rank order (MPI_Allgather).
    pub fn allgather<T: Pod>(&self, part: &[T], all: &mut [T]) -> Result<()> {
        let call = Call::Allgather;
        self.check_len(call, "the result", all.len(), part.len() * self.size())?;
        let start = self.rank() * part.len();
        all[start..start + part.len()].copy_from_slice(part);
        self.allgather_in_place(all)
    }

    /// As [`Communicator::allgather`], each rank's part standing in its place in `all` already.
    pub fn allgather_in_place<T: Pod>(&self, all: &mut [T]) -> Result<()> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        let part = all.len() / self.size();
        self.check_len(call, "the buffer", all.len(), part * self.size())?;
        self.allgather_bytes(cast_slice_mut(all), &equal_ranges(self.size(), part * size_of::<T>()))
    }

    /// As [`Communicator::allgather`] with parts of any length, which all know (MPI_Allgatherv).
    pub fn allgatherv<T: Pod>(&self, part: &[T], all: &mut [T], parts: Parts<'_>) -> Result<()> {
        let call = Call::Allgather;
        self.begin(call, size_of_val(all));
        parts.check(self, call, all.len(), "the result")?;
        self.check_len(call, "the own part", part.len(), parts.counts[self.rank()])?;
        let start = parts.starts[self.rank()];
        all[start..start + part.len()].copy_from_slice(part);
        self.allgather_bytes(cast_slice_mut(all), &parts.ranges(size_of::<T>()))
    }

    /// Part `i` of `data` to rank `i`; part `j` of `result` from rank `j`. All parts are equally long (MPI_Alltoall).
    pub fn alltoall<T: Pod>(&self, data: &[T], result: &mut [T]) -> Result<()> {
        let (call, size) = (Call::Alltoall, self.size());
        self.begin(call, size_of_val(data));
        let part = data.len() / size;
        self.check_len(call, "the data", data.len(), part * size)?;
        self.check_len(call, "the result", result.len(), data.len())?;
        let ranges = equal_ranges(size, part * size_of::<T>());
        self.alltoall_bytes(cast_slice(data), &ranges, cast_slice_mut(result), &ranges)
    }

    /// As [`Communicator::alltoall`] with parts of any length: `send_counts[i]` elements from `send_starts[i]` to rank `i`,
    /// `receive_counts[j]` elements from rank `j` to `receive_starts[j]` (MPI_Alltoallv). Parts of `result` must not overlap.
    pub fn alltoallv<T: Pod>(
        &self,
        data: &[T],
        send_counts: &[usize],
        send_starts: &[usize],
        result: &mut [T],
        receive_counts: &[usize],
        receive_starts: &[usize],
    ) -> Result<()> {
        let call = Call::Alltoall;
        self.begin(call, size_of_val(data));
        let sent = Parts { counts: send_counts, starts: send_starts };
        let received = Parts { counts: receive_counts, starts: receive_starts };
        sent.check(self, call, data.len(), "the data")?;
        received.check(self, call, result.len(), "the result")?;
        let me = self.rank();
        self.check_len(call, "the part to oneself", send_counts[me], receive_counts[me])?;
        let size = size_of::<T>();
        self.alltoall_bytes(cast_slice(data), &sent.ranges(size), cast_slice_mut(result), &received.ranges(size))
    }

    /// Combines `data` of the ranks up to this one (MPI_Scan). In place.
    pub fn scan<T: Pod>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.begin(Call::Scan, size_of_val(data));
        self.scan_bytes(cast_slice_mut(data), &Elementwise::new(op), None)
    }

    /// Combines `data` of the ranks before this one into `result`, which rank 0 gets back unchanged (MPI_Exscan).
    pub fn exscan<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.begin(Call::Scan, size_of_val(data));
        self.check_len(Call::Scan, "the result", result.len(), data.len())?;
        let mut inclusive = data.to_vec();
        let result = cast_slice_mut(result);
        self.scan_bytes(cast_slice_mut(&mut inclusive), &Elementwise::new(op), Some(result))
    }

    /// Combines all `data`; rank `i` gets the next `counts[i]` elements of the result (MPI_Reduce_scatter).
    pub fn reduce_scatter<T: Pod>(
        &self,
        data: &[T],
        counts: &[usize],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Result<()> {
        let call = Call::ReduceScatter;
        self.begin(call, size_of_val(data));
        self.check_len(call, "the list of counts", counts.len(), self.size())?;
        self.check_len(call, "the data", data.len(), counts.iter().sum())?;
        self.check_len(call, "the result", result.len(), counts[self.rank()])?;
        let starts: Vec<usize> =
            counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect();
        let ranges = Parts { counts, starts: &starts }.ranges(size_of::<T>());
        self.reduce_scatter_bytes(cast_slice(data), &ranges, cast_slice_mut(result), &Elementwise::new(op))
    }

    /// As [`Communicator::reduce_scatter`] with equal parts (MPI_Reduce_scatter_block).
    pub fn reduce_scatter_block<T: Pod>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        let counts = vec![result.len(); self.size()];
        self.reduce_scatter(data, &counts, result, op)
    }
}
