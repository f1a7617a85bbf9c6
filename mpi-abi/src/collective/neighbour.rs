//! Collectives among neighbours in a topology (MPI-5.0 sections 8.6 to 8.8).

use super::form::{self, collectives};
use crate::argument::{Array, Integers, Memory, Out};
use crate::error::Outcome;
use crate::interface::Abi;

collectives! {
    nonblocking: "8.7", persistent: "8.8";

    /// MPI_Neighbor_allgather: each gets a block from each source (MPI-5.0 section 8.6).
    pub fn neighbor_allgather, ineighbor_allgather, neighbor_allgather_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
    ) {
        neighbour_allgather; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)
    }

    /// MPI_Neighbor_allgatherv: each gets a block of any size from each source (MPI-5.0 section 8.6).
    pub fn neighbor_allgatherv, ineighbor_allgatherv, neighbor_allgatherv_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcounts: Integers, displs: Integers, recvtype: A::Handle,
    ) {
        neighbour_allgatherv; (sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype)
    }

    /// MPI_Neighbor_alltoall: each has a block for each destination (MPI-5.0 section 8.6).
    pub fn neighbor_alltoall, ineighbor_alltoall, neighbor_alltoall_init<A: Abi>(
        sendbuf: Memory, sendcount: i64, sendtype: A::Handle,
        recvbuf: Memory, recvcount: i64, recvtype: A::Handle,
    ) {
        neighbour_alltoall; (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype)
    }

    /// MPI_Neighbor_alltoallv: each has a block of any size for each destination (MPI-5.0 section 8.6).
    pub fn neighbor_alltoallv, ineighbor_alltoallv, neighbor_alltoallv_init<A: Abi>(
        sendbuf: Memory, sendcounts: Integers, sdispls: Integers, sendtype: A::Handle,
        recvbuf: Memory, recvcounts: Integers, rdispls: Integers, recvtype: A::Handle,
    ) {
        neighbour_alltoallv; (sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype)
    }

    /// MPI_Neighbor_alltoallw: each has a block of any size and datatype for each destination (MPI-5.0 section 8.6).
    /// The displacements are never `int`, unlike those of MPI_Alltoallw.
    pub fn neighbor_alltoallw, ineighbor_alltoallw, neighbor_alltoallw_init<A: Abi>(
        sendbuf: Memory, sendcounts: Integers, sdispls: Array<i64>, sendtypes: Array<A::Handle>,
        recvbuf: Memory, recvcounts: Integers, rdispls: Array<i64>, recvtypes: Array<A::Handle>,
    ) {
        neighbour_alltoallw; (sendbuf, sendcounts, Integers::Wide(sdispls), sendtypes),
        (recvbuf, recvcounts, Integers::Wide(rdispls), recvtypes)
    }
}
