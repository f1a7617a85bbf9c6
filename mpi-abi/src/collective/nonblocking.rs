//! The nonblocking collectives (MPI-5.0 section 6.12).

use super::arguments::Call;
use super::start;
use crate::argument::{Array, Integers, Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_Ibarrier (MPI-5.0 section 6.12).
pub fn ibarrier<A: Abi>(comm: A::Handle, request: Out<A::Handle>) -> Outcome {
    start::<A>(comm, request, Call::barrier)
}

/// MPI_Ibcast (MPI-5.0 section 6.12).
pub fn ibcast<A: Abi>(
    buffer: Memory,
    count: i64,
    datatype: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.broadcast((buffer, count, datatype), root))
}

/// MPI_Igather (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn igather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.gather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root))
}

/// MPI_Igatherv (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn igatherv<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.gatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root)
    })
}

/// MPI_Iscatter (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn iscatter<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.scatter((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root))
}

/// MPI_Iscatterv (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn iscatterv<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    displs: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.scatterv((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root)
    })
}

/// MPI_Iallgather (MPI-5.0 section 6.12).
pub fn iallgather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Iallgatherv (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn iallgatherv<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype))
    })
}

/// MPI_Ialltoall (MPI-5.0 section 6.12).
pub fn ialltoall<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Ialltoallv (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn ialltoallv<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Ialltoallw (MPI-5.0 section 6.12).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn ialltoallw<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes))
    })
}

/// MPI_Ireduce (MPI-5.0 section 6.12).
pub fn ireduce<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    root: c_int,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.reduce((sendbuf, count, datatype), recvbuf, op, root))
}

/// MPI_Iallreduce (MPI-5.0 section 6.12).
pub fn iallreduce<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.allreduce((sendbuf, count, datatype), recvbuf, op))
}

/// MPI_Ireduce_scatter_block (MPI-5.0 section 6.12).
pub fn ireduce_scatter_block<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcount: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.reduce_scatter_block(sendbuf, (recvbuf, recvcount, datatype), op))
}

/// MPI_Ireduce_scatter (MPI-5.0 section 6.12).
pub fn ireduce_scatter<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcounts: Integers,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op))
}

/// MPI_Iscan (MPI-5.0 section 6.12).
pub fn iscan<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.scan((sendbuf, count, datatype), recvbuf, op, false))
}

/// MPI_Iexscan (MPI-5.0 section 6.12).
pub fn iexscan<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| call.scan((sendbuf, count, datatype), recvbuf, op, true))
}
