//! Windows in jobs that go on when ranks die (docs/decisions/0098).
//!
//! There a window is made by all ranks that live, or by none, and freed when all that live have come there: they agree
//! on it. In between, whoever would have to wait while a rank of the window is dead gets an error instead, as the dead
//! one may hold the lock, stand in line for it, or have kept others from coming. What needs no wait goes on. Operations
//! take the long way, where they find out whether their target lives, and flushes know which targets they are about.
//!
//! All that ranks share of a window lies in the job's file, which outlives them. Memory of a dead rank that only the
//! kernel copies is gone, and the copy fails.

use std::cell::Cell;

use rwmpi_transport::Presence;

use super::Window;
use crate::activity::Call;
use crate::engine::Failure;
use crate::error::ErrorClass;
use crate::{Communicator, Error, Result};

/// What a rank knows of a window that ranks may leave behind.
pub(super) struct Survival {
    /// By target: whether something has been done to it since it was flushed.
    touched: Box<[Cell<bool>]>,
}

impl Survival {
    pub(super) fn new(ranks: usize) -> Self {
        Survival { touched: vec![Cell::new(false); ranks].into() }
    }
}

impl Communicator {
    /// Makes a window at all ranks that live or at none, where the job goes on when ranks die: nobody gives memory back
    /// that another takes for a window's. `make` must not do anything to the others' memory.
    pub(super) fn make_together(&self, make: impl FnOnce() -> Result<Window>) -> Result<Window> {
        let made = make();
        let all_made = self.all_succeed_in(Call::CreateWindow, made.is_ok())?;
        let window = made?;
        if all_made { Ok(window) } else { Err(self.not_made_by_all()) }
    }

    #[cold]
    fn not_made_by_all(&self) -> Error {
        if let Some(failure) = self.loss() {
            return self.failed(Call::CreateWindow)(failure);
        }
        let what = "another rank could not make its part of the window, and says why".to_owned();
        Error::argument(ErrorClass::NoMemory, self, Call::CreateWindow, what)
    }

    /// Why its ranks should not wait for each other any more, as far as this one has heard.
    fn interruption(&self) -> Option<Failure> {
        self.process().interruption(self.context(), self.group().peers())
    }

    /// The same, after hearing of deaths and revocations.
    fn loss(&self) -> Option<Failure> {
        self.process().heed_failures().err().or_else(|| self.interruption())
    }
}

impl Window {
    /// Why this rank should not wait for others any more, as far as it has heard.
    pub(super) fn interruption(&self) -> Option<Failure> {
        self.shared.communicator.interruption()
    }

    /// Before this rank waits, and leaves traces of that: whether it may.
    ///
    /// # Errors
    /// A rank of the window has died.
    #[cold]
    pub(super) fn check_may_wait(&self, call: Call) -> Result<()> {
        if self.shared.survival.is_none() {
            return Ok(());
        }
        let communicator = &self.shared.communicator;
        communicator.loss().map_or(Ok(()), |failure| Err(communicator.failed(call)(failure)))
    }

    /// An operation on a target is about to be done.
    ///
    /// # Errors
    /// It has died.
    #[inline]
    pub(super) fn touch(&self, rank: usize) -> Result<()> {
        match &self.shared.survival {
            None => Ok(()),
            Some(survival) => self.touch_living(survival, rank),
        }
    }

    #[cold]
    fn touch_living(&self, survival: &Survival, rank: usize) -> Result<()> {
        self.check_lives(rank)?;
        survival.touched[rank].set(true);
        Ok(())
    }

    fn check_lives(&self, rank: usize) -> Result<()> {
        let peer = self.shared.targets[rank].peer;
        let presence = self.process().engine().presence(peer);
        if presence == Presence::Died { Err(self.failed(Failure::Died { peer })) } else { Ok(()) }
    }

    /// What has been done to these targets has had its effect.
    ///
    /// # Errors
    /// One of those to which something has been done has died.
    #[inline]
    pub(super) fn check_touched(&self, targets: impl Iterator<Item = usize>) -> Result<()> {
        match &self.shared.survival {
            None => Ok(()),
            Some(survival) => {
                let touched = targets.filter(|&target| survival.touched[target].take());
                touched.map(|target| self.check_lives(target)).fold(Ok(()), Result::and)
            }
        }
    }

    /// Frees it when all ranks that live have come here. That others have died is no error, and may have left epochs
    /// open.
    pub(super) fn free_together(&self) -> Result<()> {
        if self.shared.communicator.loss().is_none() {
            self.check_freeable()?;
        }
        self.attributes().delete_all(self)?;
        self.meet_living()
    }

    /// Waits until all ranks that live have come here.
    fn meet_living(&self) -> Result<()> {
        self.order();
        self.shared.communicator.agree_as(Call::FreeWindow, 0).map(drop)
    }

    /// This rank no longer uses the window. Where the job goes on when ranks die, waits until no living rank does;
    /// `false`: that can't be known. `None`: the job ends with the first death.
    #[doc(hidden)]
    pub fn left_by_all(&self) -> Option<bool> {
        self.shared.survival.as_ref().map(|_| self.meet_living().is_ok())
    }
}
