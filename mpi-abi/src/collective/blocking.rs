//! The blocking collectives (MPI-5.0 sections 6.3 to 6.11).

use super::arguments::Call;
use super::run;
use crate::argument::{Array, Integers, Memory, c_int};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_Barrier (MPI-5.0 section 6.3).
pub fn barrier<A: Abi>(comm: A::Handle) -> Outcome {
    run::<A>(comm, Call::barrier)
}

/// MPI_Bcast (MPI-5.0 section 6.4).
pub fn bcast<A: Abi>(buffer: Memory, count: i64, datatype: A::Handle, root: c_int, comm: A::Handle) -> Outcome {
    run::<A>(comm, |call| call.broadcast((buffer, count, datatype), root))
}

/// MPI_Gather (MPI-5.0 section 6.5).
pub fn gather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.gather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root))
}

/// MPI_Gatherv (MPI-5.0 section 6.5).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn gatherv<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.gatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root))
}

/// MPI_Scatter (MPI-5.0 section 6.6).
pub fn scatter<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.scatter((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root))
}

/// MPI_Scatterv (MPI-5.0 section 6.6).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn scatterv<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    displs: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.scatterv((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root))
}

/// MPI_Allgather (MPI-5.0 section 6.7).
pub fn allgather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Allgatherv (MPI-5.0 section 6.7).
pub fn allgatherv<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype)))
}

/// MPI_Alltoall (MPI-5.0 section 6.8).
pub fn alltoall<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Alltoallv (MPI-5.0 section 6.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn alltoallv<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| {
        call.alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Alltoallw (MPI-5.0 section 6.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn alltoallw<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| {
        call.alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes))
    })
}

/// MPI_Reduce (MPI-5.0 section 6.9.1).
pub fn reduce<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    root: c_int,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.reduce((sendbuf, count, datatype), recvbuf, op, root))
}

/// MPI_Allreduce (MPI-5.0 section 6.9.6).
pub fn allreduce<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.allreduce((sendbuf, count, datatype), recvbuf, op))
}

/// MPI_Reduce_scatter_block (MPI-5.0 section 6.10).
pub fn reduce_scatter_block<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcount: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.reduce_scatter_block(sendbuf, (recvbuf, recvcount, datatype), op))
}

/// MPI_Reduce_scatter (MPI-5.0 section 6.10).
pub fn reduce_scatter<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcounts: Integers,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op))
}

/// MPI_Scan (MPI-5.0 section 6.11).
pub fn scan<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.scan((sendbuf, count, datatype), recvbuf, op, false))
}

/// MPI_Exscan (MPI-5.0 section 6.11).
pub fn exscan<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.scan((sendbuf, count, datatype), recvbuf, op, true))
}
