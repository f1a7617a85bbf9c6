//! Communicators (MPI-5.0 chapter 7).

use crate::argument::{Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_Comm_size (MPI-5.0 section 7.4.1).
pub fn comm_size<A: Abi>(communicator: A::Handle, size: Out<c_int>) -> Outcome {
    size.set(rank()?.communicator::<A>(communicator)?.core.size() as c_int)
}

/// MPI_Comm_rank (MPI-5.0 section 7.4.1).
pub fn comm_rank<A: Abi>(communicator: A::Handle, number: Out<c_int>) -> Outcome {
    number.set(rank()?.communicator::<A>(communicator)?.core.rank() as c_int)
}
