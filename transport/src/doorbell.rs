//! How a thread wakes another one of its own peer that sleeps in the fabric.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::segment::Segment;
use crate::{Signal, signal};

/// Rings at a peer, from any thread of its process.
pub struct Doorbell {
    segment: Arc<Segment>,
    me: usize,
    sockets: Option<SocketDoorbell>,
}

/// Where a peer hears it that sleeps where its sockets are.
pub(crate) struct SocketDoorbell {
    pub(crate) descriptor: Arc<OwnedFd>,
    /// It sleeps nowhere else.
    pub(crate) always: bool,
}

impl Doorbell {
    pub(crate) fn new(segment: Arc<Segment>, me: usize, sockets: Option<SocketDoorbell>) -> Doorbell {
        Doorbell { segment, me, sockets }
    }

    /// Wakes the peer if it sleeps; if it is about to, it will not.
    pub fn ring(&self) {
        let hears_sockets = signal::send(&self.segment, self.me, Signal::Wake);
        if let Some(sockets) = self.sockets.as_ref().filter(|sockets| sockets.always || hears_sockets) {
            // If it can't take more, it has been rung often enough.
            let _ = rustix::io::write(&*sockets.descriptor, &1_u64.to_ne_bytes());
        }
    }
}

impl fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorbell").field("me", &self.me).finish_non_exhaustive()
    }
}
