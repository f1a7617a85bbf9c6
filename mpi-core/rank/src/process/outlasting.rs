//! What outlasts the call that has begun it: buffered sends, operations that were given up, slots that others may still
//! look at. Invariant: nothing of it refers to memory of the program, which may be gone.

use super::Process;
use crate::engine::{Failure, OperationId};

/// Memory that its owner uses no more, at which others may still look.
pub trait Retired {
    /// Whether others may still look at it.
    fn is_in_use(&self, process: &Process) -> bool;
}

impl Process {
    /// Lets go of a send that needs nothing of the program's any more; false if it does.
    #[cold]
    pub fn leaves_from_copy(&self, id: OperationId) -> bool {
        let is_copied = self.engine().reads_from_copy(id);
        if is_copied {
            self.detach(id);
        }
        is_copied
    }

    /// Keeps a buffered send until it is done.
    pub fn detach(&self, id: OperationId) {
        let mut detached = self.detached.borrow_mut();
        detached.push(id);
        let mut engine = self.engine();
        detached.retain(|&id| engine.collect(id).is_none());
    }

    /// How many operations and nonblocking collectives have been started whose results nobody has taken.
    pub fn open(&self) -> usize {
        self.engine().operations_open() + self.tasks.open()
    }

    /// Keeps what goes on by itself until it has ended, which `has_ended` says.
    pub fn abandon(&self, has_ended: Box<dyn FnMut() -> bool>) {
        self.forget_ended();
        self.abandoned.borrow_mut().push(has_ended);
    }

    /// Whether nothing goes on by itself any more.
    fn forget_ended(&self) -> bool {
        let mut going_on = self.abandoned.take();
        going_on.retain_mut(|has_ended| !has_ended());
        self.abandoned.borrow_mut().append(&mut going_on);
        self.abandoned.borrow().is_empty()
    }

    /// Waits for all that goes on by itself.
    pub fn wait_for_abandoned(&self) -> Result<(), Failure> {
        self.wait_for(|| self.forget_ended().then_some(()))
    }

    /// Waits for all buffered sends.
    pub fn collect_detached(&self) -> Result<(), Failure> {
        let wait = |id| match self.wait(id) {
            // Nobody asks any more for what was sent to the dead.
            Err(failure) if failure.is_survived() => Ok(()),
            waited => waited.map(drop),
        };
        self.detached.take().into_iter().try_for_each(wait)
    }

    /// Keeps a slot until nobody looks at it any more.
    pub fn retire(&self, theirs: Box<dyn Retired>) {
        self.retired.borrow_mut().push(theirs);
    }

    /// Gives back the memory of slots at which nobody looks any more.
    pub fn reuse_retired(&self) {
        self.retired.borrow_mut().retain(|theirs| theirs.is_in_use(self));
    }
}
