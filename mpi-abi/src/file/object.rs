//! What files are: size, group, mode, hints, consistency.

use crate::argument::{Out, c_int};
use crate::error::Outcome;
use crate::info::{add_info, hints};
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_File_set_size (MPI-5.0 section 14.2.4).
pub fn file_set_size<A: Abi>(file: A::File, size: i64) -> Outcome {
    Ok(rank()?.file::<A>(file)?.core.set_size(size)?)
}

/// MPI_File_preallocate (MPI-5.0 section 14.2.5).
pub fn file_preallocate<A: Abi>(file: A::File, size: i64) -> Outcome {
    Ok(rank()?.file::<A>(file)?.core.preallocate(size)?)
}

/// MPI_File_get_size (MPI-5.0 section 14.2.6).
pub fn file_get_size<A: Abi>(file: A::File, size: Out<i64>) -> Outcome {
    size.set(i64::try_from(rank()?.file::<A>(file)?.core.size()?).unwrap_or(i64::MAX))
}

/// MPI_File_get_group (MPI-5.0 section 14.2.7).
pub fn file_get_group<A: Abi>(file: A::File, group: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    group.set(rank.add_group::<A>(rank.file::<A>(file)?.core.group().clone())?)
}

/// MPI_File_get_amode (MPI-5.0 section 14.2.7).
pub fn file_get_amode<A: Abi>(file: A::File, mode: Out<c_int>) -> Outcome {
    mode.set(super::open::number_of::<A>(rank()?.file::<A>(file)?.core.mode()))
}

/// MPI_File_set_info (MPI-5.0 section 14.2.8).
pub fn file_set_info<A: Abi>(file: A::File, info: A::Handle) -> Outcome {
    let entry = rank()?.file::<A>(file)?;
    Ok(entry.core.set_info(&hints::<A>(info)?)?)
}

/// MPI_File_get_info (MPI-5.0 section 14.2.8).
pub fn file_get_info<A: Abi>(file: A::File, info: Out<A::Handle>) -> Outcome {
    info.set(add_info::<A>(rank()?.file::<A>(file)?.core.info()?)?)
}

/// MPI_File_set_atomicity (MPI-5.0 section 14.6.1).
pub fn file_set_atomicity<A: Abi>(file: A::File, flag: c_int) -> Outcome {
    Ok(rank()?.file::<A>(file)?.core.set_atomicity(flag != 0)?)
}

/// MPI_File_get_atomicity (MPI-5.0 section 14.6.1).
pub fn file_get_atomicity<A: Abi>(file: A::File, flag: Out<c_int>) -> Outcome {
    flag.set(rank()?.file::<A>(file)?.core.is_atomic().into())
}

/// MPI_File_sync (MPI-5.0 section 14.6.1).
pub fn file_sync<A: Abi>(file: A::File) -> Outcome {
    Ok(rank()?.file::<A>(file)?.core.sync()?)
}
