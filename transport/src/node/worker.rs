//! A peer with a worker ([`crate::Worker`]): when it is rung.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::NodeFabric;
use crate::Backoff;
use crate::sleep::{ASLEEP, RING};
use crate::worker::Cot;

impl NodeFabric {
    /// This peer will have a worker, which sleeps there.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn employ(&mut self) -> io::Result<Arc<Cot>> {
        self.employ_with(None)
    }

    /// The same for a peer that sleeps where its sockets are; the descriptor is readable when one of them has something.
    pub(crate) fn employ_with(&mut self, sockets: Option<OwnedFd>) -> io::Result<Arc<Cot>> {
        let cot = Arc::new(Cot::new(self.segment.clone(), self.me, sockets)?);
        self.worker = Some(cot.clone());
        Ok(cot)
    }

    /// Has whoever has something for this peer ring from now on, though the caller does not wait; false if there is something to do
    /// already. Requests are heeded only if somebody awaits them.
    pub fn hang_bell(&mut self, heeds_requests: bool) -> bool {
        self.hang_bell_for(heeds_requests, 0)
    }

    pub(crate) fn hang_bell_for(&mut self, heeds_requests: bool, ring: u32) -> bool {
        let queues = if heeds_requests { 2 } else { 1 };
        self.announce_sleep(&mut Backoff::default(), ring, queues).is_some()
    }

    /// The converse: nobody needs to ring.
    pub fn take_bell_down(&self) {
        self.has_slept();
    }

    /// The caller itself has taken back the flag behind which a worker may sleep, too.
    pub(super) fn wake_worker(&self) {
        if let Some(worker) = &self.worker {
            worker.wake();
        }
    }

    /// The caller is about to sleep in some way that its peers of this node need not end.
    pub(crate) fn sleeps_elsewhere(&self) {
        self.control(self.me).sleeping.store(ASLEEP | RING, Ordering::Relaxed);
    }

    /// From now on pops are of interest to a worker that listens to pushes only.
    pub(super) fn ask_for_room(&self) {
        if self.worker.is_some() && self.control(self.me).sleeping.load(Ordering::Relaxed) & !RING == ASLEEP {
            // Awake, it will come when the caller has gone, and know better.
            self.has_slept();
        }
    }
}
