//! A cell of a ring: one cache line.
#![allow(unsafe_code)]

use crate::primitive::{AtomicU32, UnsafeCell};
use crate::small_copy::copy_small;
use crate::{Header, INLINE_PAYLOAD, ReadSpan};

/// One message slot: exactly one cache line, written by the producer, read by the consumer.
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// Stored (Release) by the producer in `try_push`; loaded (Acquire) by the consumer in `front`.
    pub(super) stamp: AtomicU32,
    /// Written by the producer before the stamp; read by the consumer after it.
    pub(super) body: UnsafeCell<Body>,
}

/// All of a cell but its stamp.
#[repr(C)]
pub(super) struct Body {
    pub(super) len: u32,
    pub(super) header: Header,
    /// The payload, or, if that is longer, where it lies in the data area (the first four bytes).
    pub(super) inline: [u8; INLINE_PAYLOAD],
}

impl Body {
    /// Writes all of it.
    ///
    /// # Safety
    /// It must be the caller's alone, and `inline` have at most [`INLINE_PAYLOAD`] bytes.
    #[inline(always)]
    pub(super) unsafe fn fill(body: *mut Self, header: Header, len: usize, inline: ReadSpan) {
        // SAFETY: by the contract; the payload is readable by that of its span.
        unsafe {
            (*body).len = len as u32;
            // Word by word, as it was made just before: to load at once what several stores have written means to wait
            // until they are done, and before them those to the last cell, whose line may be far away.
            for (index, word) in header.into_iter().enumerate() {
                (&raw mut (*body).header[index]).write_volatile(word);
            }
            copy_small((&raw mut (*body).inline).cast(), inline.start(), inline.len());
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Cell>() == crate::caches::LINE && align_of::<Cell>() == size_of::<Cell>());

#[cfg(test)]
impl Cell {
    /// One that was never written.
    pub(super) fn vacant() -> Self {
        let body = Body { len: 0, header: [0; 4], inline: [0; INLINE_PAYLOAD] };
        Cell { stamp: AtomicU32::new(0), body: UnsafeCell::new(body) }
    }
}

/// The stamp that says "the cell of `position` is published".
#[inline(always)]
pub(super) fn stamp_of(position: u64) -> u32 {
    (position as u32).wrapping_add(1)
}
