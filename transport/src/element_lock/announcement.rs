//! Long operations, which change many elements by plain loads and stores, beside short ones, which take no lock.
//!
//! A long one has the lock of the memory and *announces* itself in a word of the memory's owner. A short one raises a
//! flag of its own before it looks at that word: either it sees the announcement, lowers its flag and goes under the
//! lock, or whoever announces itself sees the flag, and waits until it is lowered. The fence that this takes is
//! asymmetric, as that of sleepers is ([`crate::sleep`]): short operations only keep their order, and the announcer has
//! the kernel run a barrier on every core that runs a peer.
//!
//! The announcement outlasts the operation, for where one was long, the next one often is, too, and then it has nothing
//! to announce. It counts the short operations that still go under the lock; the last of them takes it back. It is
//! changed under the lock only.
//!
//! The protocol's model `announced` has all interleavings of this.

use std::time::Duration;

use super::{ElementLock, LOOKS, LockedElements, OFFERS};
use crate::primitive::{self, AtomicU32, Ordering, fence};
use crate::segment::Segment;
use crate::sleep::before_look;
use crate::{AtomicWord, deaths};

/// A flag that is lowered, and one that is raised.
const LOWERED: u32 = 0;
const RAISED: u32 = 1;

/// How many short operations go under the lock after a long one.
const PATIENCE: u32 = 32;

/// A rest while somebody who has raised its flag has been taken off its processor.
const REST: Duration = Duration::from_micros(50);

impl ElementLock {
    /// Changes an element by one atomic operation, which nobody sees in the middle of something.
    #[inline(always)]
    pub fn change<R>(&self, word: AtomicWord<'_>, change: impl FnOnce(AtomicWord<'_>) -> R) -> R {
        match self.raise() {
            Some(_raised) => change(word),
            None => self.after_announced(|| change(word)),
        }
    }

    /// Raises the flag for a short operation. `None`: a long one is announced, and the operation has to be done under
    /// the lock.
    #[inline(always)]
    pub fn raise(&self) -> Option<RaisedFlag<'_>> {
        let flag = &self.segment.control_of(self.me, 0).changes;
        flag.store(RAISED, Ordering::Relaxed);
        let raised = RaisedFlag(flag);
        before_look(self.fences_needed);
        (self.announced().load(Ordering::Acquire) == 0).then_some(raised)
    }

    /// A short operation while a long one is announced.
    #[cold]
    #[inline(never)]
    fn after_announced<R>(&self, change: impl FnOnce() -> R) -> R {
        let locked = self.lock();
        let result = change();
        locked.count_down();
        result
    }

    /// By who has taken the lock over from the dead, who may have announced itself and not waited for all flags yet.
    pub(super) fn forget_announcement(&self) {
        self.announced().store(0, Ordering::Relaxed);
    }

    #[inline]
    fn announced(&self) -> &AtomicU32 {
        &self.segment.control_of(self.owner, 0).announced
    }
}

/// While this is there, elements may be changed by atomic operations.
#[derive(Debug)]
pub struct RaisedFlag<'a>(&'a AtomicU32);

impl Drop for RaisedFlag<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(LOWERED, Ordering::Release);
    }
}

impl LockedElements<'_> {
    /// Whether [`LockedElements::be_alone`] has nothing to wait for, since somebody has announced itself already.
    pub fn is_announced(&self) -> bool {
        self.lock.announced().load(Ordering::Relaxed) > 0
    }

    /// At how many ends it looks for operations on their way.
    pub fn ends(&self) -> usize {
        self.lock.segment.layout().ends
    }

    /// Keeps out those, too, who change an element by one atomic operation, until the lock is given back.
    pub fn be_alone(&self) {
        let announced = self.lock.announced();
        let is_known = self.is_announced();
        announced.store(PATIENCE, Ordering::Relaxed);
        if is_known {
            return;
        }
        // The order matters: nobody must have had its barrier before the announcement can be seen.
        fence(Ordering::SeqCst);
        if !self.lock.fences_needed {
            primitive::barrier_on_all_cores();
        }
        let segment = &self.lock.segment;
        (0..self.ends()).for_each(|end| await_lowered(segment, end));
    }

    /// A short operation has been done under the lock, as a long one was announced, unless that has been taken back
    /// meanwhile.
    fn count_down(&self) {
        let announced = self.lock.announced();
        let left = announced.load(Ordering::Relaxed);
        announced.store(left.saturating_sub(1), Ordering::Release);
    }
}

/// Waits until a short operation of that end's that is on its way has been done, unless its peer has died in it.
fn await_lowered(segment: &Segment, end: usize) {
    let (flag, mut looks) = (&segment.control(end).changes, 0);
    while flag.load(Ordering::Acquire) != LOWERED && !(looks >= LOOKS && deaths::has_died(segment, end)) {
        match looks {
            0..LOOKS => std::hint::spin_loop(),
            _ if looks < LOOKS + OFFERS => primitive::yield_now(),
            _ => primitive::pause(REST),
        }
        looks += 1;
    }
}
