//! The library's own buffer: copies of messages that could not leave at once, so that their sends are complete.
//!
//! Only a rank with a worker has one, since somebody has to see to what it holds while the program is elsewhere. What finds no room in it is
//! sent from where it is.

use std::cell::Cell;
use std::rc::Rc;

use rwmpi_transport::Fabric;

use super::operation::Stage;
use super::pieces::Source;
use super::{Engine, Operation, OperationId, SendMode};
use crate::buffer::owned_span;

/// How much it holds.
#[derive(Debug, Default)]
pub(crate) struct LibraryBuffer {
    /// Bytes, at most.
    pub(super) size: usize,
    used: Cell<usize>,
}

/// A copy of a message, which its send reads instead of the program's memory.
#[derive(Debug)]
pub(crate) struct OwnedData {
    bytes: Vec<u8>,
    /// Where it counts.
    counted: Option<Rc<LibraryBuffer>>,
}

impl From<Vec<u8>> for OwnedData {
    fn from(bytes: Vec<u8>) -> Self {
        OwnedData { bytes, counted: None }
    }
}

impl Drop for OwnedData {
    fn drop(&mut self) {
        if let Some(buffer) = &self.counted {
            buffer.used.set(buffer.used.get() - self.bytes.len());
        }
    }
}

impl<F: Fabric> Engine<F> {
    /// Lets sends complete as soon as they are copied, up to so many bytes at a time.
    pub(crate) fn buffer_sends(&mut self, size: usize) {
        self.buffer = Rc::new(LibraryBuffer { size, used: Cell::new(0) });
    }

    /// Copies what is sent into the buffer, and has it sent from there; false if there is no room, or the caller does not care.
    pub(super) fn copy_to_buffer(&mut self, id: OperationId, data: &mut Source, mode: SendMode) -> bool {
        let (len, buffer) = (data.len(), &self.buffer);
        if mode != SendMode::Standard || len > buffer.size - buffer.used.get() || self.reads_from_copy(id) {
            return false;
        }
        let Operation::Send(send) = &mut self.operations[id as usize] else { return false };
        let mut bytes = vec![0; len];
        data.part(0, len).copy_to(bytes.as_mut_slice().into());
        *data = Source::Span(owned_span(&bytes));
        buffer.used.set(buffer.used.get() + len);
        send.owned = Some(OwnedData { bytes, counted: Some(buffer.clone()) });
        true
    }

    /// The same for a send that has not begun to leave.
    pub(super) fn copy_queued(&mut self, id: OperationId) {
        let Operation::Send(send) = &mut self.operations[id as usize] else { return };
        if !matches!(send.stage, Stage::Queued { .. }) {
            return;
        }
        let (mut data, mode) = (std::mem::take(&mut send.data), send.mode);
        self.copy_to_buffer(id, &mut data, mode);
        if let Operation::Send(send) = &mut self.operations[id as usize] {
            send.data = data;
        }
    }

    /// Whether an operation needs nothing of the program's any more: a send that reads from a copy.
    pub(crate) fn reads_from_copy(&self, id: OperationId) -> bool {
        matches!(&self.operations[id as usize], Operation::Send(send) if send.owned.is_some())
    }
}
