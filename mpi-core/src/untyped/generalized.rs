//! Requests that the program itself completes (MPI-5.0 section 13.2).

use std::cell::{Cell, RefCell};

use super::Status;
use crate::Result;

/// What a program says about an operation of its own.
pub struct Generalized {
    query: RefCell<Box<dyn FnMut() -> Result<Status>>>,
    free: RefCell<Box<dyn FnMut() -> Result<()>>>,
    cancel: RefCell<Box<dyn FnMut(bool) -> Result<()>>>,
    complete: Cell<bool>,
    /// The program has freed it; it goes when it is complete.
    freed: Cell<bool>,
}

impl Generalized {
    /// An operation that has begun (MPI_Grequest_start): `query` gives its status when it has completed, `free` is called last,
    /// `cancel` with whether it has completed.
    pub fn new(
        query: impl FnMut() -> Result<Status> + 'static,
        free: impl FnMut() -> Result<()> + 'static,
        cancel: impl FnMut(bool) -> Result<()> + 'static,
    ) -> Self {
        Generalized {
            query: RefCell::new(Box::new(query)),
            free: RefCell::new(Box::new(free)),
            cancel: RefCell::new(Box::new(cancel)),
            complete: Cell::new(false),
            freed: Cell::new(false),
        }
    }

    /// Says that it has completed (MPI_Grequest_complete).
    ///
    /// # Errors
    /// What its free function says, if the program has freed it before.
    pub fn complete(&self) -> Result<()> {
        self.complete.set(true);
        if self.freed.get() { (self.free.borrow_mut())() } else { Ok(()) }
    }

    /// Whether it has completed.
    pub fn is_complete(&self) -> bool {
        self.complete.get()
    }

    pub(super) fn query(&self) -> Result<Status> {
        (self.query.borrow_mut())()
    }

    /// The status, after which it is gone; its free function is called even if the query function fails.
    pub(super) fn finish(&self) -> Result<Status> {
        let status = self.query();
        let freed = (self.free.borrow_mut())();
        let status = status?;
        freed.map(|()| status)
    }

    pub(super) fn cancel(&self) -> Result<()> {
        (self.cancel.borrow_mut())(self.is_complete())
    }

    pub(super) fn freed_by_program(&self) -> Result<()> {
        self.freed.set(true);
        if self.is_complete() { (self.free.borrow_mut())() } else { Ok(()) }
    }
}
