//! Packing and unpacking (MPI-5.0 sections 5.2 and 5.3).
#![allow(unsafe_code)]

use rwmpi_core::datatype::{pack_external as encode, pack_into, unpack_external as decode, unpack_from};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{IntegerOut, Memory, Out, Text};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

fn elements(count: i64) -> Result<u64> {
    u64::try_from(count).map_err(|_| {
        Error::new(ErrorClass::Count, format!("the number of elements is {count}: it must not be negative"))
    })
}

/// Where in a buffer of `size` bytes the position is: bytes before it, and bytes from it on, of which `needed` are
/// used.
fn place<A: Abi>(packed: Memory, position: i64, size: i64, needed: u64) -> Result<(usize, usize)> {
    let left = size.checked_sub(position).and_then(|left| usize::try_from(left).ok());
    let (Ok(before), Some(left)) = (usize::try_from(position), left) else {
        let text = format!("the position {position} lies outside of the packed buffer, which has {size} bytes");
        return Err(Error::new(ErrorClass::Argument, text));
    };
    if needed > left as u64 {
        let text = format!("the elements take {needed} packed bytes, but only {left} are left in the buffer");
        return Err(Error::new(ErrorClass::Truncate, text));
    }
    if needed > 0 && (packed.address().is_null() || packed.is(A::IN_PLACE)) {
        return Err(Error::new(ErrorClass::Buffer, "the packed buffer is a null pointer or MPI_IN_PLACE"));
    }
    Ok((before, left))
}

/// The rank, on which such a communicator is.
fn rank_with<A: Abi>(communicator: A::Handle) -> Result<&'static Rank> {
    let rank = rank()?;
    rank.communicator::<A>(communicator)?;
    Ok(rank)
}

/// MPI_Pack (MPI-5.0 section 5.2).
pub fn pack<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    packed: Memory,
    size: i64,
    position: IntegerOut,
    communicator: A::Handle,
) -> Outcome {
    let datatype = rank_with::<A>(communicator)?.checked_datatype::<A>(memory, count, datatype)?;
    let count = elements(count)?;
    let at = position.get()?;
    let (before, left) = place::<A>(packed, at, size, datatype.packed_size(count)?)?;
    // SAFETY: the program vouches for the elements, and for `size` bytes of the packed buffer.
    let done = unsafe { pack_into(memory.address(), count, &datatype, 0, packed.address().wrapping_add(before), left) };
    position.set(at + done as i64)
}

/// MPI_Unpack (MPI-5.0 section 5.2).
pub fn unpack<A: Abi>(
    packed: Memory,
    size: i64,
    position: IntegerOut,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    communicator: A::Handle,
) -> Outcome {
    let datatype = rank_with::<A>(communicator)?.checked_datatype::<A>(memory, count, datatype)?;
    let count = elements(count)?;
    let at = position.get()?;
    let (before, left) = place::<A>(packed, at, size, datatype.packed_size(count)?)?;
    // SAFETY: the program vouches for the elements, and for `size` bytes of the packed buffer.
    let done =
        unsafe { unpack_from(memory.address(), count, &datatype, 0, packed.address().wrapping_add(before), left) };
    position.set(at + done as i64)
}

/// MPI_Pack_size (MPI-5.0 section 5.2).
pub fn pack_size<A: Abi>(count: i64, datatype: A::Handle, communicator: A::Handle, size: IntegerOut) -> Outcome {
    let datatype = rank_with::<A>(communicator)?.committed_datatype::<A>(datatype)?;
    size.set(datatype.packed_size(elements(count)?)? as i64)
}

/// The rank, if the representation is the one that there is.
fn external(representation: Text) -> Result<&'static Rank> {
    let representation = representation.get()?;
    if representation != "external32" {
        let text = format!("there is no data representation {representation:?} but external32");
        return Err(Error::new(ErrorClass::Argument, text));
    }
    rank()
}

/// MPI_Pack_external (MPI-5.0 section 5.3).
pub fn pack_external<A: Abi>(
    representation: Text,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    packed: Memory,
    size: i64,
    position: Out<i64>,
) -> Outcome {
    let datatype = external(representation)?.checked_datatype::<A>(memory, count, datatype)?;
    let count = elements(count)?;
    let at = position.get()?;
    let bytes = datatype.external_size(count)?;
    let (before, _) = place::<A>(packed, at, size, bytes)?;
    if bytes > 0 {
        // SAFETY: the program vouches for the elements, and for `size` bytes of the packed buffer, of which these are
        // some.
        unsafe {
            let into = std::slice::from_raw_parts_mut(packed.address().wrapping_add(before), bytes as usize);
            encode(memory.address(), count, &datatype, into)?;
        }
    }
    position.set(at + bytes as i64)
}

/// MPI_Unpack_external (MPI-5.0 section 5.3).
pub fn unpack_external<A: Abi>(
    representation: Text,
    packed: Memory,
    size: i64,
    position: Out<i64>,
    memory: Memory,
    count: i64,
    datatype: A::Handle,
) -> Outcome {
    let datatype = external(representation)?.checked_datatype::<A>(memory, count, datatype)?;
    let count = elements(count)?;
    let at = position.get()?;
    let bytes = datatype.external_size(count)?;
    let (before, _) = place::<A>(packed, at, size, bytes)?;
    if bytes > 0 {
        // SAFETY: as in `pack_external`.
        unsafe {
            let from = std::slice::from_raw_parts(packed.address().wrapping_add(before), bytes as usize);
            decode(memory.address(), count, &datatype, from)?;
        }
    }
    position.set(at + bytes as i64)
}

/// MPI_Pack_external_size (MPI-5.0 section 5.3).
pub fn pack_external_size<A: Abi>(representation: Text, count: i64, datatype: A::Handle, size: Out<i64>) -> Outcome {
    let datatype = external(representation)?.committed_datatype::<A>(datatype)?;
    size.set(datatype.external_size(elements(count)?)? as i64)
}
