//! When a peer sleeps, and what wakes it; the same for its progress thread ([`crate::ProgressThread`]), which sleeps
//! behind the same flag.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::NodeFabric;
use crate::layout::{CELLS, QUEUES};
use crate::primitive::Ordering;
use crate::progress_thread::SleepState;
use crate::ring::{Consumer, Producer};
use crate::sleep::{self, ASLEEP, ASLEEP_FOR_ROOM, AWAKE, RING};
use crate::{Backoff, SharedMemory};

impl NodeFabric {
    /// This peer will have a progress thread, which sleeps there.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn employ(&mut self) -> io::Result<Arc<SleepState>> {
        self.employ_with(None)
    }

    /// The same for a peer that sleeps where its sockets are; the descriptor is readable when one of them has
    /// something.
    pub(crate) fn employ_with(&mut self, sockets: Option<OwnedFd>) -> io::Result<Arc<SleepState>> {
        let sleep_state = Arc::new(SleepState::new(self.segment.clone(), self.end(self.me), sockets)?);
        self.progress_thread = Some(sleep_state.clone());
        Ok(sleep_state)
    }

    /// Has whoever has something for this peer ring from now on, though the caller does not wait; false if there is
    /// something to do already. Requests are heeded only if somebody awaits them.
    pub fn arm_doorbell(&mut self, heeds_requests: bool) -> bool {
        self.arm_doorbell_for(heeds_requests, 0)
    }

    pub(crate) fn arm_doorbell_for(&mut self, heeds_requests: bool, ring: u32) -> bool {
        let queues = if heeds_requests { 2 } else { 1 };
        self.announce_sleep(&mut Backoff::default(), ring, queues).is_some()
    }

    /// A peer that waits for sockets, and has to be rung there as something was done here that it wants to know.
    #[inline]
    pub(crate) fn next_to_ring(&mut self) -> Option<usize> {
        self.to_ring.pop()
    }

    /// The converse: nobody needs to ring.
    pub fn disarm_doorbell(&self) {
        self.has_slept();
    }

    /// The caller itself has taken back the flag behind which a progress thread may sleep, too.
    fn wake_progress_thread(&self) {
        if let Some(thread) = &self.progress_thread {
            thread.wake();
        }
    }

    /// The caller is about to sleep in some way that its peers of this node need not end.
    pub(crate) fn sleeps_elsewhere(&self) {
        self.control(self.me).sleeping.store(ASLEEP | RING, Ordering::Relaxed);
    }

    /// From now on pops are of interest to a progress thread that listens to pushes only.
    pub(super) fn ask_for_room(&self) {
        if self.progress_thread.is_some() && self.control(self.me).sleeping.load(Ordering::Relaxed) & !RING == ASLEEP {
            // Awake, it will come when the caller has gone, and know better.
            self.has_slept();
        }
    }

    /// Before the caller sleeps in some other way than here: from now on whoever has something for this peer is told to
    /// ring. False, and nothing of the kind, if there is something to do already. After it, [`NodeFabric::has_slept`].
    pub(crate) fn goes_to_sleep(&mut self, backoff: &mut Backoff) -> bool {
        self.announce_sleep(backoff, RING, QUEUES).is_some()
    }

    /// The sleep is over.
    pub(crate) fn has_slept(&self) {
        self.control(self.me).sleeping.store(AWAKE, Ordering::Relaxed);
        self.wake_progress_thread();
    }

    /// Sleeps, unless there is something to do after all.
    #[cold]
    #[inline(never)]
    pub(super) fn sleep(&mut self, backoff: &mut Backoff) {
        if let Some(how) = self.announce_sleep(backoff, 0, QUEUES) {
            sleep::sleep(&self.control(self.me).sleeping, how);
            self.wake_progress_thread();
        }
    }

    /// Raises the sleeping flag, and says to what, unless there is something to do after all; what waits in the first
    /// so many queues counts.
    fn announce_sleep(&mut self, backoff: &mut Backoff, ring: u32, queues: usize) -> Option<u32> {
        let watches_pops = std::mem::take(&mut self.watches_pops) || self.producers().any(Producer::is_refused);
        let how = ring | if watches_pops { ASLEEP_FOR_ROOM } else { ASLEEP };
        sleep::announce(&self.control(self.me).sleeping, how, self.policy.fences_needed);
        let has_come = self.watched.any(|word, value| self.word(word) >= value);
        self.watched.clear();
        if !has_come && !self.has_something_to_do(watches_pops, queues) {
            return Some(how);
        }
        self.has_slept();
        // Whatever it is, the caller may not be able to take it now: do not ask the kernel for barriers in a tight
        // loop.
        self.policy.back_to_yielding(backoff);
        None
    }

    fn producers(&self) -> impl Iterator<Item = &Producer<CELLS>> {
        self.links.iter().flat_map(|link| link.outgoing.iter().flatten())
    }

    /// The last look before sleeping.
    fn has_something_to_do(&self, watches_pops: bool, queues: usize) -> bool {
        let control = self.control(self.me);
        control.signals.load(Ordering::Acquire) != 0
            || (0..queues).any(|queue| control.openings[queue].load(Ordering::Acquire) != self.inboxes[queue].openings)
            || self.links.iter().any(|link| link.incoming[..queues].iter().flatten().any(Consumer::is_waiting))
            || (watches_pops && self.producers().any(Producer::has_news))
    }
}
