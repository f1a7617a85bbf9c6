//! Requests that the program itself completes (MPI-5.0 section 13.2).

use std::cell::Cell;

use super::Status;
use crate::Result;

/// What a program says about an operation of its own.
pub struct Generalized {
    query: Box<dyn Fn() -> Result<Status>>,
    free: Box<dyn Fn() -> Result<()>>,
    cancel: Box<dyn Fn(bool) -> Result<()>>,
    complete: Cell<bool>,
    /// The program has freed it; it goes when it is complete.
    freed: Cell<bool>,
}

impl Generalized {
    /// An operation that has begun (MPI_Grequest_start): `query` gives its status when it has completed, `free` is
    /// called last, `cancel` with whether it has completed.
    pub fn new(
        query: impl Fn() -> Result<Status> + 'static,
        free: impl Fn() -> Result<()> + 'static,
        cancel: impl Fn(bool) -> Result<()> + 'static,
    ) -> Self {
        Generalized {
            query: Box::new(query),
            free: Box::new(free),
            cancel: Box::new(cancel),
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
        if self.freed.get() { (self.free)() } else { Ok(()) }
    }

    /// Whether it has completed.
    pub fn is_complete(&self) -> bool {
        self.complete.get()
    }

    pub(super) fn query(&self) -> Result<Status> {
        (self.query)()
    }

    /// The status, after which it is gone; its free function is called even if the query function fails.
    pub(super) fn finish(&self) -> Result<Status> {
        let status = self.query();
        let freed = (self.free)();
        let status = status?;
        freed.map(|()| status)
    }

    /// Calls its cancel function, which may complete it (MPI_Cancel).
    ///
    /// # Errors
    /// What that function says.
    pub fn cancel(&self) -> Result<()> {
        (self.cancel)(self.is_complete())
    }

    pub(super) fn freed_by_program(&self) -> Result<()> {
        self.freed.set(true);
        if self.is_complete() { (self.free)() } else { Ok(()) }
    }
}
