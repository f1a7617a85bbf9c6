//! The shared heap of a peer: memory that every peer on the node has mapped, so that a remote write into it is a copy.
//!
//! The bookkeeping is private to the owner's process: nothing that a peer scribbles can confuse it. Pages are reserved as the heap
//! grows, and blocks that were freed are preferred to fresh ones, because the first touch of shared pages is slow.

use std::alloc::Layout as BlockLayout;
use std::collections::HashMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use offset_allocator::{Allocation, Allocator};

use crate::ReadSpan;
use crate::segment::Segment;

/// Smallest unit of allocation, bytes: a cache line, so that two blocks never share one.
const SMALLEST_UNIT: usize = 64;
/// Most units that the allocator is asked to manage.
const MOST_UNITS: usize = 1 << 31;
/// Most blocks at a time. The allocator's bookkeeping, 36 bytes for each, is made at the first allocation.
const MOST_BLOCKS: u32 = 32 << 10;
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
    /// Bytes in a unit: a power of two.
    unit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Made at the first allocation.
    allocator: Option<Allocator>,
    /// The blocks handed out, by offset into the heap in bytes.
    live: HashMap<usize, Allocation>,
    /// How many bytes from the start of the heap have pages.
    reserved: usize,
}

impl Heap {
    /// The heap of peer `owner`. There must be only one that is not a clone.
    pub(crate) fn new(segment: Arc<Segment>, owner: usize) -> Heap {
        let unit = (segment.layout().heap_size / MOST_UNITS).next_power_of_two().max(SMALLEST_UNIT);
        Heap { inner: Arc::new(Inner { segment, owner, unit, state: Mutex::default() }) }
    }

    /// A block of at least `block.size()` bytes, whose contents are arbitrary; `None` if there is no memory left. Two blocks never
    /// share a cache line.
    pub fn allocate(&self, block: BlockLayout) -> Option<NonNull<u8>> {
        let Inner { segment, owner, unit, .. } = &*self.inner;
        let heap_size = segment.layout().heap_size;
        // Blocks start on a unit; what a stricter alignment may cost is added to the size.
        let slack = block.align().saturating_sub(*unit);
        let size = block.size().max(1).checked_add(slack)?;
        let units = u32::try_from(size.div_ceil(*unit)).ok().filter(|_| size <= heap_size)?;

        let state = &mut *self.lock();
        let allocator =
            state.allocator.get_or_insert_with(|| Allocator::with_max_allocs((heap_size / unit) as u32, MOST_BLOCKS));
        let allocation = allocator.allocate(units)?;
        let start = allocation.offset as usize * unit;
        let end = start + units as usize * unit;
        if end > state.reserved {
            let portion = (end - state.reserved).next_multiple_of(SMALLEST_PORTION).min(heap_size - state.reserved);
            if segment.reserve(segment.layout().heap(*owner) + state.reserved, portion).is_err() {
                allocator.free(allocation);
                return None;
            }
            state.reserved += portion;
            segment.control(*owner).identity.heap_reserved.store(state.reserved as u64, Ordering::Release);
        }
        let address = segment.at(segment.layout().heap(*owner) + start);
        let padding = address.align_offset(block.align());
        state.live.insert(start + padding, allocation);
        Some(segment.at(segment.layout().heap(*owner) + start + padding))
    }

    /// Takes a block back. Returns whether it was one of this heap.
    pub fn free(&self, block: NonNull<u8>) -> bool {
        let Some(offset) = self.offset_of(block.as_ptr()) else { return false };
        let state = &mut *self.lock();
        match (state.live.remove(&offset), &mut state.allocator) {
            (Some(allocation), Some(allocator)) => {
                allocator.free(allocation);
                true
            }
            _ => false,
        }
    }

    /// Whether all of these bytes lie in this heap.
    pub fn contains(&self, span: ReadSpan) -> bool {
        self.offset_of(span.start()).is_some_and(|offset| span.len() <= self.inner.segment.layout().heap_size - offset)
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
        assert!(heap.lock().live.is_empty());
    }
}
