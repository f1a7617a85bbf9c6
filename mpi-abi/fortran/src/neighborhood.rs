//! How many ranks a collective call is about: as many handles of datatypes the program passes.
#![allow(unsafe_code)]

use std::ffi::c_int;

use rwmpi_interface::Abi;

// As the standard ABI has them. The other never needs them: its arrays of handles are passed as they are.
unsafe extern "C" {
    fn PMPI_Comm_test_inter(communicator: usize, flag: *mut c_int) -> c_int;
    fn PMPI_Comm_size(communicator: usize, size: *mut c_int) -> c_int;
    fn PMPI_Comm_remote_size(communicator: usize, size: *mut c_int) -> c_int;
    fn PMPI_Comm_rank(communicator: usize, rank: *mut c_int) -> c_int;
    fn PMPI_Topo_test(communicator: usize, kind: *mut c_int) -> c_int;
    fn PMPI_Cartdim_get(communicator: usize, dimensions: *mut c_int) -> c_int;
    fn PMPI_Graph_neighbors_count(communicator: usize, rank: c_int, count: *mut c_int) -> c_int;
    fn PMPI_Dist_graph_neighbors_count(
        communicator: usize,
        sources: *mut c_int,
        destinations: *mut c_int,
        weighted: *mut c_int,
    ) -> c_int;
}

const fn are_integers<A: Abi>() -> bool {
    size_of::<A::Handle>() == size_of::<c_int>()
}

/// The ranks that this one exchanges with over the communicator: all, or those of the other group.
///
/// # Safety
/// MPI is initialized.
pub unsafe fn peers<A: Abi>(communicator: *const c_int) -> c_int {
    if are_integers::<A>() {
        return 0;
    }
    let (mut between_groups, mut count) = (0, 0);
    // SAFETY: handles are these in the interface.
    unsafe {
        let communicator = communicator.read().cast_unsigned() as usize;
        PMPI_Comm_test_inter(communicator, &raw mut between_groups);
        if between_groups == 0 {
            PMPI_Comm_size(communicator, &raw mut count);
        } else {
            PMPI_Comm_remote_size(communicator, &raw mut count);
        }
    }
    count
}

/// The neighbors of this rank that it receives from, and those that it sends to.
///
/// # Safety
/// As [`peers`].
pub unsafe fn neighbors<A: Abi>(communicator: *const c_int) -> (c_int, c_int) {
    if are_integers::<A>() {
        return (0, 0);
    }
    let (mut kind, mut incoming, mut outgoing, mut rank, mut weighted) = (A::UNDEFINED, 0, 0, 0, 0);
    // SAFETY: as above.
    unsafe {
        let communicator = communicator.read().cast_unsigned() as usize;
        PMPI_Topo_test(communicator, &raw mut kind);
        if kind == A::CART {
            PMPI_Cartdim_get(communicator, &raw mut incoming);
            incoming *= 2;
            outgoing = incoming;
        } else if kind == A::GRAPH {
            PMPI_Comm_rank(communicator, &raw mut rank);
            PMPI_Graph_neighbors_count(communicator, rank, &raw mut incoming);
            outgoing = incoming;
        } else if kind == A::DIST_GRAPH {
            PMPI_Dist_graph_neighbors_count(communicator, &raw mut incoming, &raw mut outgoing, &raw mut weighted);
        }
    }
    (incoming, outgoing)
}
