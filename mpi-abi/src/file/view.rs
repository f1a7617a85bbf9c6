//! Views (MPI-5.0 sections 14.3 and 14.5), and what offsets of them are in bytes.

use rwmpi_core::datatype::Datatype;
use rwmpi_core::{Error, Result};

use crate::argument::{Out, Text, TextOut};
use crate::datatype::handle_of_basic;
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

/// MPI_File_set_view (MPI-5.0 section 14.3).
pub fn file_set_view<A: Abi>(
    file: A::File,
    displacement: i64,
    etype: A::Handle,
    filetype: A::Handle,
    representation: Text,
    info: A::Handle,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    let displacement = Some(displacement).filter(|&displacement| displacement != A::DISPLACEMENT_CURRENT);
    let arguments = || {
        let (etype, filetype) = (rank.committed_datatype::<A>(etype)?, rank.committed_datatype::<A>(filetype)?);
        Ok((etype, filetype, rank.representation(&representation.get()?)?, hints::<A>(info)?))
    };
    // What a rank passes wrong keeps none of the others waiting.
    let (etype, filetype, representation, info) = arguments().map_err(|error: Error| entry.core.refuse_view(&error))?;
    Ok(entry.core.set_view(displacement, &etype, &filetype, &representation, &info)?)
}

/// The handle of a datatype that the program gets: of one that it made, a new one that it has to free.
fn handle_of<A: Abi>(rank: &Rank, datatype: &Datatype) -> Result<A::Handle> {
    match datatype.named() {
        Some(basic) => Ok(handle_of_basic::<A>(basic)),
        None if datatype.is_predefined() => Ok(A::handle(datatype.handle())),
        None => rank.add_datatype::<A>(datatype.clone()),
    }
}

/// MPI_File_get_view (MPI-5.0 section 14.3).
pub fn file_get_view<A: Abi>(
    file: A::File,
    displacement: Out<i64>,
    etype: Out<A::Handle>,
    filetype: Out<A::Handle>,
    representation: TextOut,
) -> Outcome {
    let rank = rank()?;
    let view = rank.file::<A>(file)?.core.view();
    displacement.set(i64::try_from(view.displacement()).unwrap_or(i64::MAX))?;
    etype.set(handle_of::<A>(rank, view.etype())?)?;
    filetype.set(handle_of::<A>(rank, view.filetype())?)?;
    representation.set(view.representation().name(), A::MAX_DATAREP_STRING as usize).map(drop)
}

/// MPI_File_get_byte_offset (MPI-5.0 section 14.4.3).
pub fn file_get_byte_offset<A: Abi>(file: A::File, offset: i64, displacement: Out<i64>) -> Outcome {
    displacement.set(rank()?.file::<A>(file)?.core.byte_offset(offset)?)
}

/// MPI_File_get_type_extent (MPI-5.0 section 14.5.1).
pub fn file_get_type_extent<A: Abi>(file: A::File, datatype: A::Handle, extent: Out<i64>) -> Outcome {
    let rank = rank()?;
    let entry = rank.file::<A>(file)?;
    extent.set(entry.core.type_extent(&rank.datatype::<A>(datatype)?)?)
}
