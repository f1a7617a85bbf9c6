//! The names of MPI-1 that MPI-3.0 removed and programs still use.

use super::{construct, query};
use crate::argument::{Array, Integers, Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

/// MPI_Address: now MPI_Get_address.
pub fn address<A: Abi>(location: Memory, address: Out<i64>) -> Outcome {
    query::get_address::<A>(location, address)
}

/// MPI_Type_extent: now MPI_Type_get_extent.
pub fn type_extent<A: Abi>(datatype: A::Handle, extent: Out<i64>) -> Outcome {
    extent.set(rank()?.datatype::<A>(datatype)?.extent())
}

/// MPI_Type_lb: now MPI_Type_get_extent.
pub fn type_lb<A: Abi>(datatype: A::Handle, displacement: Out<i64>) -> Outcome {
    displacement.set(rank()?.datatype::<A>(datatype)?.lower_bound())
}

/// MPI_Type_ub: now MPI_Type_get_extent.
pub fn type_ub<A: Abi>(datatype: A::Handle, displacement: Out<i64>) -> Outcome {
    let datatype = rank()?.datatype::<A>(datatype)?;
    displacement.set(datatype.lower_bound() + datatype.extent())
}

/// MPI_Type_hvector: now MPI_Type_create_hvector.
pub fn type_hvector<A: Abi>(
    count: c_int,
    blocklength: c_int,
    stride: i64,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    construct::type_create_hvector::<A>(count, blocklength, stride, old, new)
}

/// MPI_Type_hindexed: now MPI_Type_create_hindexed.
pub fn type_hindexed<A: Abi>(
    count: c_int,
    blocklengths: Array<c_int>,
    displacements: Array<i64>,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    construct::type_create_hindexed::<A>(count.into(), Integers::Narrow(blocklengths), displacements, old, new)
}

/// MPI_Type_struct: now MPI_Type_create_struct.
pub fn type_struct<A: Abi>(
    count: c_int,
    blocklengths: Array<c_int>,
    displacements: Array<i64>,
    types: Array<A::Handle>,
    new: Out<A::Handle>,
) -> Outcome {
    construct::type_create_struct::<A>(count.into(), Integers::Narrow(blocklengths), displacements, types, new)
}
