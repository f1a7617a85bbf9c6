//! Operations that another thread of the library performs, beside the engine: accesses of files.

use super::Status;
use super::request::{Request, State};
use crate::{Communicator, Result};

/// Such an operation.
pub trait Outside {
    /// Whether it has completed.
    fn is_done(&self) -> bool;
    /// What became of it, once it has.
    ///
    /// # Errors
    /// What went wrong.
    fn result(&self) -> Result<Status>;
}

/// An operation that somebody waits for. As long as it is there, the rank does not sleep where only its engine would
/// wake it.
pub(super) struct Awaiting {
    communicator: Communicator,
    pub(super) operation: Box<dyn Outside>,
}

impl Awaiting {
    /// Waits until nobody touches the program's memory any more, where the engine has failed.
    pub(super) fn end(&self) {
        while !self.operation.is_done() {
            std::thread::yield_now();
        }
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        self.communicator.process().awaits_outside(-1);
    }
}

impl Request {
    /// The request of an operation that is performed outside of the engine. Errors belong to the communicator.
    pub fn outside(communicator: &Communicator, operation: Box<dyn Outside>) -> Self {
        communicator.process().awaits_outside(1);
        let awaiting = Awaiting { communicator: communicator.clone(), operation };
        Request::new(communicator, State::Outside(awaiting))
    }

    /// Whether operations of that communicator can be performed outside of the engine: its rank has but that one.
    pub fn can_be_outside(communicator: &Communicator) -> bool {
        !communicator.process().has_several_engines()
    }
}
