//! The nonblocking collectives of the typed API (MPI-5.0 section 6.12).
//!
//! A call starts its collective and returns; the collective moves on whenever this rank waits, tests or calls anything
//! else that waits. All ranks start the collectives of a communicator, blocking or not, in the same order, and a
//! nonblocking one on one rank is a nonblocking one on all. An operation that is given to a reduction must not call
//! MPI.

use super::Parts;
use crate::{Communicator, Datatype, Request, Result, Scope};

impl Communicator {
    /// As [`Communicator::barrier`]: the request completes when all have arrived (MPI_Ibarrier).
    #[doc = example!(3
        "rwmpi::scope(|s| world.ibarrier(s)?.wait())?;"
    )]
    #[doc(alias = "MPI_Ibarrier")]
    pub fn ibarrier<'scope>(&self, scope: &'scope Scope<'scope, '_>) -> Result<Request<'scope>> {
        self.barrier_in(scope)
    }

    /// As [`Communicator::bcast`] (MPI_Ibcast).
    #[doc = example!(3
        "let mut data = [rank; 2];"
        "rwmpi::scope(|s| world.ibcast(s, &mut data, 1)?.wait())?;"
        "assert_eq!(data, [1, 1]);"
    )]
    #[doc(alias = "MPI_Ibcast")]
    pub fn ibcast<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.bcast_in(scope, data, root)
    }

    /// As [`Communicator::reduce`] (MPI_Ireduce).
    #[doc = example!(3
        "let mut sum = [0];"
        "let own = [rank];"
        "rwmpi::scope(|s| world.ireduce(s, &own, &mut sum, op::sum, 0)?.wait())?;"
        "assert_eq!(sum[0], if rank == 0 { 3 } else { 0 });"
    )]
    #[doc(alias = "MPI_Ireduce")]
    pub fn ireduce<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.reduce_in(scope, Some(data), result, op, root)
    }

    /// As [`Communicator::reduce_in_place`].
    #[doc = example!(3
        "let mut data = [rank];"
        "rwmpi::scope(|s| world.ireduce_in_place(s, &mut data, op::max, 0)?.wait())?;"
        "assert_eq!(data[0], if rank == 0 { 2 } else { rank });"
    )]
    pub fn ireduce_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.reduce_in(scope, None, data, op, root)
    }

    /// As [`Communicator::allreduce`] (MPI_Iallreduce).
    #[doc = example!(3
        "let mut best = [0];"
        "let own = [rank];"
        "rwmpi::scope(|s| world.iallreduce(s, &own, &mut best, |a, b| *a.max(b))?.wait())?;"
        "assert_eq!(best, [2]);"
    )]
    #[doc(alias = "MPI_Iallreduce")]
    pub fn iallreduce<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.allreduce_in(scope, Some(data), result, op)
    }

    /// As [`Communicator::allreduce_in_place`].
    #[doc = example!(3
        "let mut data = [rank, 1];"
        "rwmpi::scope(|s| world.iallreduce_in_place(s, &mut data, op::sum)?.wait())?;"
        "assert_eq!(data, [3, 3]);"
    )]
    pub fn iallreduce_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.allreduce_in(scope, None, data, op)
    }

    /// As [`Communicator::gather`] (MPI_Igather).
    #[doc = example!(3
        "let mut all = vec![0; if rank == 0 { size } else { 0 }];"
        "let own = [rank];"
        "rwmpi::scope(|s| world.igather(s, &own, &mut all, 0)?.wait())?;"
        "assert!(all.into_iter().eq(0..if rank == 0 { size } else { 0 }));"
    )]
    #[doc(alias = "MPI_Igather")]
    pub fn igather<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.gather_in(scope, part, all, root)
    }

    /// As [`Communicator::gatherv`] (MPI_Igatherv).
    #[doc = example!(3
        "// Rank r has r elements."
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let (part, mut all) = (vec![rank; rank], [0; 3]);"
        "rwmpi::scope(|s| world.igatherv(s, &part, &mut all, parts, 0)?.wait())?;"
        "assert_eq!(all, if rank == 0 { [1, 2, 2] } else { [0; 3] });"
    )]
    #[doc(alias = "MPI_Igatherv")]
    pub fn igatherv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        parts: Parts<'_>,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.gatherv_in(scope, part, all, parts, root)
    }

    /// As [`Communicator::scatter`] (MPI_Iscatter).
    #[doc = example!(3
        "let mut part = [0];"
        "let own = [5, 6, 7];"
        "rwmpi::scope(|s| world.iscatter(s, &own, &mut part, 0)?.wait())?;"
        "assert_eq!(part, [5 + rank]);"
    )]
    #[doc(alias = "MPI_Iscatter")]
    pub fn iscatter<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope [T],
        part: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.scatter_in(scope, all, part, root)
    }

    /// As [`Communicator::scatterv`] (MPI_Iscatterv).
    #[doc = example!(3
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let mut part = vec![0; rank];"
        "rwmpi::scope(|s| world.iscatterv(s, &[7, 8, 8], parts, &mut part, 0)?.wait())?;"
        "assert_eq!(part, vec![6 + rank; rank]);"
    )]
    #[doc(alias = "MPI_Iscatterv")]
    pub fn iscatterv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope [T],
        parts: Parts<'_>,
        part: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.scatterv_in(scope, all, parts, part, root)
    }

    /// As [`Communicator::allgather`] (MPI_Iallgather).
    #[doc = example!(3
        "let mut all = [0; 3];"
        "let own = [rank];"
        "rwmpi::scope(|s| world.iallgather(s, &own, &mut all)?.wait())?;"
        "assert_eq!(all, [0, 1, 2]);"
    )]
    #[doc(alias = "MPI_Iallgather")]
    pub fn iallgather<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.allgather_in(scope, Some(part), all)
    }

    /// As [`Communicator::allgather_in_place`].
    #[doc = example!(3
        "let mut all = [9; 3];"
        "all[rank] = rank;"
        "rwmpi::scope(|s| world.iallgather_in_place(s, &mut all)?.wait())?;"
        "assert_eq!(all, [0, 1, 2]);"
    )]
    pub fn iallgather_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.allgather_in(scope, None, all)
    }

    /// As [`Communicator::allgatherv`] (MPI_Iallgatherv).
    #[doc = example!(3
        "let parts = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "let (part, mut all) = (vec![rank; rank], [0; 3]);"
        "rwmpi::scope(|s| world.iallgatherv(s, &part, &mut all, parts)?.wait())?;"
        "assert_eq!(all, [1, 2, 2]);"
    )]
    #[doc(alias = "MPI_Iallgatherv")]
    pub fn iallgatherv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        parts: Parts<'_>,
    ) -> Result<Request<'scope>> {
        self.allgatherv_in(scope, part, all, parts)
    }

    /// As [`Communicator::alltoall`] (MPI_Ialltoall).
    #[doc = example!(3
        "let mut heard = [0; 3];"
        "let own = [10 * rank, 10 * rank + 1, 10 * rank + 2];"
        "rwmpi::scope(|s| world.ialltoall(s, &own, &mut heard)?.wait())?;"
        "assert_eq!(heard, [rank, 10 + rank, 20 + rank]);"
    )]
    #[doc(alias = "MPI_Ialltoall")]
    pub fn ialltoall<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.alltoall_in(scope, data, result)
    }

    /// As [`Communicator::alltoallv`] (MPI_Ialltoallv).
    #[doc = example!(3
        "// Rank r sends each rank r elements."
        "let (data, mut heard) = (vec![rank; 3 * rank], [0; 3]);"
        "let sent = rwmpi::Parts { counts: &[rank; 3], starts: &[0, rank, 2 * rank] };"
        "let received = rwmpi::Parts { counts: &[0, 1, 2], starts: &[0, 0, 1] };"
        "rwmpi::scope(|s| world.ialltoallv(s, &data, sent, &mut heard, received)?.wait())?;"
        "assert_eq!(heard, [1, 2, 2]);"
    )]
    #[doc(alias = "MPI_Ialltoallv")]
    pub fn ialltoallv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        sent: Parts<'_>,
        result: &'scope mut [T],
        received: Parts<'_>,
    ) -> Result<Request<'scope>> {
        self.alltoallv_in(scope, (data, sent), (result, received))
    }

    /// As [`Communicator::scan`] (MPI_Iscan).
    #[doc = example!(3
        "let (own, mut up_to_me) = ([rank], [0]);"
        "rwmpi::scope(|s| world.iscan(s, &own, &mut up_to_me, op::sum)?.wait())?;"
        "assert_eq!(up_to_me, [(0..=rank).sum()]);"
    )]
    #[doc(alias = "MPI_Iscan")]
    pub fn iscan<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.scan_in(scope, Some(data), result, op, false)
    }

    /// As [`Communicator::scan_in_place`].
    #[doc = example!(3
        "let mut data = [rank];"
        "rwmpi::scope(|s| world.iscan_in_place(s, &mut data, op::sum)?.wait())?;"
        "assert_eq!(data, [(0..=rank).sum()]);"
    )]
    pub fn iscan_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.scan_in(scope, None, data, op, false)
    }

    /// As [`Communicator::exscan`] (MPI_Iexscan).
    #[doc = example!(3
        "let mut before = [0];"
        "let own = [rank];"
        "rwmpi::scope(|s| world.iexscan(s, &own, &mut before, op::sum)?.wait())?;"
        "assert_eq!(before, [(0..rank).sum()]);"
    )]
    #[doc(alias = "MPI_Iexscan")]
    pub fn iexscan<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.scan_in(scope, Some(data), result, op, true)
    }

    /// As [`Communicator::reduce_scatter`] (MPI_Ireduce_scatter).
    #[doc = example!(3
        "let mut part = vec![0; rank];"
        "let own = [1, 2, 3];"
        "rwmpi::scope(|s| world.ireduce_scatter(s, &own, &[0, 1, 2], &mut part, op::sum)?.wait())?;"
        "assert_eq!(part, [vec![], vec![3], vec![6, 9]][rank]);"
    )]
    #[doc(alias = "MPI_Ireduce_scatter")]
    pub fn ireduce_scatter<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        counts: &[usize],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.reduce_scatter_in(scope, data, counts, result, op)
    }

    /// As [`Communicator::reduce_scatter_block`] (MPI_Ireduce_scatter_block).
    #[doc = example!(3
        "let mut part = [0];"
        "let own = [1, 2, 3];"
        "rwmpi::scope(|s| world.ireduce_scatter_block(s, &own, &mut part, op::sum)?.wait())?;"
        "assert_eq!(part, [3 * (rank + 1)]);"
    )]
    #[doc(alias = "MPI_Ireduce_scatter_block")]
    pub fn ireduce_scatter_block<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.reduce_scatter_block_in(scope, data, result, op)
    }
}
