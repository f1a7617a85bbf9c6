//! How datatypes were made (MPI-5.0 section 5.1.13).

use rwmpi_core::datatype::{Codes, Combiner, Contents, Datatype};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Out, OutArray, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

fn codes<A: Abi>() -> Codes {
    Codes {
        order_c: A::ORDER_C.into(),
        order_fortran: A::ORDER_FORTRAN.into(),
        distribute_block: A::DISTRIBUTE_BLOCK.into(),
        distribute_cyclic: A::DISTRIBUTE_CYCLIC.into(),
        distribute_none: A::DISTRIBUTE_NONE.into(),
        default_argument: A::DISTRIBUTE_DFLT_DARG.into(),
        undefined: A::UNDEFINED.into(),
    }
}

fn combiner_code<A: Abi>(combiner: Combiner) -> c_int {
    match combiner {
        Combiner::Named => A::COMBINER_NAMED,
        Combiner::Dup => A::COMBINER_DUP,
        Combiner::Contiguous => A::COMBINER_CONTIGUOUS,
        Combiner::Vector => A::COMBINER_VECTOR,
        Combiner::Hvector => A::COMBINER_HVECTOR,
        Combiner::Indexed => A::COMBINER_INDEXED,
        Combiner::Hindexed => A::COMBINER_HINDEXED,
        Combiner::IndexedBlock => A::COMBINER_INDEXED_BLOCK,
        Combiner::HindexedBlock => A::COMBINER_HINDEXED_BLOCK,
        Combiner::Struct => A::COMBINER_STRUCT,
        Combiner::Subarray => A::COMBINER_SUBARRAY,
        Combiner::Darray => A::COMBINER_DARRAY,
        Combiner::FortranReal => A::COMBINER_F90_REAL,
        Combiner::FortranComplex => A::COMBINER_F90_COMPLEX,
        Combiner::FortranInteger => A::COMBINER_F90_INTEGER,
        Combiner::Resized => A::COMBINER_RESIZED,
    }
}

/// The contents, for calls that do not know large counts.
fn small<A: Abi>(datatype: &Datatype) -> Result<Contents> {
    let contents = datatype.contents(&codes::<A>());
    if contents.counts.is_empty() {
        return Ok(contents);
    }
    let what = "the datatype was made with large counts: ask with the large-count form, whose name ends in _c";
    Err(Error::new(ErrorClass::Datatype, what))
}

/// MPI_Type_get_envelope (MPI-5.0 section 5.1.13).
pub fn type_get_envelope<A: Abi>(
    datatype: A::Handle,
    integers: Out<c_int>,
    addresses: Out<c_int>,
    datatypes: Out<c_int>,
    combiner: Out<c_int>,
) -> Outcome {
    let contents = small::<A>(&rank()?.datatype::<A>(datatype)?)?;
    integers.set(contents.integers.len() as c_int)?;
    addresses.set(contents.addresses.len() as c_int)?;
    datatypes.set(contents.datatypes.len() as c_int)?;
    combiner.set(combiner_code::<A>(contents.combiner))
}

/// MPI_Type_get_envelope_c (MPI-5.0 section 5.1.13).
pub fn type_get_envelope_c<A: Abi>(
    datatype: A::Handle,
    integers: Out<i64>,
    addresses: Out<i64>,
    counts: Out<i64>,
    datatypes: Out<i64>,
    combiner: Out<c_int>,
) -> Outcome {
    let contents = rank()?.datatype::<A>(datatype)?.contents(&codes::<A>());
    integers.set(contents.integers.len() as i64)?;
    addresses.set(contents.addresses.len() as i64)?;
    counts.set(contents.counts.len() as i64)?;
    datatypes.set(contents.datatypes.len() as i64)?;
    combiner.set(combiner_code::<A>(contents.combiner))
}

/// Gives a list, for which the program says that it has `room`.
fn give<T: Copy>(what: &str, values: &[i64], room: i64, array: OutArray<T>, convert: fn(i64) -> T) -> Outcome {
    check_room(what, values.len(), room)?;
    values.iter().enumerate().try_for_each(|(index, &value)| array.set(index, convert(value)))
}

fn check_room(what: &str, needed: usize, room: i64) -> Outcome {
    if usize::try_from(room).is_ok_and(|room| room >= needed) {
        return Ok(());
    }
    let text = format!("the datatype's contents have {needed} {what}, but there is room for {room} only");
    Err(Error::new(ErrorClass::Argument, text))
}

/// Gives the datatypes: predefined ones as they are, others by new handles, which the program has to free.
fn give_datatypes<A: Abi>(rank: &Rank, datatypes: &[Datatype], room: i64, array: OutArray<A::Handle>) -> Outcome {
    check_room("datatypes", datatypes.len(), room)?;
    datatypes.iter().enumerate().try_for_each(|(index, datatype)| {
        let handle = if datatype.is_predefined() {
            A::handle(datatype.handle())
        } else {
            rank.add_datatype::<A>(datatype.clone())?
        };
        array.set(index, handle)
    })
}

fn derived<A: Abi>(rank: &Rank, datatype: A::Handle) -> Result<Datatype> {
    let core = rank.datatype::<A>(datatype)?;
    if core.combiner() == Combiner::Named {
        return Err(Error::new(ErrorClass::Datatype, "predefined datatypes have no contents"));
    }
    Ok(core)
}

/// MPI_Type_get_contents (MPI-5.0 section 5.1.13).
pub fn type_get_contents<A: Abi>(
    datatype: A::Handle,
    integers_room: c_int,
    addresses_room: c_int,
    datatypes_room: c_int,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    datatypes: OutArray<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let contents = small::<A>(&derived::<A>(rank, datatype)?)?;
    give("integers", &contents.integers, integers_room.into(), integers, |value| value as c_int)?;
    give("addresses", &contents.addresses, addresses_room.into(), addresses, |value| value)?;
    give_datatypes::<A>(rank, &contents.datatypes, datatypes_room.into(), datatypes)
}

/// MPI_Type_get_contents_c (MPI-5.0 section 5.1.13).
#[expect(clippy::too_many_arguments, reason = "MPI's own")]
pub fn type_get_contents_c<A: Abi>(
    datatype: A::Handle,
    integers_room: i64,
    addresses_room: i64,
    counts_room: i64,
    datatypes_room: i64,
    integers: OutArray<c_int>,
    addresses: OutArray<i64>,
    counts: OutArray<i64>,
    datatypes: OutArray<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let contents = derived::<A>(rank, datatype)?.contents(&codes::<A>());
    give("integers", &contents.integers, integers_room, integers, |value| value as c_int)?;
    give("addresses", &contents.addresses, addresses_room, addresses, |value| value)?;
    give("large counts", &contents.counts, counts_room, counts, |value| value)?;
    give_datatypes::<A>(rank, &contents.datatypes, datatypes_room, datatypes)
}
