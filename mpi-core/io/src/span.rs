//! Memory that bytes are read to or written from.
//!
//! It is given by address and length, never as a reference: the program's buffers may lie in memory that its peers
//! write.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use rwmpi_core::untyped::Elements;

/// Memory that bytes are read to or written from.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    start: *mut u8,
    len: usize,
    owner: PhantomData<&'a mut [u8]>,
}

impl<'a> Span<'a> {
    /// Of memory that is the library's.
    pub(crate) fn of_bytes(bytes: &'a mut [u8]) -> Self {
        Span { start: bytes.as_mut_ptr(), len: bytes.len(), owner: PhantomData }
    }

    /// Of elements whose bytes lie side by side.
    pub(crate) fn of_elements(elements: &'a Elements) -> Option<Self> {
        let (start, len) = elements.memory()?;
        Some(Span { start, len, owner: PhantomData })
    }

    /// Of any memory.
    ///
    /// # Safety
    /// It is valid for reads and writes as long as the span is used, and no reference is to it.
    pub(crate) unsafe fn new(start: *mut u8, len: usize) -> Self {
        Span { start, len, owner: PhantomData }
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }

    pub(crate) fn start(self) -> *mut u8 {
        self.start
    }

    /// Some of it: none of what lies beyond its end.
    pub(crate) fn part(self, from: usize, len: usize) -> Self {
        let from = from.min(self.len);
        Span { start: self.start.wrapping_add(from), len: len.min(self.len - from), owner: PhantomData }
    }

    /// Copies bytes to its beginning, as many as have room.
    pub(crate) fn fill(self, bytes: &[u8]) {
        // SAFETY: the span is valid for writes by the contract of what it is of, which is never memory that the
        // library has lent to `bytes`.
        unsafe { self.start.copy_from(bytes.as_ptr(), bytes.len().min(self.len)) };
    }

    /// Makes its bytes zero.
    pub(crate) fn clear(self) {
        // SAFETY: as in `fill`.
        unsafe { self.start.write_bytes(0, self.len) };
    }

    /// Copies its bytes, as many as have room.
    #[cfg(test)]
    pub(crate) fn copy_to(self, bytes: &mut [u8]) {
        // SAFETY: as in `fill`, the other way round.
        unsafe { self.start.copy_to(bytes.as_mut_ptr(), bytes.len().min(self.len)) };
    }
}
