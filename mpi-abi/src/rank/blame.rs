//! What the present call is about, and so whose error handler its errors go to (MPI-5.0 section 9.3).

use rwmpi_core::Communicator;

use super::Rank;
use crate::big_lock::{self, BIG_LOCKS};
use crate::error::{ErrorHandler, Object};
use crate::interface::Abi;

/// What the present call is about ([`rwmpi_core::BigLock::note`]) is the code of a communicator, session, window or
/// file, to whose handler errors go, 0 for nothing, or this: files that are not open. No handle has it.
const FILES: u32 = u32::MAX;

/// The present call is about no object with an error handler; it may come at any time.
pub(crate) fn blame_nobody() {
    BIG_LOCKS.of(big_lock::lane()).set_note(0);
}

impl Rank {
    /// The error handler for what went wrong in the present call: that of what it is about, or MPI_COMM_WORLD's.
    pub(crate) fn handler_of_present_call<A: Abi>(&self) -> (Object<A>, ErrorHandler) {
        let code = self.lock.note();
        if code == FILES {
            return (Object::File(A::file(A::FILE_NULL)), self.file_error_handler.borrow().clone());
        }
        if let Some(session) = self.sessions.get(code) {
            return (Object::Handle(A::handle(code)), session.error_handler.borrow().clone());
        }
        if let Some(window) = self.windows.get(code) {
            return (Object::Handle(A::handle(code)), window.error_handler.borrow().clone());
        }
        if let Some(file) = self.files.get(code) {
            return (Object::File(A::file(code)), file.error_handler.borrow().clone());
        }
        let entry = match code {
            _ if code == A::COMM_SELF => Some(self.predefined[1].clone()),
            _ => self.lane_of(code).communicators.get(code).or_else(|| self.hidden::<A>(code)),
        };
        match entry {
            Some(entry) => (Object::Handle(A::handle(code)), entry.error_handler.borrow().clone()),
            None => {
                let world = self.predefined[0].error_handler.borrow().clone();
                (Object::Handle(A::handle(A::COMM_WORLD)), world)
            }
        }
    }

    /// Lets errors of the present call go to MPI_FILE_NULL's handler.
    pub(crate) fn blame_files(&self) {
        self.lock.set_note(FILES);
    }

    /// Lets errors of the present call go to the handler of what has that code.
    #[inline]
    pub(crate) fn blame_code(&self, code: u32) {
        self.lock.set_note(code);
    }

    /// Lets errors of the present call go to that communicator's handler.
    #[inline]
    pub fn blame(&self, communicator: &Communicator) {
        self.lock.set_note(communicator.mark() as u32);
    }
}
