//! Accesses at the individual pointer, and moving it (MPI-5.0 section 14.4.3).

use rwmpi_core::{Error, ErrorClass, Result};
use rwmpi_io::{Direction, Place, Whence};

use super::{access, access_all};
use crate::argument::{Memory, Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_File_read (MPI-5.0 section 14.4.3).
pub fn file_read<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Read, Place::Individual, (memory, count, datatype), status)
}

/// MPI_File_read_all (MPI-5.0 section 14.4.3).
pub fn file_read_all<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access_all::<A>(file, Direction::Read, Place::Individual, (memory, count, datatype), status)
}

/// MPI_File_write (MPI-5.0 section 14.4.3).
pub fn file_write<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access::<A>(file, Direction::Write, Place::Individual, (memory, count, datatype), status)
}

/// MPI_File_write_all (MPI-5.0 section 14.4.3).
pub fn file_write_all<A: Abi>(
    file: A::File,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    access_all::<A>(file, Direction::Write, Place::Individual, (memory, count, datatype), status)
}

/// From where a pointer is moved.
pub(super) fn whence_of<A: Abi>(whence: c_int) -> Result<Whence> {
    match whence {
        _ if whence == A::SEEK_SET => Ok(Whence::Set),
        _ if whence == A::SEEK_CUR => Ok(Whence::Current),
        _ if whence == A::SEEK_END => Ok(Whence::End),
        _ => {
            let what = format!("{whence} is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END");
            Err(Error::new(ErrorClass::Argument, what))
        }
    }
}

/// MPI_File_seek (MPI-5.0 section 14.4.3).
pub fn file_seek<A: Abi>(file: A::File, offset: i64, whence: c_int) -> Outcome {
    let entry = rank()?.file::<A>(file)?;
    Ok(entry.core.seek(offset, whence_of::<A>(whence)?)?)
}

/// MPI_File_get_position (MPI-5.0 section 14.4.3).
pub fn file_get_position<A: Abi>(file: A::File, offset: Out<i64>) -> Outcome {
    offset.set(rank()?.file::<A>(file)?.core.position()?)
}
