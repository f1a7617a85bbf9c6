//! The shared heap of a peer: memory that every peer on the node has mapped, so that a remote write into it is a copy.
//!
//! The bookkeeping is private to the owner's process: nothing that a peer scribbles can confuse it. Pages are reserved
//! as the heap grows, and blocks that were freed are preferred to fresh ones, because the first touch of shared pages
//! is slow.

use std::alloc::Layout as BlockLayout;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ReadSpan;
use crate::blocks::Blocks;
use crate::layout::Part;
use crate::segment::Segment;

/// Unit of allocation, bytes: a cache line, so that two blocks never share one.
const UNIT: usize = 64;
/// Pages are reserved in portions of at least this many bytes.
const SMALLEST_PORTION: usize = 1 << 20;

/// A handle to a peer's shared heap; clones are handles to the same heap, and any thread may use them.
#[derive(Clone)]
pub struct Heap {
    inner: Arc<Inner>,
}

struct Inner {
    segment: Arc<Segment>,
    owner: usize,
    state: Mutex<State>,
}

struct State {
    blocks: Blocks,
    /// How many bytes from the start of the heap have pages.
    reserved: usize,
}

impl Heap {
    /// The heap of peer `owner`. There must be only one that is not a clone.
    pub(crate) fn new(segment: Arc<Segment>, owner: usize) -> Heap {
        // Nothing is ever given back.
        let blocks = Blocks::new(segment.layout().heap_size / UNIT, usize::MAX);
        Heap { inner: Arc::new(Inner { segment, owner, state: Mutex::new(State { blocks, reserved: 0 }) }) }
    }

    /// A block of at least `block.size()` bytes, whose contents are arbitrary; `None` if there is no memory left. Two
    /// blocks never share a cache line.
    pub fn allocate(&self, block: BlockLayout) -> Option<NonNull<u8>> {
        let Inner { segment, owner, .. } = &*self.inner;
        let heap_size = segment.layout().heap_size;
        let origin = segment.at(segment.layout().heap(*owner));
        // What is stricter than a page, the heap's start itself need not be: a part of what was taken may then be left
        // out.
        let slack = if origin.as_ptr().align_offset(block.align()) == 0 { 0 } else { block.align() };
        let size = block.size().max(1).checked_add(slack).filter(|&size| size <= heap_size)?;
        let units = size.div_ceil(UNIT);

        let state = &mut *self.lock();
        let mut first = state.blocks.allocate(units, block.align().div_ceil(UNIT), |_| {})?;
        let end = (first + units) * UNIT;
        if end > state.reserved {
            let portion = (end - state.reserved).next_multiple_of(SMALLEST_PORTION).min(heap_size - state.reserved);
            let start = segment.layout().heap(*owner) + state.reserved;
            let is_mapped = segment.has(Part::Heap, *owner, state.reserved + portion);
            if !is_mapped || segment.reserve(start, portion).is_err() {
                state.blocks.free(first);
                return None;
            }
            segment.show_in_dumps(start, portion);
            state.reserved += portion;
            segment.control(*owner).identity.heap_reserved.store(state.reserved as u64, Ordering::Release);
        }
        let place = |unit: usize| segment.at(segment.layout().heap(*owner) + unit * UNIT);
        let padding = place(first).align_offset(block.align()) / UNIT;
        if padding > 0 && state.blocks.cut_front(first, padding) {
            first += padding;
        }
        Some(place(first))
    }

    /// Takes a block back. Returns whether it was one of this heap.
    pub fn free(&self, block: NonNull<u8>) -> bool {
        let Some(offset) = self.offset_of(block.as_ptr()) else { return false };
        offset.is_multiple_of(UNIT) && self.lock().blocks.free(offset / UNIT)
    }

    /// Whether all of these bytes lie in this heap.
    pub fn contains(&self, span: ReadSpan) -> bool {
        let Inner { segment, owner, .. } = &*self.inner;
        let room = |offset| segment.known(Part::Heap, *owner).saturating_sub(offset);
        self.offset_of(span.start()).is_some_and(|offset| span.len() <= room(offset))
    }

    fn offset_of(&self, address: *const u8) -> Option<usize> {
        let Inner { segment, owner, .. } = &*self.inner;
        let offset = segment.offset_of(address)?.checked_sub(segment.layout().heap(*owner))?;
        (offset < segment.layout().heap_size).then_some(offset)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // The state is consistent between any two statements that can panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("owner", &self.inner.owner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    fn heap() -> Heap {
        Heap::new(Job::create(1, None).unwrap().segment, 0)
    }

    fn block(size: usize, align: usize) -> BlockLayout {
        BlockLayout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_are_aligned_and_apart() {
        let heap = heap();
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (index, size) in [1, 63, 64, 65, 1000, 0, 1 << 20, 3 << 20, 5].into_iter().enumerate() {
            let align = 1 << (index * 2 % 16);
            let start = heap.allocate(block(size, align)).unwrap().as_ptr() as usize;
            assert_eq!(start % align, 0);
            let lines = (start / 64, (start + size.max(1)).div_ceil(64));
            assert!(taken.iter().all(|&(from, to)| lines.1 <= from || to <= lines.0), "two blocks share a line");
            taken.push(lines);
        }
    }

    #[test]
    fn freed_memory_is_used_again() {
        let heap = heap();
        let first = heap.allocate(block(10 << 20, 64)).unwrap();
        let _keeps_the_next_apart = heap.allocate(block(64, 64)).unwrap();
        assert!(heap.free(first));
        assert_eq!(heap.allocate(block(10 << 20, 64)), Some(first));
        let reserved = || heap.lock().reserved;
        let before = reserved();
        for _ in 0..1000 {
            let block = heap.allocate(block(100 << 10, 4096)).unwrap();
            assert!(heap.free(block));
        }
        assert!(reserved() <= before + (1 << 20));
    }

    #[test]
    fn too_much_is_refused_and_the_rest_still_works() {
        let heap = heap();
        let size = heap.inner.segment.layout().heap_size;
        assert_eq!(heap.allocate(block(size + 1, 1)), None);
        assert_eq!(heap.allocate(block(isize::MAX as usize - 63, 64)), None);
        let small = heap.allocate(block(100, 1)).unwrap();
        assert!(heap.free(small));
    }

    #[test]
    fn threads_share_a_heap() {
        let heap = heap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let heap = heap.clone();
                scope.spawn(move || {
                    for size in 1..500 {
                        let block = heap.allocate(block(size * 7, 8)).unwrap();
                        assert!(heap.free(block));
                    }
                });
            }
        });
        assert_eq!(heap.lock().blocks.used_units(), 0);
    }
}
