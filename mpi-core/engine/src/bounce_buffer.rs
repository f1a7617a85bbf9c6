//! The library's own buffer: memory for copies of messages that could not leave at once, and how much of it is taken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rwmpi_transport::{ReadSpan, WriteSpan};

use super::buffer_pool::BufferPool;
use crate::buffer::owned_span;

/// What a message counts for besides its length: many short ones are not to take more memory than a long one.
const OVERHEAD: usize = 256;

/// Bytes of copies that a rank keeps at a time, at most, unless it is told otherwise.
pub const USUAL_SIZE: usize = 1 << 20;

/// How much it holds.
#[derive(Debug)]
pub struct BounceBuffer {
    /// Bytes, at most.
    size: usize,
    used: Cell<usize>,
    /// Memory of earlier copies.
    pool: RefCell<BufferPool>,
}

impl BounceBuffer {
    /// One that holds so many bytes.
    pub(super) fn new(size: usize) -> BounceBuffer {
        BounceBuffer { size, used: Cell::new(0), pool: RefCell::new(BufferPool::new(size)) }
    }

    /// Whether there is room for a copy of so many bytes.
    pub(super) fn has_room(&self, len: usize) -> bool {
        len + OVERHEAD <= self.size - self.used.get()
    }

    /// Memory of so many bytes, or some more.
    pub(super) fn take(self: &Rc<Self>, len: usize) -> OwnedData {
        self.used.set(self.used.get() + len + OVERHEAD);
        let mut bytes = self.pool.borrow_mut().take(len);
        bytes.resize(bytes.len().max(len), 0);
        OwnedData { bytes, len, counted: Some(self.clone()) }
    }

    fn give_back(&self, bytes: Vec<u8>, len: usize) {
        self.used.set(self.used.get() - len - OVERHEAD);
        self.pool.borrow_mut().give_back(bytes);
    }
}

/// A copy of a message, which its send reads instead of the program's memory.
#[derive(Debug)]
pub struct OwnedData {
    /// At least as many as it has.
    bytes: Vec<u8>,
    len: usize,
    /// Where it counts.
    counted: Option<Rc<BounceBuffer>>,
}

impl OwnedData {
    /// Memory of so many bytes that counts nowhere.
    pub(super) fn uncounted(len: usize) -> Self {
        OwnedData { bytes: vec![0; len], len, counted: None }
    }

    /// Filled with `data`, which are as long.
    pub(super) fn filled(mut self, data: impl FnOnce(WriteSpan<'_>)) -> Self {
        data(self.bytes[..self.len].as_mut().into());
        self
    }

    /// For a send that keeps this copy.
    pub(super) fn span(&self) -> ReadSpan<'static> {
        owned_span(&self.bytes[..self.len])
    }
}

impl Drop for OwnedData {
    fn drop(&mut self) {
        if let Some(buffer) = self.counted.take() {
            buffer.give_back(std::mem::take(&mut self.bytes), self.len);
        }
    }
}
