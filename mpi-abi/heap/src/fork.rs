//! What becomes of the heap at `fork`.
//!
//! The parent copies what is in use to private memory, which the child inherits; the child moves it to where the blocks were, the parent drops
//! it. Nothing needs to be agreed between the two. The arena itself is kept from children, so the place is empty there.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};

use crate::heap::Heap;

/// Private memory with the contents of all blocks, at the same distances as in the arena.
pub(crate) struct Copy {
    start: NonNull<u8>,
    /// Which bytes of the arena it stands for.
    span: Range<usize>,
}

impl Copy {
    /// A copy of all blocks. `None` if there is nothing to copy, or no memory to copy it to: then a child that asks for its blocks is ended by
    /// the system, and one that becomes another program, as most do, is not; but without static data no program can, so these are tried alone.
    pub(crate) fn of(heap: &Heap) -> Option<Copy> {
        let span = heap.span().filter(|_| !heap.is_copy())?;
        Copy::of_span(heap, span).or_else(|| Copy::of_span(heap, heap.static_span()?))
    }

    fn of_span(heap: &Heap, span: Range<usize>) -> Option<Copy> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, wherever there is room for it.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), span.len(), ProtFlags::READ | ProtFlags::WRITE, flags)
        };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        // Fewer faults; where this is refused, so be it.
        // SAFETY: the mapping is ours.
        let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), span.len(), Advice::LinuxHugepage) };
        let origin = span.start;
        heap.contents(span.clone(), |bytes| {
            let from = heap.at(bytes.start).as_ptr();
            // SAFETY: both have that many bytes, since these lie within the span. The program, or a peer, may write to the block at
            // the same time, as it may while the kernel forks: it then gets either in the copy.
            unsafe { start.add(bytes.start - origin).as_ptr().copy_from_nonoverlapping(from, bytes.len()) };
        });
        Some(Copy { start, span })
    }

    /// In the child: moves the copy to where the blocks were. Gives their addresses: beyond them the system may place what it likes.
    pub(crate) fn install(self, heap: &Heap) -> Range<usize> {
        heap.without_foreign(self.span.clone(), |bytes| {
            for (part, to) in heap.places(bytes) {
                // SAFETY: it lies within the span, so that this is part of the copy.
                let from = unsafe { self.start.add(part.start - self.span.start) };
                let (from, to, len) = (from.as_ptr().cast(), to.as_ptr().cast(), part.len());
                // SAFETY: the copy is ours; nothing is mapped at the new place but what is left of the arena, which a child does not have.
                // Where the system refuses, the place stays empty.
                let _ = unsafe { rustix::mm::mremap_fixed(from, len, len, MremapFlags::MAYMOVE, to) };
            }
        });
        let first_block = heap.static_span().map_or(self.span.start, |span| span.end);
        heap.at(first_block).as_ptr() as usize..heap.at(self.span.end).as_ptr() as usize
    }

    /// In the parent: drops it.
    pub(crate) fn discard(self) {
        // SAFETY: the mapping is ours, and nobody else knows of it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.span.len()) };
    }
}
