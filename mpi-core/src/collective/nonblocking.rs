//! The nonblocking collectives of the typed API (MPI-5.0 section 6.12).
//!
//! A call starts its collective and returns; the collective moves on whenever this rank waits, tests or calls anything else
//! that waits. All ranks start the collectives of a communicator, blocking or not, in the same order, and a nonblocking one on
//! one rank is a nonblocking one on all. An operation that is given to a reduction must not call MPI.

use super::Parts;
use crate::activity::Call;
use crate::{Communicator, Datatype, Request, Result, Scope};

impl Communicator {
    /// As [`Communicator::barrier`]: the request completes when all have arrived (MPI_Ibarrier).
    pub fn ibarrier<'scope>(&self, scope: &'scope Scope<'scope, '_>) -> Result<Request<'scope>> {
        self.start(scope, Call::Barrier, self.plan_barrier())
    }

    /// As [`Communicator::bcast`] (MPI_Ibcast).
    pub fn ibcast<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Broadcast, self.plan_bcast(data, root)?)
    }

    /// As [`Communicator::reduce`] (MPI_Ireduce).
    pub fn ireduce<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Reduce, self.plan_reduce(Some(data), result, op, root)?)
    }

    /// As [`Communicator::reduce_in_place`].
    pub fn ireduce_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Reduce, self.plan_reduce(None, data, op, root)?)
    }

    /// As [`Communicator::allreduce`] (MPI_Iallreduce).
    pub fn iallreduce<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Allreduce, self.plan_allreduce(Some(data), result, op)?)
    }

    /// As [`Communicator::allreduce_in_place`].
    pub fn iallreduce_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Allreduce, self.plan_allreduce(None, data, op)?)
    }

    /// As [`Communicator::gather`] (MPI_Igather).
    pub fn igather<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Gather, self.plan_gather(part, all, root)?)
    }

    /// As [`Communicator::gatherv`] (MPI_Igatherv).
    pub fn igatherv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        parts: Parts<'_>,
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Gather, self.plan_gatherv(part, all, parts, root)?)
    }

    /// As [`Communicator::scatter`] (MPI_Iscatter).
    pub fn iscatter<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope [T],
        part: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Scatter, self.plan_scatter(all, part, root)?)
    }

    /// As [`Communicator::scatterv`] (MPI_Iscatterv).
    pub fn iscatterv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope [T],
        parts: Parts<'_>,
        part: &'scope mut [T],
        root: usize,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Scatter, self.plan_scatterv(all, parts, part, root)?)
    }

    /// As [`Communicator::allgather`] (MPI_Iallgather).
    pub fn iallgather<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Allgather, self.plan_allgather(Some(part), all)?)
    }

    /// As [`Communicator::allgather_in_place`].
    pub fn iallgather_in_place<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        all: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Allgather, self.plan_allgather(None, all)?)
    }

    /// As [`Communicator::allgatherv`] (MPI_Iallgatherv).
    pub fn iallgatherv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        part: &'scope [T],
        all: &'scope mut [T],
        parts: Parts<'_>,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Allgather, self.plan_allgatherv(part, all, parts)?)
    }

    /// As [`Communicator::alltoall`] (MPI_Ialltoall).
    pub fn ialltoall<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Alltoall, self.plan_alltoall(data, result)?)
    }

    /// As [`Communicator::alltoallv`], counts and starts in pairs (MPI_Ialltoallv).
    pub fn ialltoallv<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        sent: Parts<'_>,
        result: &'scope mut [T],
        received: Parts<'_>,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Alltoall, self.plan_alltoallv(data, sent, result, received)?)
    }

    /// As [`Communicator::scan`] (MPI_Iscan).
    pub fn iscan<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Scan, self.plan_scan(data, op))
    }

    /// As [`Communicator::exscan`] (MPI_Iexscan).
    pub fn iexscan<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::Scan, self.plan_exscan(data, result, op)?)
    }

    /// As [`Communicator::reduce_scatter`] (MPI_Ireduce_scatter).
    pub fn ireduce_scatter<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        counts: &[usize],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        self.start(scope, Call::ReduceScatter, self.plan_reduce_scatter(data, counts, result, op)?)
    }

    /// As [`Communicator::reduce_scatter_block`] (MPI_Ireduce_scatter_block).
    pub fn ireduce_scatter_block<'scope, T: Datatype>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        data: &'scope [T],
        result: &'scope mut [T],
        op: impl Fn(&T, &T) -> T + 'scope,
    ) -> Result<Request<'scope>> {
        let counts = vec![result.len(); self.size()];
        self.ireduce_scatter(scope, data, &counts, result, op)
    }
}
