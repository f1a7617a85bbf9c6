//! Whom an engine tells about events ([`crate::event`]), and who takes notes of what it does ([`Notes`]).
//!
//! Neither may cost anything where nobody wants it. So both close the short cuts, and are asked on the long ways alone.

use std::rc::Rc;

use rwmpi_protocol::Envelope;
use rwmpi_transport::Fabric;

use super::operation::ReceiveOperation;
use super::{Engine, Failure, Operation, OperationId, Outcome};
use crate::context::is_collective;
use crate::event::{Event, EventKind, Observer};
use crate::notes::{Notes, part};
use crate::select::MessageWay;
use crate::select::message::small_end;

/// How often an observed rank looks before it waits: what it spends on looks would not be known to be waiting.
const LOOKS: u32 = 4;

impl<F: Fabric> Engine<F> {
    /// Has `observer` told about events from now on, or nobody.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.observer = observer;
        self.settle_short_cuts();
    }

    /// Has `notes` taken from now on.
    pub fn take_notes(&mut self, notes: Rc<dyn Notes>) {
        self.notes = Some(notes);
        self.settle_short_cuts();
    }

    /// How often a waiting rank should look before it does anything else.
    #[inline(always)]
    pub fn patience(&self) -> u32 {
        let patience = self.fabric.patience();
        if self.is_disturbed { patience.min(LOOKS) } else { patience }
    }

    /// Does something, as a call of the program's in that context if nobody else has said that one is under way.
    #[inline(always)]
    pub(super) fn noted<R>(&mut self, context: u32, work: impl FnOnce(&mut Self) -> R) -> R {
        match self.notes.clone() {
            Some(notes) => part(&*notes, || (work(self), Some(u64::from(!is_collective(context))))),
            None => work(self),
        }
    }

    /// Makes progress, which counts as a part of the present call; where there was none to make, it is no part of it,
    /// but waiting.
    #[cold]
    pub(super) fn noted_progress(&mut self) -> Result<bool, Failure> {
        let Some(notes) = self.notes.clone() else { return self.make_progress() };
        part(&*notes, || {
            let moved = self.make_progress();
            (moved, (moved == Ok(true)).then_some(0))
        })
    }

    /// A message leaves.
    pub(super) fn note_sent(&self, peer: u32, context: u32, tag: u32, bytes: u64) {
        if let Some(notes) = &self.notes {
            notes.sent(peer, context, tag, bytes);
        }
    }

    /// An operation has come to its end, which may be a receive.
    #[cold]
    pub(super) fn note_received(&self, id: OperationId, outcome: &Outcome) {
        if let (Some(notes), Operation::Receive(ReceiveOperation { pattern, .. }), Ok(completion)) =
            (&self.notes, &self.operations[id], outcome)
        {
            part(&**notes, || (notes.received(pattern.context, completion), Some(0)));
        }
    }

    /// Whether the ways are open that neither ask whether the engine, or a peer, has failed nor tell anybody what they
    /// do.
    pub(super) fn settle_short_cuts(&mut self) {
        self.is_disturbed = self.observer.is_some() || self.notes.is_some() || self.failed.is_some();
        self.small_end = match self.is_disturbed || self.goes_on() {
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
