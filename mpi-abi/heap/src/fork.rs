//! What becomes of the heap at `fork`.
//!
//! The parent makes most of its memory private: it maps the same pages of the file in a way that whoever writes to one,
//! parent or child, gets a copy of it. The child inherits that, and nothing is copied that nobody changes. The file's
//! pages stay as they are until no child can look at them any more (`heirs`).
//!
//! What peers may write to has to stay shared, and what is short is not worth a mapping of its own: these are copied to
//! private memory, which the child inherits and moves to where they were. Nothing needs to be agreed between the two.
//! Nothing here takes memory of an allocator, which a signal may have interrupted.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use rwmpi_transport::{Mark, PageMarks};

use crate::heap::Heap;
use crate::heirs::Inheritance;

/// From so many bytes on that follow each other a copy is to be in huge pages, for the sake of fewer faults.
const IN_HUGE_PAGES: usize = 4 << 20;

/// What the forking process keeps between before and after.
pub(crate) struct Fork {
    copy: Option<Copy>,
    inheritance: Option<Inheritance>,
}

/// Private memory with the contents of what stays shared, at the same distances as in the arena.
struct Copy {
    start: NonNull<u8>,
    /// Which bytes of the arena it stands for.
    span: Range<usize>,
    /// Behind them: the marks of all pages up to the end of the span, as they are when the child is made.
    marks: usize,
}

impl Fork {
    /// Before: in the process that has the arena.
    pub(crate) fn prepare(heap: &mut Heap) -> Fork {
        let inheritance = heap.make_private();
        let copy = heap.span().and_then(|span| Copy::of(heap, span));
        // Without memory for a copy of all a child that asks for its blocks is ended by the system, and one that
        // becomes another program, as most do, is not; but without static data no program can, so these are tried
        // alone.
        let copy = copy.or_else(|| Copy::of(heap, heap.static_span()?));
        Fork { copy, inheritance }
    }

    /// After, in the parent.
    pub(crate) fn end(self) {
        self.inheritance.into_iter().for_each(Inheritance::renounce);
        if let Some(copy) = self.copy {
            // SAFETY: the mapping is ours, and nobody else knows of it.
            let _ = unsafe { rustix::mm::munmap(copy.start.as_ptr().cast(), copy.len()) };
        }
    }

    /// After, in the child: what is left of the arena that is the parent's goes. Gives the addresses of the blocks:
    /// beyond them the system may place what it likes.
    pub(crate) fn install(self, heap: &Heap) -> Range<usize> {
        let all = || heap.span().unwrap_or(0..0);
        let span = self.copy.as_ref().map_or_else(all, |copy| copy.span.clone());
        let first_block = span.start.max(heap.static_span().map_or(0, |span| span.end)).min(span.end);
        match self.copy {
            Some(copy) => copy.install(heap),
            None => unmap_shared(heap, span.clone()),
        }
        let arena = heap.addresses();
        let blocks = arena.start + first_block..arena.start + span.end;
        unmap(&(arena.start..blocks.start));
        unmap(&(blocks.end..arena.end));
        blocks
    }
}

impl Copy {
    fn of(heap: &Heap, span: Range<usize>) -> Option<Copy> {
        let marks = heap.marks().bytes_up_to(span.end);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (len, protection) = (span.len() + marks, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, wherever there is room for it.
        let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, flags) };
        let copy = Copy { start: NonNull::new(start.ok()?.cast::<u8>())?, span, marks };
        heap.marks().copy_to(copy.words());
        heap.shared_contents(&copy.marks(), copy.span.clone(), |bytes| {
            let (from, to) = (heap.at(bytes.start).as_ptr(), copy.at(bytes.start).as_ptr());
            if bytes.len() >= IN_HUGE_PAGES {
                // SAFETY: the mapping is ours. Where this is refused, so be it.
                let _ = unsafe { rustix::mm::madvise(to.cast(), bytes.len(), Advice::LinuxHugepage) };
            }
            // SAFETY: both have that many bytes, since these lie within the span. The program, or a peer, may write to
            // the block at the same time, as it may while the kernel forks: it then gets either in the copy.
            unsafe { to.copy_from_nonoverlapping(from, bytes.len()) };
        });
        Some(copy)
    }

    fn len(&self) -> usize {
        self.span.len() + self.marks
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(self.span.contains(&offset));
        // SAFETY: it lies within the span, so that this is part of the copy.
        unsafe { self.start.add(offset - self.span.start) }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: within the mapping, behind whole pages; zero is valid for atomics, and all use them as such.
        unsafe {
            let first = self.start.add(self.span.len()).cast::<AtomicU64>();
            std::slice::from_raw_parts(first.as_ptr(), self.marks / size_of::<AtomicU64>())
        }
    }

    fn marks(&self) -> PageMarks<'_> {
        PageMarks::of(self.words())
    }

    /// Moves all of it to where the blocks are, except what these have as private memory already.
    fn install(&self, heap: &Heap) {
        heap.without_foreign(self.span.clone(), |bytes| {
            for (run, _) in self.marks().runs(bytes).filter(|(_, mark)| *mark != Mark::Private) {
                for (part, to) in heap.places(run) {
                    let (from, to, len) = (self.at(part.start).as_ptr().cast(), to.as_ptr().cast(), part.len());
                    // SAFETY: the copy is ours; what is mapped at the new place is a part of the arena that was copied.
                    let moved = unsafe { rustix::mm::mremap_fixed(from, len, len, MremapFlags::MAYMOVE, to) };
                    if moved.is_err() {
                        // Where the system refuses, the place is to be empty.
                        unmap(&(to as usize..to as usize + len));
                    }
                }
            }
        });
    }
}

/// For a child without a copy, which has nothing but what is private: the rest is its parent's.
fn unmap_shared(heap: &Heap, span: Range<usize>) {
    heap.without_foreign(span, |bytes| {
        for (run, _) in heap.marks().runs(bytes).filter(|(_, mark)| *mark != Mark::Private) {
            for (part, place) in heap.places(run) {
                let start = place.as_ptr() as usize;
                unmap(&(start..start + part.len()));
            }
        }
    });
}

fn unmap(addresses: &Range<usize>) {
    if !addresses.is_empty() {
        let start = std::ptr::with_exposed_provenance_mut(addresses.start);
        // SAFETY: in a child, of what is only its parent's.
        let _ = unsafe { rustix::mm::munmap(start, addresses.len()) };
    }
}
