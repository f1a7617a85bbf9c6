//! Whom an engine tells about events ([`crate::event`]).

use rwmpi_protocol::Envelope;
use rwmpi_transport::Fabric;

use super::{Engine, Failure};
use crate::communicator::is_collective;
use crate::event::{Event, EventKind, Observer};
use crate::select::MessageWay;
use crate::select::message::small_end;

impl<F: Fabric> Engine<F> {
    /// Has `observer` told about events from now on, or nobody.
    pub(crate) fn observe(&mut self, observer: Option<Observer>) {
        self.observer = observer;
        self.settle_short_cuts();
    }

    /// Whether the ways are open that neither ask whether the engine has failed nor tell anybody what they do.
    pub(super) fn settle_short_cuts(&mut self) {
        self.is_disturbed = self.observer.is_some() || self.poison.is_some();
        self.small_end = match self.is_disturbed {
            true => 0,
            false => small_end(&self.tuning, self.fabric.max_payload(self.fabric.me())),
        };
    }

    /// Whether somebody observes, so that short cuts are closed.
    ///
    /// # Errors
    /// The first failure, if there was one.
    #[inline(always)]
    pub(super) fn is_observed(&self) -> Result<bool, Failure> {
        if self.is_disturbed { self.disturbance() } else { Ok(false) }
    }

    #[cold]
    fn disturbance(&self) -> Result<bool, Failure> {
        self.check_alive().map(|()| true)
    }

    /// A receive from `source` is about to be posted and somebody observes: what has come before it is dealt with
    /// first, so that it is known which of the two was late.
    #[cold]
    pub(super) fn look_before_posting(&mut self) -> Result<(), Failure> {
        self.progress().map(drop)
    }

    /// Tells the observer, if there is one.
    #[inline]
    pub(super) fn tell(&self, kind: EventKind, peer: u32, context: u32, tag: u32, bytes: u64) {
        if let Some(observer) = self.observer {
            observer(&Event { kind, process: peer, is_collective: is_collective(context), tag, bytes });
        }
    }

    /// A message goes that way to `peer`.
    pub(super) fn tell_way(&self, way: MessageWay, peer: u32, envelope: &Envelope, bytes: u64) {
        self.tell(EventKind::WayDecided(way), peer, envelope.context, envelope.tag, bytes);
    }

    /// A message has met a receive that waited for it.
    #[inline]
    pub(super) fn tell_late_sender(&self, envelope: &Envelope, bytes: u64) {
        if self.is_disturbed {
            self.tell(EventKind::LateSender, envelope.source, envelope.context, envelope.tag, bytes);
        }
    }
}
