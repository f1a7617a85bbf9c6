//! Collective communication (MPI-5.0 chapter 6), and that among neighbours (sections 8.6 to 8.8), in three forms each
//! (`form`). What their arguments say is the same in all forms (`arguments`).

mod arguments;
mod form;
pub mod neighbour;
mod short;

use form::collectives;

use crate::argument::{Array, Integers, Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;

collectives! {
    nonblocking: "6.12", persistent: "6.13";

    /// MPI_Barrier: no rank leaves it before all have come (MPI-5.0 section 6.3).
    pub fn barrier, ibarrier, barrier_init<A: Abi>() { barrier, if short: short_barrier; }

    /// MPI_Bcast: all get what the root has (MPI-5.0 section 6.4).
    pub fn bcast, ibcast, bcast_init<A: Abi>(buffer: Memory, count: i64, datatype: A::Handle, root: c_int) {
        broadcast, if short: short_broadcast; (buffer, count, datatype), root
    }

    /// MPI_Gather: the root gets a block from each (MPI-5.0 section 6.5).
    pub fn gather, igather, gather_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
        root: c_int,
    ) {
        gather, if short: short_gather; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root
    }

    /// MPI_Gatherv: the root gets a block of any size from each (MPI-5.0 section 6.5).
    pub fn gatherv, igatherv, gatherv_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcounts: Integers, displs: Integers, recvtype: A::Handle,
        root: c_int,
    ) {
        gatherv, if blocking: short_gatherv; (sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root
    }

    /// MPI_Scatter: each gets a block from the root (MPI-5.0 section 6.6).
    pub fn scatter, iscatter, scatter_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
        root: c_int,
    ) {
        scatter, if short: short_scatter; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root
    }

    /// MPI_Scatterv: each gets a block of any size from the root (MPI-5.0 section 6.6).
    pub fn scatterv, iscatterv, scatterv_init<A: Abi>(
        sendbuf: Memory, sendcounts: Integers, displs: Integers, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
        root: c_int,
    ) {
        scatterv, if blocking: short_scatterv; (sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root
    }

    /// MPI_Allgather: all get a block from each (MPI-5.0 section 6.7).
    pub fn allgather, iallgather, allgather_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
    ) {
        allgather, if short: short_allgather; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)
    }

    /// MPI_Allgatherv: all get a block of any size from each (MPI-5.0 section 6.7).
    pub fn allgatherv, iallgatherv, allgatherv_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcounts: Integers, displs: Integers, recvtype: A::Handle,
    ) {
        allgatherv, if blocking: short_allgatherv; (sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype)
    }

    /// MPI_Alltoall: each has a block for each (MPI-5.0 section 6.8).
    pub fn alltoall, ialltoall, alltoall_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
    ) {
        alltoall, if short: short_alltoall; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)
    }

    /// MPI_Alltoallv: each has a block of any size for each (MPI-5.0 section 6.8).
    pub fn alltoallv, ialltoallv, alltoallv_init<A: Abi>(
        sendbuf: Memory, sendcounts: Integers, sdispls: Integers, sendtype: A::Handle,
        recvbuf: Memory, recvcounts: Integers, rdispls: Integers, recvtype: A::Handle,
    ) {
        alltoallv, if blocking: short_alltoallv; (sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype)
    }

    /// MPI_Alltoallw: each has a block of any size and datatype for each (MPI-5.0 section 6.8).
    pub fn alltoallw, ialltoallw, alltoallw_init<A: Abi>(
        sendbuf: Memory, sendcounts: Integers, sdispls: Integers, sendtypes: Array<A::Handle>,
        recvbuf: Memory, recvcounts: Integers, rdispls: Integers, recvtypes: Array<A::Handle>,
    ) {
        alltoallw; (sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes)
    }

    /// MPI_Reduce: the root gets the combination of what all have (MPI-5.0 section 6.9.1).
    pub fn reduce, ireduce, reduce_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, count: i64, datatype: A::Handle, op: A::Handle, root: c_int,
    ) {
        reduce, if short: short_reduce; (sendbuf, count, datatype), recvbuf, op, root
    }

    /// MPI_Allreduce: all get the combination of what all have (MPI-5.0 section 6.9.6).
    pub fn allreduce, iallreduce, allreduce_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, count: i64, datatype: A::Handle, op: A::Handle,
    ) {
        allreduce, if short: short_allreduce; (sendbuf, count, datatype), recvbuf, op
    }

    /// MPI_Reduce_scatter_block: each gets its block of the combination (MPI-5.0 section 6.10).
    pub fn reduce_scatter_block, ireduce_scatter_block, reduce_scatter_block_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, recvcount: i64, datatype: A::Handle, op: A::Handle,
    ) {
        reduce_scatter_block, if short: short_reduce_scatter_block; sendbuf, (recvbuf, recvcount, datatype), op
    }

    /// MPI_Reduce_scatter: each gets its block, of any size, of the combination (MPI-5.0 section 6.10).
    pub fn reduce_scatter, ireduce_scatter, reduce_scatter_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, recvcounts: Integers, datatype: A::Handle, op: A::Handle,
    ) {
        reduce_scatter, if short: short_reduce_scatter; sendbuf, recvbuf, recvcounts, datatype, op
    }

    /// MPI_Scan: each gets the combination of what it and the ranks before it have (MPI-5.0 section 6.11).
    pub fn scan, iscan, scan_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, count: i64, datatype: A::Handle, op: A::Handle,
    ) {
        scan, if short: short_scan; (sendbuf, count, datatype), recvbuf, op, false
    }

    /// MPI_Exscan: each gets the combination of what the ranks before it have (MPI-5.0 section 6.11).
    pub fn exscan, iexscan, exscan_init<A: Abi>(
        sendbuf: Memory, recvbuf: Memory, count: i64, datatype: A::Handle, op: A::Handle,
    ) {
        scan, if short: short_scan; (sendbuf, count, datatype), recvbuf, op, true
    }
}
