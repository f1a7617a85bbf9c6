//! Threads that act as this rank, or as a lane of it, one at a time: a wait lets others in.

use rwmpi_transport::{Backoff, BigLocks};

use super::Process;

impl Process {
    /// From now on several threads act as this lane, each while it has that lock; who waits lets others in.
    pub fn share(&self, locks: &'static BigLocks, lane: usize) -> std::io::Result<()> {
        let lock = locks.of(lane);
        lock.share(self.engine().doorbell()?);
        // It is shared once, by the front end that has made it.
        let _ = self.lock.set(lock);
        if self.lanes.are_several() {
            let _ = self.locks.set(locks);
            self.has_others.set(true);
        }
        Ok(())
    }

    /// Lets other threads of this rank in, if there are any; true if there were.
    #[inline]
    pub(super) fn let_others_in(&self) -> bool {
        let Some(lock) = self.lock.get() else { return false };
        let awaited = self.awaited.get();
        let was_away = lock.let_others_in();
        self.awaited.set(awaited);
        was_away
    }

    /// Lets other threads of this rank in, whatever lanes this one has.
    pub fn step_aside(&self) {
        if !self.stand_aside(&mut Backoff::default()) {
            self.let_others_in();
        }
    }

    /// The locks of all lanes, if there are several and this thread has them all.
    #[inline]
    pub(super) fn locks_of_all(&self) -> Option<&'static BigLocks> {
        self.locks.get().copied().filter(|locks| locks.has_all())
    }

    /// The same where this thread has all lanes: what it waits for may be any lane's.
    #[inline]
    pub(super) fn stand_aside(&self, backoff: &mut Backoff) -> bool {
        let Some(locks) = self.locks_of_all() else { return false };
        let awaited = self.awaited.get();
        locks.stand_aside(backoff);
        self.awaited.set(awaited);
        true
    }

    /// Whether other threads of this rank may want their lock.
    #[inline(always)]
    pub fn others_may_want_lock(&self) -> bool {
        self.lock.get().is_some_and(|lock| !lock.is_biased())
    }
}
