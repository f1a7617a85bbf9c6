//! Parts of arrays (MPI-5.0 sections 5.1.3 and 5.1.4), and datatypes by what Fortran programs ask for (section 19.1.9).

use rwmpi_core::datatype::{Basic, Datatype, Distribute, Distribution, Order, Parameters, TypeClass, match_size};
use rwmpi_core::{Error, ErrorClass, Result};

use super::construct::{derive, is_large, length, remember};
use crate::argument::{Array, Integers, Out, c_int};
use crate::datatype::handle_of_basic;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::rank;

fn refuse<T>(what: String) -> Result<T> {
    Err(Error::new(ErrorClass::Argument, what))
}

fn order_of<A: Abi>(code: c_int) -> Result<Order> {
    match code {
        _ if code == A::ORDER_C => Ok(Order::C),
        _ if code == A::ORDER_FORTRAN => Ok(Order::Fortran),
        _ => refuse(format!("the order {code} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN")),
    }
}

/// MPI_Type_create_subarray (MPI-5.0 section 5.1.3).
pub fn type_create_subarray<A: Abi>(
    dimensions: c_int,
    sizes: Integers,
    subsizes: Integers,
    starts: Integers,
    order: c_int,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let dimensions = length(dimensions.into())?;
        let [whole, part, first] = [sizes, subsizes, starts].map(|list| list.to_vec(dimensions));
        let made = Datatype::subarray(&whole?, &part?, &first?, order_of::<A>(order)?, old)?;
        Ok(remember(made, is_large(sizes)))
    })
}

fn distribute_of<A: Abi>(code: c_int, argument: c_int) -> Result<Distribute> {
    let argument = (argument != A::DISTRIBUTE_DFLT_DARG).then_some(argument.into());
    match code {
        _ if code == A::DISTRIBUTE_BLOCK => Ok(Distribute::Block(argument)),
        _ if code == A::DISTRIBUTE_CYCLIC => Ok(Distribute::Cyclic(argument)),
        _ if code == A::DISTRIBUTE_NONE => Ok(Distribute::None(argument)),
        _ => refuse(format!("{code} is no distribution of an array, as MPI_DISTRIBUTE_BLOCK")),
    }
}

/// MPI_Type_create_darray (MPI-5.0 section 5.1.4).
#[expect(clippy::too_many_arguments, reason = "MPI's own")]
pub fn type_create_darray<A: Abi>(
    processes: c_int,
    rank_in_grid: c_int,
    dimensions: c_int,
    sizes: Integers,
    distributions: Array<c_int>,
    arguments: Array<c_int>,
    grid: Array<c_int>,
    order: c_int,
    old: A::Handle,
    new: Out<A::Handle>,
) -> Outcome {
    derive::<A>(old, new, |old| {
        let dimensions = length(dimensions.into())?;
        let kinds = distributions.slice(dimensions)?.iter().zip(arguments.slice(dimensions)?);
        let distribution = Distribution {
            processes: processes.into(),
            rank: rank_in_grid.into(),
            sizes: sizes.to_vec(dimensions)?.into(),
            distribute: kinds.map(|(&kind, &argument)| distribute_of::<A>(kind, argument)).collect::<Result<_>>()?,
            grid: grid.slice(dimensions)?.iter().copied().map(i64::from).collect(),
            order: order_of::<A>(order)?,
        };
        Ok(remember(Datatype::darray(distribution, old)?, is_large(sizes)))
    })
}

fn given<A: Abi>(value: c_int) -> Option<c_int> {
    (value != A::UNDEFINED).then_some(value)
}

/// MPI_Type_create_f90_real (MPI-5.0 section 19.1.9).
pub fn type_create_f90_real<A: Abi>(precision: c_int, range: c_int, new: Out<A::Handle>) -> Outcome {
    let parameters = Parameters::Real { precision: given::<A>(precision), range: given::<A>(range) };
    new.set(rank()?.datatype_by_parameters::<A>(parameters)?)
}

/// MPI_Type_create_f90_complex (MPI-5.0 section 19.1.9).
pub fn type_create_f90_complex<A: Abi>(precision: c_int, range: c_int, new: Out<A::Handle>) -> Outcome {
    let parameters = Parameters::Complex { precision: given::<A>(precision), range: given::<A>(range) };
    new.set(rank()?.datatype_by_parameters::<A>(parameters)?)
}

/// MPI_Type_create_f90_integer (MPI-5.0 section 19.1.9).
pub fn type_create_f90_integer<A: Abi>(range: c_int, new: Out<A::Handle>) -> Outcome {
    new.set(rank()?.datatype_by_parameters::<A>(Parameters::Integer { range })?)
}

/// MPI_Type_match_size (MPI-5.0 section 19.1.9).
pub fn type_match_size<A: Abi>(class: c_int, size: c_int, datatype: Out<A::Handle>) -> Outcome {
    rank()?;
    let class = match class {
        _ if class == A::TYPECLASS_INTEGER => TypeClass::Integer,
        _ if class == A::TYPECLASS_REAL => TypeClass::Real,
        _ if class == A::TYPECLASS_COMPLEX => TypeClass::Complex,
        _ => return refuse(format!("{class} is no class of datatypes, as MPI_TYPECLASS_REAL")),
    };
    datatype.set(handle_of_basic::<A>(match_size(class, size.into())?))
}

/// MPI_Type_get_value_index (MPI-5.0 section 6.9.4).
pub fn type_get_value_index<A: Abi>(value: A::Handle, index: A::Handle, pair: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let parts = (rank.datatype::<A>(value)?.named(), rank.datatype::<A>(index)?.named());
    let found =
        Basic::ALL.iter().find(|basic| basic.pair().is_some_and(|pair| (Some(pair.value), Some(pair.index)) == parts));
    pair.set(found.map_or(A::handle(A::DATATYPE_NULL), |basic| handle_of_basic::<A>(*basic)))
}
