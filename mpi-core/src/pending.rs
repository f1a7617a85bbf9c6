//! Operations in flight on buffers that a scope lends.

use std::cell::RefCell;
use std::rc::Rc;

use crate::activity::Call;
use crate::communicator::Communicator;
use crate::engine::{Completion, Failure, OperationId, TaskId};
use crate::error::{Error, ErrorClass};
use crate::staged::Staged;
use crate::waiting::Awaited;
use crate::{Result, Status};

/// What is needed to complete an operation.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) communicator: Communicator,
    pub(crate) call: Call,
    pub(crate) flight: Flight,
    pub(crate) check: Check,
    /// Where the buffer's elements are packed meanwhile, if they must be.
    pub(crate) staged: Option<Rc<RefCell<dyn Staged>>>,
}

/// Looks at what has arrived.
pub(crate) type Check = fn(&Completion) -> std::result::Result<(), Failure>;

/// What is in flight.
#[derive(Clone, Copy)]
pub(crate) enum Flight {
    Operation(OperationId),
    Collective(TaskId),
}

impl Pending {
    /// Waits for it; then it must be forgotten.
    #[inline]
    pub(crate) fn wait(&self) -> Result<Status> {
        let process = self.communicator.process();
        let outcome = match self.flight {
            Flight::Operation(id) => process.wait_for_started(id, (self.call, self.communicator.context())),
            Flight::Collective(id) => {
                self.communicator.tell_again(self.call);
                process.wait_for_task(id)
            }
        };
        self.status(outcome)
    }

    /// Whether it has completed, so that waiting for it takes no time. Makes no progress.
    pub(crate) fn has_completed(&self) -> bool {
        let process = self.communicator.process();
        match self.flight {
            Flight::Operation(id) => process.has_completed(id),
            Flight::Collective(id) => process.tasks().is_done(id),
        }
    }

    fn status(&self, outcome: std::result::Result<Completion, Failure>) -> Result<Status> {
        match outcome.and_then(|completion| self.arrived(completion).map(|()| completion)) {
            Ok(completion) => Ok(self.communicator.status_of(completion)),
            Err(failure) => Err(self.communicator.failed(self.call)(failure)),
        }
    }

    #[inline]
    fn arrived(&self, completion: Completion) -> std::result::Result<(), Failure> {
        (self.check)(&completion)?;
        match &self.staged {
            Some(staged) => staged.borrow_mut().arrived(completion.bytes),
            None => Ok(()),
        }
    }

    /// Where it is waited for.
    pub(crate) fn place(&self) -> (Communicator, Call) {
        (self.communicator.clone(), self.call)
    }

    /// What waiting for it waits for.
    pub(crate) fn awaited(&self) -> Awaited {
        match self.flight {
            Flight::Operation(id) => Awaited::Operation(id),
            Flight::Collective(id) => Awaited::Task(id),
        }
    }

    pub(crate) fn cancel(&self) -> Result<()> {
        match self.flight {
            Flight::Operation(id) => {
                let cancelled = self.communicator.process().engine().cancel(id);
                cancelled.map_err(self.communicator.failed(self.call))
            }
            Flight::Collective(_) => Err(not_cancelled(&self.communicator, self.call)),
        }
    }

    /// Ends it as far as that can be done at once, at the price of peers that wait in vain; whether it still has to be
    /// waited for.
    pub(crate) fn give_up(&self) -> bool {
        let process = self.communicator.process();
        match self.flight {
            Flight::Operation(id) => {
                let _ = process.engine().cancel(id);
                true
            }
            Flight::Collective(id) => {
                process.tasks().cancel(id);
                false
            }
        }
    }

    /// Ends a receive; anything else, for which others wait, goes on: then it is to be kept until
    /// [`Pending::has_ended`].
    pub(crate) fn let_go(&self) -> bool {
        if self.call != Call::Receive {
            return true;
        }
        if self.give_up() {
            let _ = self.wait();
        }
        false
    }

    /// Forgets it if it has completed, whatever has come of it.
    pub(crate) fn has_ended(&self) -> bool {
        let process = self.communicator.process();
        match self.flight {
            Flight::Operation(id) => process.has_completed(id) && process.wait(id).map_or(true, |_| true),
            Flight::Collective(id) => process.tasks().discard(id),
        }
    }
}

#[cold]
pub(crate) fn not_cancelled(communicator: &Communicator, call: Call) -> Error {
    let what = "a nonblocking collective can't be cancelled: wait for it".to_string();
    Error::argument(ErrorClass::Request, communicator, call, what)
}
