//! Enumerations (MPI-5.0 section 15.3.5): what the elements of events are called, and the protocols.

use rwmpi_core::Protocol;

use super::event::types::{ELEMENTS, TYPES};
use super::{Checked, handle, index_of, offer, offer_text, run};
use crate::argument::{Out, TextOut, c_int, c_void};
use crate::interface::Abi;

/// An enumeration, by the index that its handle stands for: those of the elements of events come first.
#[derive(Clone, Copy)]
pub(super) enum Enumeration {
    /// The elements of an event of that type.
    Elements(usize),
    /// The protocols.
    Protocols,
}

/// How many there are.
const NUMBER: usize = TYPES.len() + 1;

impl Enumeration {
    fn at<A: Abi>(enumeration: *mut c_void) -> Checked<Enumeration> {
        Ok(match index_of::<A>(enumeration, NUMBER)? {
            index if index < TYPES.len() => Enumeration::Elements(index),
            _ => Enumeration::Protocols,
        })
    }

    /// What the program gets.
    pub(super) fn handle(self) -> *mut c_void {
        handle(match self {
            Enumeration::Elements(event) => event,
            Enumeration::Protocols => TYPES.len(),
        })
    }

    fn name(self) -> &'static str {
        match self {
            Enumeration::Elements(event) => TYPES[event].name,
            Enumeration::Protocols => "protocol",
        }
    }

    /// The names of its items; the value of each is its place.
    fn items(self) -> Vec<&'static str> {
        match self {
            Enumeration::Elements(event) => ELEMENTS[..TYPES[event].elements].iter().map(|one| one.name).collect(),
            Enumeration::Protocols => PROTOCOLS.iter().map(|protocol| protocol.name()).collect(),
        }
    }
}

/// The protocols in the order of their numbers.
pub(super) const PROTOCOLS: [Protocol; 3] = [Protocol::Sr, Protocol::Nsr, Protocol::Auto];

/// MPI_T_enum_get_info (MPI-5.0 section 15.3.5).
pub fn t_enum_get_info<A: Abi>(
    enumeration: *mut c_void,
    number: Out<c_int>,
    name: TextOut,
    name_len: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let enumeration = Enumeration::at::<A>(enumeration)?;
        offer(number, enumeration.items().len() as c_int);
        offer_text(name, name_len, enumeration.name());
        Ok(())
    })
}

/// MPI_T_enum_get_item (MPI-5.0 section 15.3.5).
pub fn t_enum_get_item<A: Abi>(
    enumeration: *mut c_void,
    index: c_int,
    value: Out<c_int>,
    name: TextOut,
    name_len: Out<c_int>,
) -> c_int {
    run::<A>(|| {
        let items = Enumeration::at::<A>(enumeration)?.items();
        let item = usize::try_from(index).ok().and_then(|index| items.get(index)).ok_or(A::T_ERR_INVALID_ITEM)?;
        offer(value, index);
        offer_text(name, name_len, item);
        Ok(())
    })
}
