//! Split collective accesses (MPI-5.0 section 14.4.5). They are done when they begin; their end tells of it.

use rwmpi_io::{Direction, Split};

use super::{Buffer, tell};
use crate::argument::{Memory, StatusOut};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

fn begin<A: Abi>(
    file: A::File,
    direction: Direction,
    split: Split,
    offset: i64,
    (memory, count, datatype): Buffer<A>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    Ok(entry.core.begin(direction, split, offset, rank.elements::<A>(memory, count, datatype))?)
}

fn end<A: Abi>(file: A::File, direction: Direction, split: Split, status: StatusOut<A>) -> Outcome {
    tell(rank()?.file::<A>(file)?.core.end(direction, split), status)
}

/// MPI_File_read_at_all_begin (MPI-5.0 section 14.4.5).
pub fn file_read_at_all_begin<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
) -> Outcome {
    begin::<A>(file, Direction::Read, Split::At, offset, (memory, count, datatype))
}

/// MPI_File_read_at_all_end (MPI-5.0 section 14.4.5).
pub fn file_read_at_all_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Read, Split::At, status)
}

/// MPI_File_write_at_all_begin (MPI-5.0 section 14.4.5).
pub fn file_write_at_all_begin<A: Abi>(
    file: A::File,
    offset: i64,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
) -> Outcome {
    begin::<A>(file, Direction::Write, Split::At, offset, (memory, count, datatype))
}

/// MPI_File_write_at_all_end (MPI-5.0 section 14.4.5).
pub fn file_write_at_all_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Write, Split::At, status)
}

/// MPI_File_read_all_begin (MPI-5.0 section 14.4.5).
pub fn file_read_all_begin<A: Abi>(file: A::File, memory: Memory, count: i64, datatype: A::Handle) -> Outcome {
    begin::<A>(file, Direction::Read, Split::Individual, 0, (memory, count, datatype))
}

/// MPI_File_read_all_end (MPI-5.0 section 14.4.5).
pub fn file_read_all_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Read, Split::Individual, status)
}

/// MPI_File_write_all_begin (MPI-5.0 section 14.4.5).
pub fn file_write_all_begin<A: Abi>(file: A::File, memory: Memory, count: i64, datatype: A::Handle) -> Outcome {
    begin::<A>(file, Direction::Write, Split::Individual, 0, (memory, count, datatype))
}

/// MPI_File_write_all_end (MPI-5.0 section 14.4.5).
pub fn file_write_all_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Write, Split::Individual, status)
}

/// MPI_File_read_ordered_begin (MPI-5.0 section 14.4.5).
pub fn file_read_ordered_begin<A: Abi>(file: A::File, memory: Memory, count: i64, datatype: A::Handle) -> Outcome {
    begin::<A>(file, Direction::Read, Split::Ordered, 0, (memory, count, datatype))
}

/// MPI_File_read_ordered_end (MPI-5.0 section 14.4.5).
pub fn file_read_ordered_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Read, Split::Ordered, status)
}

/// MPI_File_write_ordered_begin (MPI-5.0 section 14.4.5).
pub fn file_write_ordered_begin<A: Abi>(file: A::File, memory: Memory, count: i64, datatype: A::Handle) -> Outcome {
    begin::<A>(file, Direction::Write, Split::Ordered, 0, (memory, count, datatype))
}

/// MPI_File_write_ordered_end (MPI-5.0 section 14.4.5).
pub fn file_write_ordered_end<A: Abi>(file: A::File, _memory: Memory, status: StatusOut<A>) -> Outcome {
    end::<A>(file, Direction::Write, Split::Ordered, status)
}
