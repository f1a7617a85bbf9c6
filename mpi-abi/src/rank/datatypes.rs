//! Datatypes by handle, and the elements that calls are about.

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::untyped::{Elements, Run, Runs};
use rwmpi_core::{Error, ErrorClass, Result};

use super::Rank;
use crate::argument::Memory;
use crate::interface::{Abi, DATATYPE_PLACES};

#[cold]
fn no_datatype<A: Abi>(code: u32) -> Error {
    let what = if code == A::DATATYPE_NULL {
        "the datatype is MPI_DATATYPE_NULL".to_string()
    } else {
        format!("{code:#x} is no datatype: it was freed or never was one")
    };
    Error::new(ErrorClass::Datatype, what)
}

#[cold]
fn not_committed() -> Error {
    Error::new(ErrorClass::Datatype, "the datatype is not committed: call MPI_Type_commit first")
}

#[cold]
fn negative_count(count: i64) -> Error {
    Error::new(ErrorClass::Count, format!("count {count} is negative"))
}

/// The predefined datatypes of the interface, each at its place.
pub(super) fn predefined_datatypes<A: Abi>() -> Vec<Option<(u32, Datatype)>> {
    let mut datatypes = vec![None; DATATYPE_PLACES];
    for &(code, name) in A::DATATYPES {
        // Other names of a datatype have its code.
        if let Some(&basic) = Basic::ALL.iter().find(|basic| basic.name() == name) {
            let datatype = Datatype::basic(basic);
            datatype.set_handle(code);
            datatypes[A::datatype_place(code)] = Some((code, datatype));
        }
    }
    datatypes
}

impl Rank {
    /// The datatype with that handle.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none.
    #[inline]
    pub fn datatype<A: Abi>(&self, handle: A::Handle) -> Result<Datatype> {
        match self.predefined_datatype::<A>(handle) {
            Some(datatype) => Ok(datatype.clone()),
            None => self.datatypes.get(A::code(handle)).ok_or_else(|| no_datatype::<A>(A::code(handle))),
        }
    }

    /// The same of a predefined one.
    #[inline]
    pub fn predefined_datatype<A: Abi>(&self, handle: A::Handle) -> Option<&Datatype> {
        let code = A::code(handle);
        let (found, datatype) = self.predefined_datatypes.get(A::datatype_place(code))?.as_ref()?;
        (*found == code).then_some(datatype)
    }

    /// The datatype with that handle, which must be committed.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none, or it is not.
    #[inline]
    pub fn committed_datatype<A: Abi>(&self, handle: A::Handle) -> Result<Datatype> {
        let datatype = self.datatype::<A>(handle)?;
        if !datatype.is_committed() {
            return Err(not_committed());
        }
        Ok(if self.lane == 0 { datatype } else { self.copy_of(datatype) })
    }

    /// What this lane uses of a datatype that the first one has.
    fn copy_of(&self, datatype: Datatype) -> Datatype {
        if datatype.named().is_some() {
            // It is from this lane's own table.
            return datatype;
        }
        let mut copies = self.datatype_copies.borrow_mut();
        copies.entry(datatype.handle()).or_insert_with(|| datatype.detached()).clone()
    }

    /// The program has no datatype with that handle any more.
    pub(crate) fn forget_copies(&self, code: u32) {
        for lane in self.lanes() {
            if let Some(copy) = lane.datatype_copies.borrow_mut().remove(&code) {
                copy.set_handle(0);
            }
        }
    }

    /// How so many elements of a predefined datatype lie, and the datatype; `None` if anything is out of the ordinary.
    #[inline(always)]
    pub(crate) fn run<A: Abi>(&self, count: i64, datatype: A::Handle) -> Option<(Run, &Datatype)> {
        let datatype = self.predefined_datatype::<A>(datatype)?;
        Some((Run::of(count.try_into().ok()?, datatype)?, datatype))
    }

    /// The same elements there.
    #[inline(always)]
    pub(crate) fn runs<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Option<Runs> {
        memory.runs_unless_special::<A>(self.run::<A>(count, datatype)?.0)
    }

    /// The elements that a call is about.
    ///
    /// # Errors
    /// MPI_ERR_COUNT, MPI_ERR_TYPE or MPI_ERR_BUFFER for what can't be communicated.
    pub fn elements<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Result<Elements> {
        let datatype = self.checked_datatype::<A>(memory, count, datatype)?;
        Ok(memory.elements(count as u64, datatype))
    }

    /// The same of a message, which goes to or comes from nobody if `nobody` says so: then it has no elements, whatever
    /// the program passes.
    ///
    /// # Errors
    /// As [`Rank::elements`].
    pub(crate) fn elements_unless<A: Abi>(
        &self,
        nobody: bool,
        memory: Memory,
        count: i64,
        datatype: A::Handle,
    ) -> Result<Elements> {
        match nobody {
            false => self.elements::<A>(memory, count, datatype),
            true if count < 0 => Err(negative_count(count)),
            true => Ok(memory.nothing()),
        }
    }

    /// The datatype of so many elements there, if there can be any.
    ///
    /// # Errors
    /// As [`Rank::elements`].
    pub(crate) fn checked_datatype<A: Abi>(&self, memory: Memory, count: i64, datatype: A::Handle) -> Result<Datatype> {
        let datatype = self.committed_datatype::<A>(datatype)?;
        let Ok(number) = u64::try_from(count) else { return Err(negative_count(count)) };
        if memory.is(A::IN_PLACE) {
            return Err(Error::new(ErrorClass::Buffer, "the buffer is MPI_IN_PLACE, which is for collectives only"));
        }
        if memory.is_none_for(number, &datatype) {
            return Err(Error::new(ErrorClass::Buffer, format!("the buffer is a null pointer, the count {count}")));
        }
        Ok(datatype)
    }
}
