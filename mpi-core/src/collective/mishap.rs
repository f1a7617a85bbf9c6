//! A function of the program's that a reduction calls, and what goes wrong with it.

use std::any::Any;
use std::cell::Cell;
use std::hint::cold_path;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::engine::Failure;

/// What has gone wrong with a function of the program's.
#[derive(Default)]
pub(super) struct Mishap {
    /// Whether some rank's contribution was no value.
    pub(super) no_value: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
    has_panicked: Cell<bool>,
}

impl Mishap {
    /// Calls the function. The other ranks are to learn of a panic before it goes on, by [`Mishap::outcome`].
    #[inline]
    pub(super) fn guard(&self, combine: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(combine)) {
            self.panic.set(Some(panic));
            self.has_panicked.set(true);
        }
    }

    #[inline]
    pub(super) fn failure(&self, of: &'static str) -> Option<Failure> {
        match (self.has_panicked.get(), self.no_value.get()) {
            (false, false) => None,
            (true, _) => Some(Failure::Panicked),
            (_, true) => Some(Failure::NoValue { place: None, of }),
        }
    }

    /// At the end of the collective.
    ///
    /// # Panics
    /// If the function did, with its message.
    pub(super) fn outcome(&self, of: &'static str) -> Result<(), Failure> {
        if !self.has_panicked.get() && !self.no_value.get() {
            return Ok(());
        }
        cold_path();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        self.failure(of).map_or(Ok(()), Err)
    }
}
