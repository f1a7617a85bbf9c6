//! Sizes, bounds, addresses, and how much a message held (MPI-5.0 sections 5.1.5 to 5.1.8 and 5.1.11).

use rwmpi_core::Result;

use crate::argument::{IntegerOut, Memory, Out, StatusIn};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_Type_size (MPI-5.0 section 5.1.7).
pub fn type_size<A: Abi>(datatype: A::Handle, size: IntegerOut) -> Outcome {
    size.set_or(rank()?.datatype::<A>(datatype)?.size() as i64, A::UNDEFINED)
}

/// MPI_Type_size_x (MPI-5.0 section 16.4).
pub fn type_size_x<A: Abi>(datatype: A::Handle, size: Out<i64>) -> Outcome {
    type_size::<A>(datatype, IntegerOut::Wide(size))
}

/// MPI_Type_get_extent (MPI-5.0 section 5.1.7).
pub fn type_get_extent<A: Abi>(datatype: A::Handle, lower: Out<i64>, extent: Out<i64>) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    lower.set(datatype.lower_bound())?;
    extent.set(datatype.extent())
}

/// MPI_Type_get_extent_x (MPI-5.0 section 16.4).
pub fn type_get_extent_x<A: Abi>(datatype: A::Handle, lower: Out<i64>, extent: Out<i64>) -> Outcome {
    type_get_extent::<A>(datatype, lower, extent)
}

/// MPI_Type_get_true_extent (MPI-5.0 section 5.1.8).
pub fn type_get_true_extent<A: Abi>(datatype: A::Handle, lower: Out<i64>, extent: Out<i64>) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    lower.set(datatype.true_lower_bound())?;
    extent.set(datatype.true_extent())
}

/// MPI_Type_get_true_extent_x (MPI-5.0 section 16.4).
pub fn type_get_true_extent_x<A: Abi>(datatype: A::Handle, lower: Out<i64>, extent: Out<i64>) -> Outcome {
    type_get_true_extent::<A>(datatype, lower, extent)
}

/// MPI_Get_address (MPI-5.0 section 5.1.5).
pub fn get_address<A: Abi>(location: Memory, address: Out<i64>) -> Outcome {
    address.set(location.address() as i64)
}

/// MPI_Aint_add (MPI-5.0 section 5.1.5).
pub fn aint_add<A: Abi>(base: i64, displacement: i64) -> i64 {
    base.wrapping_add(displacement)
}

/// MPI_Aint_diff (MPI-5.0 section 5.1.5).
pub fn aint_diff<A: Abi>(one: i64, other: i64) -> i64 {
    one.wrapping_sub(other)
}

/// MPI_Get_elements (MPI-5.0 section 5.1.11).
pub fn get_elements<A: Abi>(status: StatusIn<A>, datatype: A::Handle, count: IntegerOut) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    let elements = datatype.elements(status.get()?.bytes).and_then(|elements| i64::try_from(elements).ok());
    count.set_or(elements.unwrap_or(A::UNDEFINED.into()), A::UNDEFINED)
}

/// MPI_Get_elements_x (MPI-5.0 section 16.4).
pub fn get_elements_x<A: Abi>(status: StatusIn<A>, datatype: A::Handle, count: Out<i64>) -> Outcome {
    get_elements::<A>(status, datatype, IntegerOut::Wide(count))
}

/// The pieces of memory that one element has, in the order of its bytes: where each begins, by its address, and how
/// long it is.
///
/// # Errors
/// There is no such datatype.
pub fn type_pieces<A: Abi>(datatype: A::Handle) -> Result<Vec<(i64, u64)>> {
    let datatype = rank()?.datatype::<A>(datatype)?;
    let (mut all, mut position) = (Vec::<(i64, u64)>::new(), 0);
    while position < datatype.size() {
        let Some((at, len)) = datatype.run_at(position) else { break };
        let len = len.min(datatype.size() - position);
        position += len;
        match all.last_mut() {
            Some((before, known)) if before.wrapping_add_unsigned(*known) == at => *known += len,
            _ => all.push((at, len)),
        }
    }
    Ok(all)
}
