//! Accesses with requests (MPI-5.0 sections 14.4.2 to 14.4.4). Short ones are done when they are started.

use rwmpi_io::{Direction, Place};

use super::start;
use crate::argument::{Memory, Out};
use crate::error::Outcome;
use crate::interface::Abi;

/// MPI_File_iread_at (MPI-5.0 section 14.4.2).
pub fn file_iread_at<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Read, Place::At(offset), (memory, count, datatype), request)
}

/// MPI_File_iwrite_at (MPI-5.0 section 14.4.2).
pub fn file_iwrite_at<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Write, Place::At(offset), (memory, count, datatype), request)
}

/// MPI_File_iread_at_all (MPI-5.0 section 14.4.2).
pub fn file_iread_at_all<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Read, Place::At(offset), (memory, count, datatype), request)
}

/// MPI_File_iwrite_at_all (MPI-5.0 section 14.4.2).
pub fn file_iwrite_at_all<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Write, Place::At(offset), (memory, count, datatype), request)
}

/// MPI_File_iread (MPI-5.0 section 14.4.3).
pub fn file_iread<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Read, Place::Individual, (memory, count, datatype), request)
}

/// MPI_File_iwrite (MPI-5.0 section 14.4.3).
pub fn file_iwrite<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Write, Place::Individual, (memory, count, datatype), request)
}

/// MPI_File_iread_all (MPI-5.0 section 14.4.3).
pub fn file_iread_all<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Read, Place::Individual, (memory, count, datatype), request)
}

/// MPI_File_iwrite_all (MPI-5.0 section 14.4.3).
pub fn file_iwrite_all<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Write, Place::Individual, (memory, count, datatype), request)
}

/// MPI_File_iread_shared (MPI-5.0 section 14.4.4).
pub fn file_iread_shared<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Read, Place::Shared, (memory, count, datatype), request)
}

/// MPI_File_iwrite_shared (MPI-5.0 section 14.4.4).
pub fn file_iwrite_shared<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    start::<A>(file, Direction::Write, Place::Shared, (memory, count, datatype), request)
}
