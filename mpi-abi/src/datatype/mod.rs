//! Datatypes (MPI-5.0 chapter 5) by their handles.

pub mod array;
pub mod construct;
pub mod contents;
pub mod object;
pub mod pack;
pub mod query;
pub mod removed;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rwmpi_core::Attributes;
use rwmpi_core::datatype::{Datatype, Parameters};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::attribute::Coded;
use crate::interface::Abi;
use crate::rank::Rank;

/// What C knows about datatypes beyond what they are; most have none of it.
#[derive(Default)]
pub(crate) struct DatatypeRecords {
    /// Codes of those that were asked for by precision and range: asking again gives the same handle (MPI-5.0 section 19.1.9).
    by_parameters: RefCell<HashMap<Parameters, u32>>,
    /// Names and attributes, by code.
    records: RefCell<HashMap<u32, Rc<Record>>>,
}

/// What the program has attached to a datatype.
#[derive(Default)]
struct Record {
    name: RefCell<Option<String>>,
    attributes: Attributes<Coded>,
}

impl Rank {
    /// A handle for a new datatype.
    pub fn add_datatype<A: Abi>(&self, core: Datatype) -> A::Handle {
        let code = self.datatypes.insert(core.clone());
        if core.handle() == 0 {
            core.set_handle(code);
        }
        A::handle(code)
    }

    /// The handle of a datatype by precision and range.
    fn datatype_by_parameters<A: Abi>(&self, parameters: Parameters) -> Result<A::Handle> {
        let codes = &self.datatype_records.by_parameters;
        let known = codes.borrow().get(&parameters).copied();
        if let Some(code) = known {
            return Ok(A::handle(code));
        }
        let handle = self.add_datatype::<A>(Datatype::fortran(parameters)?);
        codes.borrow_mut().insert(parameters, A::code(handle));
        Ok(handle)
    }

    /// Forgets a datatype that the program made.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if it is none that the program made; what a delete function of an attribute says.
    pub fn remove_datatype<A: Abi>(&self, handle: A::Handle) -> Result<()> {
        let datatype = self.datatype::<A>(handle)?;
        if datatype.is_predefined() {
            return Err(Error::new(ErrorClass::Datatype, "predefined datatypes can't be freed"));
        }
        let code = A::code(handle);
        if let Some(record) = self.existing_record(code) {
            record.attributes.delete_all(&Coded(code))?;
        }
        self.datatype_records.records.borrow_mut().remove(&code);
        self.datatypes.remove(code);
        // It may have further handles, from asking for the contents of what was made of it.
        if datatype.handle() == code {
            datatype.set_handle(0);
        }
        Ok(())
    }

    /// Calls `with` with a handle of a datatype: its own, or if it has been freed, one for as long as the call lasts.
    pub(crate) fn with_handle_of<A: Abi>(&self, datatype: &Datatype, with: impl FnOnce(A::Handle)) {
        match datatype.handle() {
            0 => {
                let code = self.datatypes.insert(datatype.clone());
                with(A::handle(code));
                self.datatypes.remove(code);
            }
            code => with(A::handle(code)),
        }
    }

    fn existing_record(&self, code: u32) -> Option<Rc<Record>> {
        self.datatype_records.records.borrow().get(&code).cloned()
    }

    /// The record of a datatype, to attach something.
    fn record(&self, code: u32) -> Rc<Record> {
        self.datatype_records.records.borrow_mut().entry(code).or_default().clone()
    }
}
