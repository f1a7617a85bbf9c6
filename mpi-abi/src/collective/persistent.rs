//! The persistent collectives (MPI-5.0 section 6.13). Info objects have no hints for them.

use super::arguments::Call;
use super::prepare;
use crate::argument::{Array, Integers, Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_Barrier_init (MPI-5.0 section 6.13).
pub fn barrier_init<A: Abi>(comm: A::Handle, _info: A::Handle, request: Out<A::Handle>) -> Outcome {
    prepare::<A>(comm, request, Call::barrier)
}

/// MPI_Bcast_init (MPI-5.0 section 6.13).
pub fn bcast_init<A: Abi>(
    buffer: Memory,
    count: i64,
    datatype: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.broadcast((buffer, count, datatype), root))
}

/// MPI_Gather_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn gather_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.gather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    })
}

/// MPI_Gatherv_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn gatherv_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.gatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype), root)
    })
}

/// MPI_Scatter_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn scatter_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.scatter((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype), root)
    })
}

/// MPI_Scatterv_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn scatterv_init<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    displs: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.scatterv((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype), root)
    })
}

/// MPI_Allgather_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn allgather_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Allgatherv_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn allgatherv_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype))
    })
}

/// MPI_Alltoall_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn alltoall_init<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Alltoallv_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn alltoallv_init<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Alltoallw_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn alltoallw_init<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.alltoallw((sendbuf, sendcounts, sdispls, sendtypes), (recvbuf, recvcounts, rdispls, recvtypes))
    })
}

/// MPI_Reduce_init (MPI-5.0 section 6.13).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn reduce_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    root: c_int,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.reduce((sendbuf, count, datatype), recvbuf, op, root))
}

/// MPI_Allreduce_init (MPI-5.0 section 6.13).
pub fn allreduce_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.allreduce((sendbuf, count, datatype), recvbuf, op))
}

/// MPI_Reduce_scatter_block_init (MPI-5.0 section 6.13).
pub fn reduce_scatter_block_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcount: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.reduce_scatter_block(sendbuf, (recvbuf, recvcount, datatype), op))
}

/// MPI_Reduce_scatter_init (MPI-5.0 section 6.13).
pub fn reduce_scatter_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    recvcounts: Integers,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op))
}

/// MPI_Scan_init (MPI-5.0 section 6.13).
pub fn scan_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.scan((sendbuf, count, datatype), recvbuf, op, false))
}

/// MPI_Exscan_init (MPI-5.0 section 6.13).
pub fn exscan_init<A: Abi>(
    sendbuf: Memory,
    recvbuf: Memory,
    count: i64,
    datatype: A::Handle,
    op: A::Handle,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| call.scan((sendbuf, count, datatype), recvbuf, op, true))
}
