//! Datatypes as objects: duplicating and freeing them, their attributes and names (MPI-5.0 sections 5.1.9, 5.1.10,
//! 7.7.4 and 7.8).

use rwmpi_core::datatype::Datatype;
use rwmpi_core::{Error, ErrorClass};

use crate::argument::{Memory, Out, Text, TextOut, c_int, c_void};
use crate::attribute::{give, value_in_call};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::keyval::Coded;
use crate::rank::rank;

/// MPI_Type_commit (MPI-5.0 section 5.1.9).
pub fn type_commit<A: Abi>(datatype: Out<A::Handle>) -> Outcome {
    rank()?.datatype::<A>(datatype.get()?)?.commit();
    Ok(())
}

/// MPI_Type_free (MPI-5.0 section 5.1.9): what is made of it, or under way with it, keeps it.
pub fn type_free<A: Abi>(datatype: Out<A::Handle>) -> Outcome {
    rank()?.remove_datatype::<A>(datatype.get()?)?;
    datatype.set(A::handle(A::DATATYPE_NULL))
}

/// MPI_Type_dup (MPI-5.0 section 5.1.10).
pub fn type_dup<A: Abi>(old: A::Handle, new: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let copy = rank.add_datatype::<A>(Datatype::dup(&rank.datatype::<A>(old)?))?;
    if let Some(record) = rank.existing_record(A::code(old)) {
        let (original, duplicate) = (Coded(A::code(old)), Coded(A::code(copy)));
        let copied = record.attributes.copy_to(&original, &rank.record(duplicate.0).attributes, &duplicate);
        if let Err(error) = copied {
            rank.remove_datatype::<A>(copy)?;
            return Err(error);
        }
    }
    new.set(copy)
}

/// MPI_Type_set_attr (MPI-5.0 section 7.7.4).
pub fn type_set_attr<A: Abi>(datatype: A::Handle, keyval: c_int, value: Memory) -> Outcome {
    let rank = rank()?;
    rank.datatype::<A>(datatype)?;
    let (code, value) = (A::code(datatype), value_in_call(keyval, value));
    let keyval = rank.keyval::<A, _>(keyval)?;
    rank.record(code).attributes.set(&Coded(code), &keyval, value)
}

/// MPI_Type_get_attr (MPI-5.0 section 7.7.4).
pub fn type_get_attr<A: Abi>(datatype: A::Handle, keyval: c_int, value: Out<*mut c_void>, flag: Out<c_int>) -> Outcome {
    let rank = rank()?;
    rank.datatype::<A>(datatype)?;
    let known = rank.keyval_of_attributes::<A, _>(keyval)?;
    let record = rank.existing_record(A::code(datatype));
    give(keyval, record.and_then(|record| record.attributes.get(&known)), value, flag)
}

/// MPI_Type_delete_attr (MPI-5.0 section 7.7.4).
pub fn type_delete_attr<A: Abi>(datatype: A::Handle, keyval: c_int) -> Outcome {
    let rank = rank()?;
    rank.datatype::<A>(datatype)?;
    let keyval = rank.keyval_of_attributes::<A, _>(keyval)?;
    let code = A::code(datatype);
    match rank.existing_record(code).map(|record| record.attributes.delete(&Coded(code), &keyval)).transpose()? {
        Some(true) => Ok(()),
        _ => Err(Error::new(ErrorClass::Keyval, "the datatype has no attribute with that keyval")),
    }
}

/// MPI_Type_set_name (MPI-5.0 section 7.8).
pub fn type_set_name<A: Abi>(datatype: A::Handle, name: Text) -> Outcome {
    let mut name = name.get()?;
    name.truncate(name.floor_char_boundary(A::MAX_OBJECT_NAME as usize - 1));
    let rank = rank()?;
    rank.datatype::<A>(datatype)?;
    *rank.record(A::code(datatype)).name.borrow_mut() = Some(name);
    Ok(())
}

/// MPI_Type_get_name (MPI-5.0 section 7.8): MPI_DATATYPE_NULL has a name too.
pub fn type_get_name<A: Abi>(datatype: A::Handle, name: TextOut, len: Out<c_int>) -> Outcome {
    let rank = rank()?;
    if A::code(datatype) == A::DATATYPE_NULL {
        return len.set(name.set("MPI_DATATYPE_NULL", A::MAX_OBJECT_NAME as usize)? as c_int);
    }
    let named = rank.datatype::<A>(datatype)?.named();
    let given = rank.existing_record(A::code(datatype)).and_then(|record| record.name.borrow().clone());
    let text = given.unwrap_or_else(|| named.map_or("", |basic| basic.name()).to_string());
    len.set(name.set(&text, A::MAX_OBJECT_NAME as usize)? as c_int)
}
