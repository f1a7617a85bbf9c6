//! Making datatypes (MPI-5.0 sections 5.1.2 and 5.1.7).

use rwmpi_core::datatype::Datatype;
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Array, Integers, Out};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// Makes a datatype of another one.
pub(super) fn derive<A: Abi>(
    old: A::Handle,
    new: Out<A::Handle>,
    make: impl FnOnce(&Datatype) -> Result<Datatype>,
) -> Outcome {
    let rank = rank()?;
    let old = rank.datatype::<A>(old)?;
    let made = make(&old)?;
    new.set(rank.add_datatype::<A>(made)?)
}

/// How many elements an array argument has.
pub(super) fn length(count: i64) -> Result<usize> {
    usize::try_from(count)
        .map_err(|_| Error::new(ErrorClass::Count, format!("the count is {count}: it must not be negative")))
}

/// Marks what was made by the large-count form, which shows in its contents.
pub(super) fn remember(made: Datatype, large: bool) -> Datatype {
    if large { made.made_with_large_counts() } else { made }
}

pub(super) fn is_large(integers: Integers) -> bool {
    matches!(integers, Integers::Wide(_))
}

/// MPI_Type_contiguous (MPI-5.0 section 5.1.2).
pub fn type_contiguous<A: Abi>(count: i32, old: A::Handle, new: Out<A::Handle>) -> Outcome {
    derive::<A>(old, new, |old| Datatype::contiguous(count.into(), old))
}

/// MPI_Type_contiguous_c (MPI-5.0 section 5.1.2).
pub fn type_contiguous_c<A: Abi>(count: i64, old: A::Handle, new: Out<A::Handle>) -> Outcome {
    derive::<A>(old, new, |old| Ok(Datatype::contiguous(count, old)?.made_with_large_counts()))
}

/// MPI_Type_vector (MPI-5.0 section 5.1.2).
pub fn type_vector<A: Abi>(count: i32, blocklength: i32, stride: i32, old: A::Handle, new: Out<A::Handle>) -> Outcome {
    derive::<A>(old, new, |old| Datatype::vector(count.into(), blocklength.into(), stride.into(), old))
}

/// MPI_Type_vector_c (MPI-5.0 section 5.1.2).
pub fn type_vector_c<A: Abi>(
    count: i64,
    blocklength: i64,
    stride: i64,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| Ok(Datatype::vector(count, blocklength, stride, old)?.made_with_large_counts()))
}

/// MPI_Type_create_hvector (MPI-5.0 section 5.1.2).
pub fn type_create_hvector<A: Abi>(
    count: i32,
    blocklength: i32,
    stride: i64,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| Datatype::hvector(count.into(), blocklength.into(), stride, old))
}

/// MPI_Type_create_hvector_c (MPI-5.0 section 5.1.2).
pub fn type_create_hvector_c<A: Abi>(
    count: i64,
    blocklength: i64,
    stride: i64,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| Ok(Datatype::hvector(count, blocklength, stride, old)?.made_with_large_counts()))
}

/// MPI_Type_indexed (MPI-5.0 section 5.1.2).
pub fn type_indexed<A: Abi>(
    count: i64,
    blocklengths: Integers,
    displacements: Integers,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let count = length(count)?;
        let made = Datatype::indexed(&blocklengths.to_vec(count)?, &displacements.to_vec(count)?, old)?;
        Ok(remember(made, is_large(blocklengths)))
    })
}

/// MPI_Type_create_hindexed (MPI-5.0 section 5.1.2).
pub fn type_create_hindexed<A: Abi>(
    count: i64,
    blocklengths: Integers,
    displacements: Array<i64>,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let count = length(count)?;
        let made = Datatype::hindexed(&blocklengths.to_vec(count)?, displacements.slice(count)?, old)?;
        Ok(remember(made, is_large(blocklengths)))
    })
}

/// MPI_Type_create_indexed_block (MPI-5.0 section 5.1.2).
pub fn type_create_indexed_block<A: Abi>(
    count: i64,
    blocklength: i64,
    displacements: Integers,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let made = Datatype::indexed_block(blocklength, &displacements.to_vec(length(count)?)?, old)?;
        Ok(remember(made, is_large(displacements)))
    })
}

fn hindexed_block<A: Abi>(
    count: i64,
    blocklength: i64,
    displacements: Array<i64>,
    old: A::Handle,
    new: Out<A::Handle>,
    large: bool,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let made = Datatype::hindexed_block(blocklength, displacements.slice(length(count)?)?, old)?;
        Ok(remember(made, large))
    })
}

/// MPI_Type_create_hindexed_block (MPI-5.0 section 5.1.2).
pub fn type_create_hindexed_block<A: Abi>(
    count: i32,
    blocklength: i32,
    displacements: Array<i64>,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    hindexed_block::<A>(count.into(), blocklength.into(), displacements, old, new, false)
}

/// MPI_Type_create_hindexed_block_c (MPI-5.0 section 5.1.2).
pub fn type_create_hindexed_block_c<A: Abi>(
    count: i64,
    blocklength: i64,
    displacements: Array<i64>,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    hindexed_block::<A>(count, blocklength, displacements, old, new, true)
}

/// MPI_Type_create_struct (MPI-5.0 section 5.1.2).
pub fn type_create_struct<A: Abi>(
    count: i64,
    blocklengths: Integers,
    displacements: Array<i64>,
    types: Array<A::Handle>,
    new: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let count = length(count)?;
    let handles = types.slice(count)?;
    let old: Vec<Datatype> = handles.iter().map(|&handle| rank.datatype::<A>(handle)).collect::<Result<_>>()?;
    let made = Datatype::structure(&blocklengths.to_vec(count)?, displacements.slice(count)?, &old)?;
    new.set(rank.add_datatype::<A>(remember(made, is_large(blocklengths)))?)
}

/// MPI_Type_create_resized (MPI-5.0 section 5.1.7).
pub fn type_create_resized<A: Abi>(old: A::Handle, lower: i64, extent: i64, new: Out<A::Handle>) -> Outcome {
    derive::<A>(old, new, |old| Datatype::resized(old, lower, extent))
}

/// MPI_Type_create_resized_c (MPI-5.0 section 5.1.7).
pub fn type_create_resized_c<A: Abi>(old: A::Handle, lower: i64, extent: i64, new: Out<A::Handle>) -> Outcome {
    derive::<A>(old, new, |old| Ok(Datatype::resized(old, lower, extent)?.made_with_large_counts()))
}
