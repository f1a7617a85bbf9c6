//! Collectives among neighbours in a topology (MPI-5.0 sections 8.6 to 8.8).

use super::{prepare, run, start};
use crate::argument::{Array, Integers, Memory, Out};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_Neighbor_allgather (MPI-5.0 section 8.6).
pub fn neighbor_allgather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.neighbour_allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Neighbor_allgatherv (MPI-5.0 section 8.6).
pub fn neighbor_allgatherv<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcounts: Integers,
    displs: Integers,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| {
        call.neighbour_allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype))
    })
}

/// MPI_Neighbor_alltoall (MPI-5.0 section 8.6).
pub fn neighbor_alltoall<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| call.neighbour_alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)))
}

/// MPI_Neighbor_alltoallv (MPI-5.0 section 8.6).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_alltoallv<A: Abi>(
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
        call.neighbour_alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Neighbor_alltoallw (MPI-5.0 section 8.6).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_alltoallw<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Array<i64>,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Array<i64>,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
) -> Outcome {
    run::<A>(comm, |call| {
        call.neighbour_alltoallw(
            (sendbuf, sendcounts, Integers::Wide(sdispls), sendtypes),
            (recvbuf, recvcounts, Integers::Wide(rdispls), recvtypes),
        )
    })
}

/// MPI_Ineighbor_allgather (MPI-5.0 section 8.7).
pub fn ineighbor_allgather<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.neighbour_allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    })
}

/// MPI_Ineighbor_allgatherv (MPI-5.0 section 8.7).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn ineighbor_allgatherv<A: Abi>(
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
        call.neighbour_allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype))
    })
}

/// MPI_Ineighbor_alltoall (MPI-5.0 section 8.7).
pub fn ineighbor_alltoall<A: Abi>(
    sendbuf: Memory,
    sendcount: i64,
    sendtype: A::Handle,
    recvbuf: Memory,
    recvcount: i64,
    recvtype: A::Handle,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.neighbour_alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    })
}

/// MPI_Ineighbor_alltoallv (MPI-5.0 section 8.7).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn ineighbor_alltoallv<A: Abi>(
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
        call.neighbour_alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Ineighbor_alltoallw (MPI-5.0 section 8.7).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn ineighbor_alltoallw<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Array<i64>,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Array<i64>,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(comm, request, |call| {
        call.neighbour_alltoallw(
            (sendbuf, sendcounts, Integers::Wide(sdispls), sendtypes),
            (recvbuf, recvcounts, Integers::Wide(rdispls), recvtypes),
        )
    })
}

/// MPI_Neighbor_allgather_init (MPI-5.0 section 8.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_allgather_init<A: Abi>(
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
    prepare::<A>(comm, request, |call| {
        call.neighbour_allgather((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    })
}

/// MPI_Neighbor_allgatherv_init (MPI-5.0 section 8.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_allgatherv_init<A: Abi>(
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
        call.neighbour_allgatherv((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype))
    })
}

/// MPI_Neighbor_alltoall_init (MPI-5.0 section 8.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_alltoall_init<A: Abi>(
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
    prepare::<A>(comm, request, |call| {
        call.neighbour_alltoall((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype))
    })
}

/// MPI_Neighbor_alltoallv_init (MPI-5.0 section 8.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_alltoallv_init<A: Abi>(
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
        call.neighbour_alltoallv((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype))
    })
}

/// MPI_Neighbor_alltoallw_init (MPI-5.0 section 8.8).
#[expect(clippy::too_many_arguments, reason = "the body of C's function")]
pub fn neighbor_alltoallw_init<A: Abi>(
    sendbuf: Memory,
    sendcounts: Integers,
    sdispls: Array<i64>,
    sendtypes: Array<A::Handle>,
    recvbuf: Memory,
    recvcounts: Integers,
    rdispls: Array<i64>,
    recvtypes: Array<A::Handle>,
    comm: A::Handle,
    _info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    prepare::<A>(comm, request, |call| {
        call.neighbour_alltoallw(
            (sendbuf, sendcounts, Integers::Wide(sdispls), sendtypes),
            (recvbuf, recvcounts, Integers::Wide(rdispls), recvtypes),
        )
    })
}
