//! Making operations on elements of a peer's memory atomic where the processor has no operation for them.
//!
//! One rule for all peers, so that two of them never choose differently: it knows nothing but where an element lies and
//! how long it is. An element of 1, 2, 4 or 8 bytes in the job's file that is aligned is changed by the processor's
//! operations ([`ElementLock::change`]), or by whoever is alone with the memory; every other under the lock of the peer
//! whose memory it is. That covers elements that are longer or not aligned, and all elements in memory that not every
//! peer has mapped: the kernel copies them to and fro, which takes two calls.
//!
//! The lock is a word of its owner's control block: 0, free; 1, taken; 2, taken, and somebody may sleep until it is
//! free. Who has it makes no call that waits, so it is held for microseconds. A peer that dies with it ends the job,
//! and so all that wait for it.

mod announcement;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::primitive;
use crate::segment::{ControlsPlace, Segment};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

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
    is_private: bool,
    /// Not every peer takes part in barriers that others put on its processor.
    fences_needed: bool,
}

impl ElementLock {
    /// For memory of the end `owner`, used by the end `me`; is it private to its process? Only when all have attached.
    pub(crate) fn new(segment: Arc<Segment>, owner: usize, me: usize, is_private: bool) -> ElementLock {
        let fences_needed = segment.header().fences_needed.load(Ordering::Acquire) != 0;
        let [owner, me] = [owner, me].map(|end| segment.controls_from(end));
        ElementLock { segment, owner, me, is_private, fences_needed }
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
        let word = self.word();
        if word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            wait(word);
        }
        LockedElements { lock: self }
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        &self.segment.control_of(self.owner, 0).elements
    }
}

#[cold]
fn wait(word: &AtomicU32) {
    let is_taken = |taken| word.compare_exchange(FREE, taken, Ordering::Acquire, Ordering::Relaxed).is_ok();
    for look in 0..LOOKS + OFFERS {
        if word.load(Ordering::Relaxed) == FREE && is_taken(TAKEN) {
            return;
        }
        if look < LOOKS { std::hint::spin_loop() } else { primitive::yield_now() }
    }
    // From now on whoever gives it back wakes all that sleep, of whom all but one come back here.
    while word.swap(AWAITED, Ordering::Acquire) != FREE {
        primitive::futex_wait(word, AWAITED, LONGEST_SLEEP);
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
        if word.swap(FREE, Ordering::Release) == AWAITED {
            primitive::futex_wake(word);
        }
    }
}

#[cfg(test)]
mod tests;
