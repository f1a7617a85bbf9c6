//! Accesses at the shared pointer, and moving it (MPI-5.0 section 14.4.4).

use rwmpi_io::{Direction, Place};

use super::individual::whence_of;
use super::{Buffer, access, tell};
use crate::argument::{Memory, Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_File_read_shared (MPI-5.0 section 14.4.4).
pub fn file_read_shared<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Read, Place::Shared, (memory, count, datatype), status)
}

/// MPI_File_write_shared (MPI-5.0 section 14.4.4).
pub fn file_write_shared<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Write, Place::Shared, (memory, count, datatype), status)
}

/// An access of all ranks, in their order. What a rank passes wrong keeps none of the others waiting.
fn in_order<A: Abi>(
    file: A::File,
    direction: Direction,
    (memory, count, datatype): Buffer<A>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    tell(entry.core.access_ordered(direction, &rank.elements::<A>(memory, count, datatype)), status)
}

/// MPI_File_read_ordered (MPI-5.0 section 14.4.4).
pub fn file_read_ordered<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    in_order::<A>(file, Direction::Read, (memory, count, datatype), status)
}

/// MPI_File_write_ordered (MPI-5.0 section 14.4.4).
pub fn file_write_ordered<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    in_order::<A>(file, Direction::Write, (memory, count, datatype), status)
}

/// MPI_File_seek_shared (MPI-5.0 section 14.4.4).
pub fn file_seek_shared<A: Abi>(file: A::File, offset: i64, whence: c_int) -> Outcome {
    let entry = rank()?.file::<A>(file)?;
    Ok(entry.core.seek_shared(offset, whence_of::<A>(whence)?)?)
}

/// MPI_File_get_position_shared (MPI-5.0 section 14.4.4).
pub fn file_get_position_shared<A: Abi>(file: A::File, offset: Out<i64>) -> Outcome {
    offset.set(rank()?.file::<A>(file)?.core.shared_position()?)
}
