//! Datatypes (MPI-5.0 chapter 5) by their handles.

pub mod array;
pub mod construct;
pub mod contents;
pub mod object;
pub mod pack;
pub mod query;
pub mod removed;

use std::collections::hash_map::Entry;
use std::rc::Rc;

use rwmpi_core::datatype::{Basic, Datatype, Parameters};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::big_lock::with_all;
use crate::entry::{DatatypeRecord, LentDatatype};
use crate::interface::Abi;
use crate::keyval::Coded;
use crate::rank::Rank;

/// The handle of a predefined datatype.
pub(crate) fn handle_of_basic<A: Abi>(basic: Basic) -> A::Handle {
    A::handle(A::DATATYPES.iter().find(|known| known.1 == basic.name()).map_or(A::DATATYPE_NULL, |known| known.0))
}

impl Rank {
    /// A handle for a new datatype.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if there are no more handles.
    pub fn add_datatype<A: Abi>(&self, core: Datatype) -> Result<A::Handle> {
        let code = self.datatypes.insert(core.clone())?;
        if core.handle() == 0 {
            core.set_handle(code);
        }
        Ok(A::handle(code))
    }

    /// The handle of a datatype by precision and range.
    fn datatype_by_parameters<A: Abi>(&self, parameters: Parameters) -> Result<A::Handle> {
        let codes = &self.datatype_records.by_parameters;
        let known = codes.borrow().get(&parameters).copied();
        if let Some(code) = known {
            return Ok(A::handle(code));
        }
        let handle = self.add_datatype::<A>(Datatype::fortran(parameters)?)?;
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
        match self.datatype_records.lent.borrow_mut().get_mut(&code) {
            Some(lent) => lent.is_freed = true,
            None => drop(self.datatypes.remove(code)),
        }
        // It may have further handles, from asking for the contents of what was made of it.
        if datatype.handle() == code {
            datatype.set_handle(0);
            self.forget_copies(code);
        }
        Ok(())
    }

    /// Calls `with` with a handle of a datatype: its own, or if it has been freed, one for as long as the call lasts.
    /// Should another thread free it meanwhile, that takes effect after the call.
    pub(crate) fn with_handle_of<A: Abi, R>(&self, datatype: &Datatype, with: impl FnOnce(A::Handle) -> R) -> R {
        if datatype.is_predefined() {
            return with(A::handle(datatype.handle()));
        }
        match with_all(|| self.lend_handle_of(datatype)) {
            Ok(code) => {
                let result = with(A::handle(code));
                with_all(|| self.take_handle_back(code));
                result
            }
            // There are no more handles.
            Err(_) => with(A::handle(A::DATATYPE_NULL)),
        }
    }

    fn lend_handle_of(&self, datatype: &Datatype) -> Result<u32> {
        let is_freed = datatype.handle() == 0;
        let code = if is_freed { self.datatypes.insert(datatype.clone())? } else { datatype.handle() };
        let mut lent = self.datatype_records.lent.borrow_mut();
        lent.entry(code).or_insert(LentDatatype { times: 0, is_freed }).times += 1;
        Ok(code)
    }

    fn take_handle_back(&self, code: u32) {
        let mut all = self.datatype_records.lent.borrow_mut();
        if let Entry::Occupied(mut lent) = all.entry(code) {
            lent.get_mut().times -= 1;
            if lent.get().times == 0 && lent.remove().is_freed {
                self.datatypes.remove(code);
            }
        }
    }

    fn existing_record(&self, code: u32) -> Option<Rc<DatatypeRecord>> {
        self.datatype_records.records.borrow().get(&code).cloned()
    }

    /// The record of a datatype, to attach something.
    fn record(&self, code: u32) -> Rc<DatatypeRecord> {
        self.datatype_records.records.borrow_mut().entry(code).or_default().clone()
    }
}
