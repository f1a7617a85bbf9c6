//! Making operations on elements of a peer's memory atomic where the processor has no operation for them.
//!
//! One rule for all peers, so that two of them never choose differently: it knows nothing but where an element lies and
//! how long it is. An element of 1, 2, 4 or 8 bytes in the job's file that is aligned is changed by the processor's
//! operations ([`ElementLock::change`]), or by whoever is alone with the memory; every other under the lock of the peer
//! whose memory it is. That covers elements that are longer or not aligned, and all elements in memory that not every
//! peer has mapped: the kernel copies them to and fro, which takes two calls.
//!
//! The lock is a word of its owner's control block: 0, free; otherwise which end has taken it, and whether somebody may
//! sleep until it is free. Who has it makes no call that waits, so it is held for microseconds. If a peer dies with it,
//! whoever waits for it ends with the job, or, where the job goes on, takes it over.

mod announcement;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::segment::{ControlsPlace, Segment};
use crate::{deaths, primitive};

const FREE: u32 = 0;
/// Somebody may sleep until it is free. The other bits are the number of the end that has it, plus 1.
const AWAITED: u32 = 1;

/// The word while that end has the lock.
fn taken_by(end: usize) -> u32 {
    (end as u32 + 1) << 1
}

/// The end that has the lock while it is taken.
fn holder(word: u32) -> usize {
    ((word >> 1) as usize).saturating_sub(1)
}

/// Looks before the processor is offered to others, and offers before sleeping.
const LOOKS: u32 = 200;
const OFFERS: u32 = 20;
/// Longest sleep: a safety net.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The lock for elements of some memory.
#[derive(Clone)]
pub struct ElementLock {
    segment: Arc<Segment>,
    /// Where the owner's words lie, and those of the end that uses this.
    owner: ControlsPlace,
    me: ControlsPlace,
    /// The word while the end has the lock that uses this.
    taken: u32,
    is_private: bool,
    /// Not every peer takes part in barriers that others put on its processor.
    fences_needed: bool,
}

impl ElementLock {
    /// For memory of the end `owner`, used by the end `me`; is it private to its process? Only when all have attached.
    pub(crate) fn new(segment: Arc<Segment>, owner: usize, me: usize, is_private: bool) -> ElementLock {
        let fences_needed = segment.header().fences_needed.load(Ordering::Acquire) != 0;
        let taken = taken_by(me);
        let [owner, me] = [owner, me].map(|end| segment.controls_from(end));
        ElementLock { segment, owner, me, taken, is_private, fences_needed }
    }

    /// Whether all elements are changed under the lock, as not all peers have the memory mapped.
    #[inline]
    pub fn is_for_all(&self) -> bool {
        self.is_private
    }

    /// Whether an element of so many bytes at that address in this process is changed under the lock.
    #[inline]
    pub fn is_for(&self, address: usize, len: usize) -> bool {
        self.is_private || !matches!(len, 1 | 2 | 4 | 8) || !address.is_multiple_of(len)
    }

    /// Waits until nobody else has the lock.
    #[inline]
    pub fn lock(&self) -> LockedElements<'_> {
        if !self.takes_from(FREE, self.taken) {
            self.wait();
        }
        LockedElements { lock: self }
    }

    /// Changes the word from that to this one.
    #[inline]
    fn takes_from(&self, seen: u32, taken: u32) -> bool {
        self.word().compare_exchange(seen, taken, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        let word = self.word();
        for look in 0..LOOKS + OFFERS {
            if word.load(Ordering::Relaxed) == FREE && self.takes_from(FREE, self.taken) {
                return;
            }
            if look < LOOKS { std::hint::spin_loop() } else { primitive::yield_now() }
        }
        // From now on whoever gives it back wakes all that sleep, of whom all but one come back here.
        let taken = self.taken | AWAITED;
        loop {
            let seen = word.load(Ordering::Relaxed);
            if seen == FREE {
                if self.takes_from(FREE, taken) {
                    return;
                }
            } else if deaths::has_died(&self.segment, holder(seen)) {
                if self.takes_from(seen, taken) {
                    return self.forget_announcement();
                }
            } else if seen & AWAITED != 0 || self.takes_from(seen, seen | AWAITED) {
                primitive::futex_wait(word, seen | AWAITED, LONGEST_SLEEP);
            }
        }
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        &self.segment.control_of(self.owner, 0).elements
    }
}

impl fmt::Debug for ElementLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementLock").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Whoever has this has the lock, until it is dropped.
pub struct LockedElements<'a> {
    lock: &'a ElementLock,
}

impl Drop for LockedElements<'_> {
    #[inline]
    fn drop(&mut self) {
        let word = self.lock.word();
        if word.swap(FREE, Ordering::Release) & AWAITED != 0 {
            primitive::futex_wake(word);
        }
    }
}

#[cfg(test)]
mod tests;
