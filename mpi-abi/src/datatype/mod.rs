//! Datatypes (MPI-5.0 chapter 5) by their handles.

pub mod array;
pub mod construct;
pub mod contents;
pub mod pack;
pub mod query;
pub mod removed;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rwmpi_core::datatype::{Basic, Datatype, Parameters};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::interface::Abi;
use crate::rank::Rank;
use crate::table::{Kind, Table};

/// A datatype and what C has to know about it.
#[derive(Debug)]
pub struct DatatypeEntry {
    /// The datatype itself.
    pub core: Datatype,
}

/// All datatypes that have a handle.
pub(crate) struct Datatypes {
    /// The predefined ones that have been asked for, by [`place`], with their codes.
    predefined: Box<[OnceCell<Predefined>]>,
    /// Those that the program made, and those that it has asked for by precision and range.
    others: Table<Rc<DatatypeEntry>>,
    /// The codes of the latter: asking again gives the same handle (MPI-5.0 section 19.1.9).
    by_parameters: RefCell<HashMap<Parameters, u32>>,
}

/// A predefined datatype with its code.
type Predefined = (u32, Rc<DatatypeEntry>);

const PLACES: usize = 512;

/// Where a predefined datatype is kept: a number that is different for each of them, in both interfaces.
#[inline]
fn place(code: u32) -> usize {
    // The standard's codes are 0x200 to 0x3ff; of MPICH's, the pairs are numbered by themselves.
    let (standard, pair) = (code < 0x400, code >> 28 == 0x8);
    let place = if standard { code & 0x1ff } else { (code & 0xff) | u32::from(pair) << 8 };
    place as usize
}

impl Datatypes {
    pub(crate) fn new() -> Self {
        Datatypes {
            predefined: std::iter::repeat_with(OnceCell::new).take(PLACES).collect(),
            others: Table::new(Kind::Datatype),
            by_parameters: RefCell::default(),
        }
    }

    #[inline]
    fn get(&self, code: u32) -> Option<Rc<DatatypeEntry>> {
        match self.predefined[place(code)].get() {
            Some((known, entry)) if *known == code => Some(entry.clone()),
            _ => self.others.get(code),
        }
    }

    /// A predefined datatype that is asked for the first time.
    #[cold]
    fn predefined<A: Abi>(&self, code: u32) -> Option<Rc<DatatypeEntry>> {
        let (_, name) = A::DATATYPES.iter().find(|(known, _)| *known == code)?;
        let basic = Basic::ALL.iter().find(|basic| basic.name() == *name)?;
        let core = Datatype::basic(*basic);
        core.set_handle(code);
        let entry = Rc::new(DatatypeEntry { core });
        // The place was empty: codes have places of their own.
        let _ = self.predefined[place(code)].set((code, entry.clone()));
        Some(entry)
    }
}

/// The code of a predefined datatype.
pub(crate) fn code_of<A: Abi>(basic: Basic) -> u32 {
    let found = A::DATATYPES.iter().find(|(_, name)| *name == basic.name());
    found.map_or(A::DATATYPE_NULL, |(code, _)| *code)
}

impl Rank {
    /// The datatype with that handle.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none.
    #[inline]
    pub fn datatype<A: Abi>(&self, handle: A::Handle) -> Result<Rc<DatatypeEntry>> {
        let code = A::code(handle);
        match self.datatypes.get(code) {
            Some(entry) => Ok(entry),
            None => self.other_datatype::<A>(code),
        }
    }

    /// The datatype with that handle, for communication.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none, or it is not committed.
    #[inline]
    pub fn committed_datatype<A: Abi>(&self, handle: A::Handle) -> Result<Rc<DatatypeEntry>> {
        let entry = self.datatype::<A>(handle)?;
        if entry.core.is_committed() { Ok(entry) } else { Err(not_committed()) }
    }

    #[cold]
    fn other_datatype<A: Abi>(&self, code: u32) -> Result<Rc<DatatypeEntry>> {
        self.datatypes.predefined::<A>(code).ok_or_else(|| {
            let what = if code == A::DATATYPE_NULL {
                "the datatype is MPI_DATATYPE_NULL".to_string()
            } else {
                format!("{code:#x} is no datatype: it was freed or never was one")
            };
            Error::new(ErrorClass::Datatype, what)
        })
    }

    /// A handle for a new datatype.
    pub fn add_datatype<A: Abi>(&self, core: Datatype) -> A::Handle {
        let code = self.datatypes.others.insert(Rc::new(DatatypeEntry { core: core.clone() }));
        if core.handle() == 0 {
            core.set_handle(code);
        }
        A::handle(code)
    }

    /// The handle of a datatype by precision and range.
    pub(crate) fn datatype_by_parameters<A: Abi>(&self, parameters: Parameters) -> Result<A::Handle> {
        let known = self.datatypes.by_parameters.borrow().get(&parameters).copied();
        if let Some(code) = known {
            return Ok(A::handle(code));
        }
        let handle = self.add_datatype::<A>(Datatype::fortran(parameters)?);
        self.datatypes.by_parameters.borrow_mut().insert(parameters, A::code(handle));
        Ok(handle)
    }

    /// Forgets a datatype that the program made.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if it is none that the program made.
    pub fn remove_datatype<A: Abi>(&self, handle: A::Handle) -> Result<Rc<DatatypeEntry>> {
        let entry = self.datatype::<A>(handle)?;
        if entry.core.is_predefined() {
            return Err(Error::new(ErrorClass::Datatype, "predefined datatypes can't be freed"));
        }
        let code = A::code(handle);
        self.datatypes.others.remove(code);
        // It may have further handles, from asking for the contents of what was made of it.
        if entry.core.handle() == code {
            entry.core.set_handle(0);
        }
        Ok(entry)
    }

    /// Calls `with` with a handle of a datatype: its own, or if it has been freed, one for as long as the call lasts.
    pub(crate) fn with_handle_of<A: Abi>(&self, datatype: &Datatype, with: impl FnOnce(A::Handle)) {
        match datatype.handle() {
            0 => {
                let code = self.datatypes.others.insert(Rc::new(DatatypeEntry { core: datatype.clone() }));
                with(A::handle(code));
                self.datatypes.others.remove(code);
            }
            code => with(A::handle(code)),
        }
    }
}

#[cold]
fn not_committed() -> Error {
    Error::new(ErrorClass::Datatype, "the datatype is not committed: call MPI_Type_commit before it is used")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{Constants, Mpich, Standard};

    /// Every constant of the interface is a datatype of its own place, and finds its way back.
    fn all_are_known<A: Abi>() {
        let datatypes = Datatypes::new();
        let mut codes: Vec<u32> = A::DATATYPES.iter().map(|(code, _)| *code).collect();
        codes.dedup();
        codes.retain(|code| *code != A::DATATYPE_NULL);
        for &code in &codes {
            assert!(datatypes.get(code).is_none(), "{code:#x} has the place of another one");
            let entry = datatypes.predefined::<A>(code).unwrap_or_else(|| panic!("{code:#x} is unknown"));
            assert!(datatypes.get(code).is_some_and(|found| Rc::ptr_eq(&entry, &found)));
            assert_eq!(entry.core.named().map(code_of::<A>), Some(code));
        }
        let mut places: Vec<usize> = codes.iter().map(|code| place(*code)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), codes.len());
        assert!(datatypes.predefined::<A>(A::DATATYPE_NULL).is_none());
    }

    #[test]
    fn predefined_datatypes_are_known() {
        all_are_known::<Standard>();
        all_are_known::<Mpich>();
    }

    #[test]
    fn sizes_in_mpichs_codes_are_right() {
        for (code, name) in Mpich::DATATYPES.iter().filter(|(code, _)| code >> 24 == 0x4c) {
            let basic = Basic::ALL.iter().find(|basic| basic.name() == *name);
            assert!(basic.is_none_or(|basic| basic.size() == u64::from(code >> 8 & 0xff)), "{name}");
        }
    }
}
