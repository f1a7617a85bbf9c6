//! Sends from copies in the bounce buffer, which are complete before they leave.
//!
//! Sends that the program asked to be buffered are copied unless they leave at once, in memory of their own where there
//! is no room. A rank with a progress thread copies whatever can't leave, since somebody sees to it while the program
//! is elsewhere. Others copy only what they announce to a receiver that was late before: that needs nobody here, as the
//! receiver fetches it from the buffer as it would from the program's memory. What finds no room is sent from where it
//! is.

use std::rc::Rc;

use rwmpi_transport::{Fabric, ReadSpan};

use super::bounce_buffer::{BounceBuffer, OwnedData};
use super::operation::Stage;
use super::pieces::Source;
use super::{Engine, Failure, Operation, OperationId, SendMode};
use crate::Mark;

/// So many looks in vain, some 50 µs of them, make the receiver of a message that has been announced a late one.
pub(super) const LATE: u32 = if cfg!(test) { 3 } else { 1000 };

impl<F: Fabric> Engine<F> {
    /// Lets all sends complete as soon as they are copied, up to so many bytes at a time.
    pub fn buffer_sends(&mut self, size: usize) {
        self.buffer = Rc::new(BounceBuffer::new(size));
        self.copies_all = true;
    }

    /// Whether a send to `peer` had better be copied if it can't leave at once: its caller would like that, and it is
    /// not a copy.
    pub(super) fn wants_copy(&self, id: OperationId, peer: u32, mode: SendMode) -> bool {
        (self.copies_all || self.policy.is_late(peer)) && mode == SendMode::Standard && !self.reads_from_copy(id)
    }

    /// Nothing has happened for [`LATE`] looks: whoever has not come for what was announced to it is late, and this
    /// rank could have gone on with a copy instead of waiting.
    #[cold]
    pub(super) fn note_late_receivers(&mut self) {
        self.looks_in_vain = 0;
        for operation in self.operations.iter() {
            if let Operation::Send(send) = operation
                && send.mode == SendMode::Standard
                && send.stage == Stage::Announced
            {
                self.policy.was_late(send.peer);
            }
        }
    }

    /// Copies what is sent into the buffer, and has it sent from there. There must be room.
    pub(super) fn copy_to_buffer(&mut self, id: OperationId, data: &mut Source) {
        let Operation::Send(send) = &mut self.operations[id] else { return };
        let len = data.len();
        let copy = self.buffer.take(len).filled(|place| data.part(0, len).copy_to(place));
        *data = Source::Span(copy.span());
        send.owned = Some(Box::new(copy));
    }

    /// Copies what a send reads, unless it is a copy already, whether or not there is room for it.
    pub(super) fn copy_whole(&mut self, id: OperationId) {
        let Operation::Send(send) = &mut self.operations[id] else { return };
        if send.owned.is_some() {
            return;
        }
        let len = send.data.len();
        let copy = OwnedData::uncounted(len).filled(|place| send.data.part(0, len).copy_to(place));
        send.data = Source::Span(copy.span());
        send.owned = Some(Box::new(copy));
    }

    /// The same for a send that has not begun to leave, if it may be copied.
    pub(super) fn copy_queued(&mut self, id: OperationId) {
        let Operation::Send(send) = &self.operations[id] else { return };
        let is_queued = matches!(send.stage, Stage::Queued { .. });
        let is_copied = self.copies_all && self.wants_copy(id, send.peer, send.mode);
        if !is_queued || !is_copied || !self.buffer.has_room(send.data.len()) {
            return;
        }
        let Operation::Send(send) = &mut self.operations[id] else { return };
        let mut data = std::mem::take(&mut send.data);
        self.copy_to_buffer(id, &mut data);
        if let Operation::Send(send) = &mut self.operations[id] {
            send.data = data;
        }
    }

    /// A send whose data the library keeps a copy of: completes for the caller at once (buffered mode).
    pub fn start_buffered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'_>,
    ) -> Result<Option<OperationId>, Failure> {
        let mark = self.mark;
        if self.push_small(peer, context, tag, data, mark)? {
            self.count_message(peer, data.len() as u64);
            self.mark = Mark::NONE;
            return Ok(None);
        }
        let len = data.len();
        let room = match self.buffer.has_room(len) {
            true => self.buffer.take(len),
            false => OwnedData::uncounted(len),
        };
        let copy = room.filled(|place| data.copy_to(place));
        let id = self.start_send(peer, context, tag, copy.span(), SendMode::InPlace)?;
        if let Some(id) = id
            && let Operation::Send(send) = &mut self.operations[id]
        {
            send.owned = Some(Box::new(copy));
        }
        Ok(id)
    }

    /// Whether an operation needs nothing of the program's any more: a send that reads from a copy.
    pub fn reads_from_copy(&self, id: OperationId) -> bool {
        matches!(&self.operations[id], Operation::Send(send) if send.owned.is_some())
    }
}
