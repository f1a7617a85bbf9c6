//! Communicators by handle.
//!
//! One that was revoked is *hidden*: the calls that communicate do not find it, which costs those that do nothing, and
//! learn the reason when they look why. Local calls look for it where it is.

use std::rc::Rc;

use rwmpi_core::{Communicator, Error, ErrorClass, Result};

use super::Rank;
use crate::entry::CommunicatorEntry;
use crate::interface::Abi;

impl Rank {
    /// The communicator with that handle. Errors of the call go to its error handler from now on.
    ///
    /// # Errors
    /// MPI_ERR_COMM if there is none.
    #[inline]
    pub fn communicator<A: Abi>(&self, handle: A::Handle) -> Result<Rc<CommunicatorEntry>> {
        let code = A::code(handle);
        self.lock.set_note(code);
        if code == self.found[0].get() {
            return Ok(self.predefined[0].clone());
        }
        match self.communicators.get(code) {
            Some(entry) => Ok(entry),
            None => self.other_communicator::<A>(code),
        }
    }

    #[cold]
    fn other_communicator<A: Abi>(&self, code: u32) -> Result<Rc<CommunicatorEntry>> {
        if self.hidden::<A>(code).is_some() {
            return Err(revoked());
        }
        if code == A::COMM_SELF {
            return Ok(self.predefined[1].clone());
        }
        if let Some(entry) = self.lane_of(code).communicators.get(code) {
            return Ok(entry);
        }
        self.lock.set_note(0);
        let what = if code == A::COMM_NULL {
            "the communicator is MPI_COMM_NULL".to_string()
        } else {
            format!("{code:#x} is no communicator: it was freed or never was one")
        };
        Err(Error::new(ErrorClass::Communicator, what))
    }

    /// A handle for a new communicator, which takes on the error handler of the one it was made from.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM if there are no more handles.
    pub fn add_communicator<A: Abi>(&self, core: Communicator, parent: &CommunicatorEntry) -> Result<A::Handle> {
        let error_handler = parent.error_handler.clone();
        self.add_entry::<A>(CommunicatorEntry { core, error_handler })
    }

    /// A handle for a new communicator.
    pub(crate) fn add_entry<A: Abi>(&self, entry: CommunicatorEntry) -> Result<A::Handle> {
        let core = entry.core.clone();
        let code = self.lane(core.lane()).communicators.insert(Rc::new(entry))?;
        core.set_mark(code as usize);
        Ok(A::handle(code))
    }

    /// The handle of a communicator that has one.
    pub fn handle_of<A: Abi>(&self, communicator: &Communicator) -> A::Handle {
        A::handle(communicator.mark() as u32)
    }

    /// Forgets a communicator that the program made.
    ///
    /// # Errors
    /// MPI_ERR_COMM if it is none that the program made.
    pub fn remove_communicator<A: Abi>(&self, handle: A::Handle) -> Result<Rc<CommunicatorEntry>> {
        let code = A::code(handle);
        if code == A::COMM_WORLD || code == A::COMM_SELF {
            return Err(Error::new(ErrorClass::Communicator, "MPI_COMM_WORLD and MPI_COMM_SELF can't be freed"));
        }
        self.lane_of(code).communicators.show(code);
        self.lane_of(code).communicators.remove(code).map_or_else(|| self.other_communicator::<A>(code), Ok)
    }

    /// As [`Rank::communicator`], for what can be done with one that was revoked.
    ///
    /// # Errors
    /// MPI_ERR_COMM if there is none.
    pub(crate) fn any_communicator<A: Abi>(&self, handle: A::Handle) -> Result<Rc<CommunicatorEntry>> {
        match self.communicator::<A>(handle) {
            Err(error) if error.class() == ErrorClass::Revoked => self.hidden::<A>(A::code(handle)).ok_or(error),
            found => found,
        }
    }

    /// The communicator with that code, if it was revoked.
    pub(super) fn hidden<A: Abi>(&self, code: u32) -> Option<Rc<CommunicatorEntry>> {
        match place_of_predefined::<A>(code) {
            Some(place) => (self.found[place].get() != code).then(|| self.predefined[place].clone()),
            None => self.lane_of(code).communicators.get_hidden(code),
        }
    }

    /// The communicator with that code was revoked.
    pub(crate) fn hide<A: Abi>(&self, code: u32) {
        match place_of_predefined::<A>(code) {
            Some(place) => self.lanes().iter().for_each(|lane| lane.found[place].set(!code)),
            None => self.lane_of(code).communicators.hide(code),
        }
    }
}

fn place_of_predefined<A: Abi>(code: u32) -> Option<usize> {
    [A::COMM_WORLD, A::COMM_SELF].into_iter().position(|known| known == code)
}

/// Why a communicator that is there is not found.
#[cold]
fn revoked() -> Error {
    Error::new(ErrorClass::Revoked, "the communicator has been revoked")
}
