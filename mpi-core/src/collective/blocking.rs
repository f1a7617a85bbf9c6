//! The blocking collectives of the typed API.

use super::Parts;
use super::form::Waiting;
use crate::{Communicator, Datatype, Result};

impl Communicator {
    /// Returns when all have arrived (MPI_Barrier).
    #[doc = example!(3
        "world.barrier()?;"
    )]
    #[doc(alias = "MPI_Barrier")]
    pub fn barrier(&self) -> Result<()> {
        self.barrier_in(Waiting)
    }

    /// `root`'s `data` to all (MPI_Bcast).
    #[doc = example!(3
        "let mut data = [rank; 2];"
        "world.bcast(&mut data, 1)?;"
        "assert_eq!(data, [1, 1]);"
    )]
    #[doc(alias = "MPI_Bcast")]
    pub fn bcast<T: Datatype>(&self, data: &mut [T], root: usize) -> Result<()> {
        self.bcast_in(Waiting, data, root)
    }

    /// Combines all `data`, element by element, into `root`'s `result`, which is ignored elsewhere and may be empty
    /// there (MPI_Reduce).
    #[doc = example!(3
        "let mut sum = [0];"
        "world.reduce(&[rank], &mut sum, op::sum, 0)?;"
        "assert_eq!(sum[0], if rank == 0 { 3 } else { 0 });"
    )]
    #[doc(alias = "MPI_Reduce")]
    pub fn reduce<T: Datatype>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
        root: usize,
    ) -> Result<()> {
        self.reduce_in(Waiting, Some(data), result, op, root)
    }

    /// As [`Communicator::reduce`], in place: `root`'s `data` is replaced by the result; elsewhere it stays as it is.
    #[doc = example!(3
        "let mut data = [rank];"
        "world.reduce_in_place(&mut data, op::max, 0)?;"
        "assert_eq!(data[0], if rank == 0 { 2 } else { rank });"
    )]
    pub fn reduce_in_place<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T, root: usize) -> Result<()> {
        self.reduce_in(Waiting, None, data, op, root)
    }

    /// As [`Communicator::reduce`], the result everywhere (MPI_Allreduce).
    #[doc = example!(3
        "let mut best = [0];"
        "world.allreduce(&[rank], &mut best, |a, b| *a.max(b))?;"
        "assert_eq!(best, [2]);"
    )]
    #[doc(alias = "MPI_Allreduce")]
    pub fn allreduce<T: Datatype>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.allreduce_in(Waiting, Some(data), result, op)
    }

    /// In place: `data` is replaced by the result.
    #[doc = example!(3
        "let mut data = [rank, 1];"
        "world.allreduce_in_place(&mut data, op::sum)?;"
        "assert_eq!(data, [3, 3]);"
    )]
    pub fn allreduce_in_place<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.allreduce_in(Waiting, None, data, op)
    }

    /// Equal parts of all ranks to `root`'s `all`, in rank order; `all` is ignored elsewhere and may be empty there
    /// (MPI_Gather).
    #[doc = example!(3
        "let mut all = vec![0; if rank == 0 { size } else { 0 }];"
        "world.gather(&[rank], &mut all, 0)?;"
        "assert!(all.into_iter().eq(0..if rank == 0 { size } else { 0 }));"
    )]
    #[doc(alias = "MPI_Gather")]
    pub fn gather<T: Datatype>(&self, part: &[T], all: &mut [T], root: usize) -> Result<()> {
        self.gather_in(Waiting, part, all, root)
    }

    /// As [`Communicator::gather`] with parts of any length, which `root` knows (MPI_Gatherv). Elsewhere `parts` is
    /// ignored.
    #[doc = example!(3
        "// Rank r has r elements."
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let (part, mut all) = (vec![rank; rank], [0; 3]);"
        "world.gatherv(&part, &mut all, parts, 0)?;"
        "assert_eq!(all, if rank == 0 { [1, 2, 2] } else { [0; 3] });"
    )]
    #[doc(alias = "MPI_Gatherv")]
    pub fn gatherv<T: Datatype>(&self, part: &[T], all: &mut [T], parts: Parts<'_>, root: usize) -> Result<()> {
        self.gatherv_in(Waiting, part, all, parts, root)
    }

    /// Equal parts of `root`'s `all`, in rank order, to all; `all` is ignored elsewhere and may be empty there
    /// (MPI_Scatter).
    #[doc = example!(3
        "let mut part = [0];"
        "world.scatter(&[5, 6, 7], &mut part, 0)?;"
        "assert_eq!(part, [5 + rank]);"
    )]
    #[doc(alias = "MPI_Scatter")]
    pub fn scatter<T: Datatype>(&self, all: &[T], part: &mut [T], root: usize) -> Result<()> {
        self.scatter_in(Waiting, all, part, root)
    }

    /// As [`Communicator::scatter`] with parts of any length, which `root` knows (MPI_Scatterv). Elsewhere `parts` is
    /// ignored.
    #[doc = example!(3
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let mut part = vec![0; rank];"
        "world.scatterv(&[7, 8, 8], parts, &mut part, 0)?;"
        "assert_eq!(part, vec![6 + rank; rank]);"
    )]
    #[doc(alias = "MPI_Scatterv")]
    pub fn scatterv<T: Datatype>(&self, all: &[T], parts: Parts<'_>, part: &mut [T], root: usize) -> Result<()> {
        self.scatterv_in(Waiting, all, parts, part, root)
    }

    /// Equal parts of all ranks to all, in rank order (MPI_Allgather).
    #[doc = example!(3
        "let mut all = [0; 3];"
        "world.allgather(&[rank], &mut all)?;"
        "assert_eq!(all, [0, 1, 2]);"
    )]
    #[doc(alias = "MPI_Allgather")]
    pub fn allgather<T: Datatype>(&self, part: &[T], all: &mut [T]) -> Result<()> {
        self.allgather_in(Waiting, Some(part), all)
    }

    /// As [`Communicator::allgather`], each rank's part standing in its place in `all` already.
    #[doc = example!(3
        "let mut all = [9; 3];"
        "all[rank] = rank;"
        "world.allgather_in_place(&mut all)?;"
        "assert_eq!(all, [0, 1, 2]);"
    )]
    pub fn allgather_in_place<T: Datatype>(&self, all: &mut [T]) -> Result<()> {
        self.allgather_in(Waiting, None, all)
    }

    /// As [`Communicator::allgather`] with parts of any length, which all know (MPI_Allgatherv).
    #[doc = example!(3
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let (part, mut all) = (vec![rank; rank], [0; 3]);"
        "world.allgatherv(&part, &mut all, parts)?;"
        "assert_eq!(all, [1, 2, 2]);"
    )]
    #[doc(alias = "MPI_Allgatherv")]
    pub fn allgatherv<T: Datatype>(&self, part: &[T], all: &mut [T], parts: Parts<'_>) -> Result<()> {
        self.allgatherv_in(Waiting, part, all, parts)
    }

    /// Part `i` of `data` to rank `i`; part `j` of `result` from rank `j`. All parts are equally long (MPI_Alltoall).
    #[doc = example!(3
        "let mut heard = [0; 3];"
        "world.alltoall(&[10 * rank, 10 * rank + 1, 10 * rank + 2], &mut heard)?;"
        "assert_eq!(heard, [rank, 10 + rank, 20 + rank]);"
    )]
    #[doc(alias = "MPI_Alltoall")]
    pub fn alltoall<T: Datatype>(&self, data: &[T], result: &mut [T]) -> Result<()> {
        self.alltoall_in(Waiting, data, result)
    }

    /// As [`Communicator::alltoall`] with parts of any length: of `data`, `sent` is each rank's part; of `result`,
    /// `received` is where each rank's part goes (MPI_Alltoallv). Parts of `result` must not overlap.
    #[doc = example!(3
        "// Rank r sends each rank r elements."
        "let (data, mut heard) = (vec![rank; 3 * rank], [0; 3]);"
        "let sent = rwmpi::Parts { counts: &[rank; 3], starts: &[0, rank, 2 * rank] };"
        "let received = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "world.alltoallv(&data, sent, &mut heard, received)?;"
        "assert_eq!(heard, [1, 2, 2]);"
    )]
    #[doc(alias = "MPI_Alltoallv")]
    pub fn alltoallv<T: Datatype>(
        &self,
        data: &[T],
        sent: Parts<'_>,
        result: &mut [T],
        received: Parts<'_>,
    ) -> Result<()> {
        self.alltoallv_in(Waiting, (data, sent), (result, received))
    }

    /// Combines `data` of the ranks up to this one into `result` (MPI_Scan).
    #[doc = example!(3
        "let mut up_to_me = [0];"
        "world.scan(&[rank], &mut up_to_me, op::sum)?;"
        "assert_eq!(up_to_me, [(0..=rank).sum()]);"
    )]
    #[doc(alias = "MPI_Scan")]
    pub fn scan<T: Datatype>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.scan_in(Waiting, Some(data), result, op, false)
    }

    /// As [`Communicator::scan`], in place: `data` is replaced by the result.
    #[doc = example!(3
        "let mut data = [rank];"
        "world.scan_in_place(&mut data, op::sum)?;"
        "assert_eq!(data, [(0..=rank).sum()]);"
    )]
    pub fn scan_in_place<T: Datatype>(&self, data: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.scan_in(Waiting, None, data, op, false)
    }

    /// Combines `data` of the ranks before this one into `result`, which rank 0 gets back unchanged (MPI_Exscan).
    #[doc = example!(3
        "let mut before = [0];"
        "world.exscan(&[rank], &mut before, op::sum)?;"
        "assert_eq!(before, [(0..rank).sum()]);"
    )]
    #[doc(alias = "MPI_Exscan")]
    pub fn exscan<T: Datatype>(&self, data: &[T], result: &mut [T], op: impl Fn(&T, &T) -> T) -> Result<()> {
        self.scan_in(Waiting, Some(data), result, op, true)
    }

    /// Combines all `data`; rank `i` gets the next `counts[i]` elements of the result (MPI_Reduce_scatter).
    #[doc = example!(3
        "let mut part = vec![0; rank];"
        "world.reduce_scatter(&[1, 2, 3], &[0, 1, 2], &mut part, op::sum)?;"
        "assert_eq!(part, [vec![], vec![3], vec![6, 9]][rank]);"
    )]
    #[doc(alias = "MPI_Reduce_scatter")]
    pub fn reduce_scatter<T: Datatype>(
        &self,
        data: &[T],
        counts: &[usize],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Result<()> {
        self.reduce_scatter_in(Waiting, data, counts, result, op)
    }

    /// As [`Communicator::reduce_scatter`] with equal parts (MPI_Reduce_scatter_block).
    #[doc = example!(3
        "let mut part = [0];"
        "world.reduce_scatter_block(&[1, 2, 3], &mut part, op::sum)?;"
        "assert_eq!(part, [3 * (rank + 1)]);"
    )]
    #[doc(alias = "MPI_Reduce_scatter_block")]
    pub fn reduce_scatter_block<T: Datatype>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Fn(&T, &T) -> T,
    ) -> Result<()> {
        self.reduce_scatter_block_in(Waiting, data, result, op)
    }
}
