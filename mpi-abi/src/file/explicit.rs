//! Accesses at explicit offsets (MPI-5.0 section 14.4.2).

use rwmpi_io::{Direction, Place};

use super::{access, access_all};
use crate::argument::{Memory, StatusOut};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_File_read_at (MPI-5.0 section 14.4.2).
pub fn file_read_at<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Read, Place::At(offset), (memory, count, datatype), status)
}

/// MPI_File_read_at_all (MPI-5.0 section 14.4.2).
pub fn file_read_at_all<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access_all::<A>(file, Direction::Read, Place::At(offset), (memory, count, datatype), status)
}

/// MPI_File_write_at (MPI-5.0 section 14.4.2).
pub fn file_write_at<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Write, Place::At(offset), (memory, count, datatype), status)
}

/// MPI_File_write_at_all (MPI-5.0 section 14.4.2).
pub fn file_write_at_all<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access_all::<A>(file, Direction::Write, Place::At(offset), (memory, count, datatype), status)
}
