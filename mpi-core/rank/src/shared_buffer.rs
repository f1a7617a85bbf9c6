//! Memory from the shared heap, for programs and for what the library itself keeps where others can read it.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;
use rwmpi_transport::Heap;

/// Elements in the shared heap, where peers on the node write directly; a slice in every other respect.
pub struct Buffer<T> {
    place: Place<T>,
}

enum Place<T> {
    Shared { start: NonNull<T>, len: usize, heap: Heap },
    Ordinary(Vec<T>),
}

// SAFETY: the block belongs to this value alone, as a vector's does; peers write into it only while a request borrows
// it.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above; shared access is through `&[T]`.
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: Pod> Buffer<T> {
    /// Elements that are zero.
    #[doc(hidden)]
    pub fn new(heap: &Heap, len: usize) -> Self {
        let buffer = Self::recycled(heap, len);
        if let Place::Shared { start, len, .. } = buffer.place {
            // SAFETY: the heap gave a block of `len` elements, suitably aligned, to us alone.
            unsafe { start.as_ptr().write_bytes(0, len) };
        }
        buffer
    }

    /// Elements in the shared heap, whatever was there before; `None` if it has no room for them.
    #[doc(hidden)]
    pub fn shared(heap: &Heap, len: usize) -> Option<Self> {
        let block = Layout::array::<T>(len).ok().filter(|layout| layout.size() > 0)?;
        // As in `recycled`.
        let start = heap.allocate(block)?.cast();
        Some(Buffer { place: Place::Shared { start, len, heap: heap.clone() } })
    }

    /// The same, all zero.
    #[doc(hidden)]
    pub fn shared_zeros(heap: &Heap, len: usize) -> Option<Self> {
        let mut buffer = Buffer::<T>::shared(heap, len)?;
        buffer.fill(T::zeroed());
        Some(buffer)
    }

    /// Elements that are whatever was there before.
    #[doc(hidden)]
    pub fn recycled(heap: &Heap, len: usize) -> Self {
        let block = Layout::array::<T>(len).ok().filter(|layout| layout.size() > 0);
        let place = match block.and_then(|layout| heap.allocate(layout)) {
            // Pages of a file are zero or what was written to them: always some value of plain data.
            Some(start) => Place::Shared { start: start.cast(), len, heap: heap.clone() },
            None => Place::Ordinary(vec![T::zeroed(); len]),
        };
        Buffer { place }
    }

    /// Whether the elements really lie in the shared heap.
    pub fn is_shared(&self) -> bool {
        matches!(self.place, Place::Shared { .. })
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Place::Shared { start, heap, .. } = &self.place {
            heap.free(start.cast());
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.place {
            // SAFETY: `new` initialised the block, which is ours until drop.
            Place::Shared { start, len, .. } => unsafe { std::slice::from_raw_parts(start.as_ptr(), *len) },
            Place::Ordinary(elements) => elements,
        }
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.place {
            // SAFETY: as in `deref`, and `&mut self` makes the access unique.
            Place::Shared { start, len, .. } => unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), *len) },
            Place::Ordinary(elements) => elements,
        }
    }
}
