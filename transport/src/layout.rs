//! Where everything lies in the job's file.
//!
//! All of it is computed from two numbers, how many peers there are and how large their heaps are, so that whoever maps
//! the file agrees on it. Sizes are generous: untouched pages cost nothing.
//!
//! Parts of a kind lie together: the header, every peer's control part, the rings' counters, their cells, their data
//! areas, batons, the heaps, each peer's arena right behind its heap, and the marks of the arena's pages behind that.
//! What a peer touches of others is then close together, and needs few page tables: a process with hundreds of peers
//! would otherwise spend more memory on page tables than on everything else.
//!
//! In a job of several lanes a process has an *end* in each, and the file is laid out as if every end were a peer: a
//! peer's number, here and in the [segment](crate::segment), is that of an end. End `lane * peers + peer` is that of
//! `peer` in `lane`, so in lane 0 the two numbers are the same.

use std::ops::RangeInclusive;

use crossbeam_utils::CachePadded;

use crate::Queue;
use crate::WORDS_PER_LINE;
use crate::control::{Control, DirtyWord, JobHeader};
use crate::page_marks;
use crate::ring::Cell;
use crate::ring::batons::{BATON_SIZE, batons_of_two};

/// Cells of each ring.
pub(crate) const CELLS: usize = 128;
/// Bytes of the data area of each message ring: more than two cores' own caches hold, so that lines have left the
/// reader's when they are written again; and less among many.
const DATA_SIZES: RangeInclusive<usize> = 256 << 10..=4 << 20;
/// So many a process has for all others, as far as that allows.
const DATA_OF_A_PEER: usize = 16 << 20;
/// Longest payload of a cell in a message ring where payloads don't go by batons, bytes. A message longer than this
/// travels in several cells, and then the receiver copies out one while the sender copies in the next: in one piece, 16
/// KiB take a third longer than in two; cells of 2 KiB cost more than they gain.
pub(crate) const MAX_PAYLOAD: usize = 8 << 10;
/// Claim words of each peer: 256 lines of them.
pub(crate) const CLAIM_WORDS: usize = 256 * WORDS_PER_LINE;
const CLAIMS_SIZE: usize = CLAIM_WORDS * size_of::<u64>();
/// Most peers on a node, and most ends of them in all lanes.
pub(crate) const MAX_PEERS: usize = 4096;
/// Most lanes of a job.
pub const MOST_LANES: usize = 8;
/// With more peers than this, a producer leaves a hint in the receiver's dirty bitmap.
pub(crate) const PEERS_WITHOUT_HINTS: usize = 32;

/// Control parts and cells start on a multiple of this, so that reserving one does not touch another. Need not be the
/// system's page size.
const PAGE: usize = 4096;
/// Heaps start on a multiple of this: the size of a huge page.
const HEAP_ALIGNMENT: usize = 2 << 20;
/// A counter with nothing else on its line or the next.
type Counter = CachePadded<u64>;
const RING_SIZE: usize = CELLS * size_of::<Cell>();

/// The number of purposes in [`Queue`].
pub(crate) const QUEUES: usize = 2;

/// What an end has in the part of the file that serves allocators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Heap = 0,
    Arena = 1,
}

/// Offsets into the job's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) ends: usize,
    pub(crate) heap_size: usize,
    /// Words of a bitmap over all ends.
    pub(crate) bitmap_words: usize,
    /// Within a peer's control part.
    opened: usize,
    dirty: usize,
    reach: usize,
    claims: usize,
    /// Bytes of a peer's control part.
    pub(crate) control_len: usize,
    /// Where each kind of part starts.
    controls: usize,
    consumed: usize,
    cells: usize,
    data: usize,
    /// Bytes of the data area of each message ring.
    pub(crate) data_size: usize,
    batons: usize,
    /// How many batons each two ends have.
    pub(crate) batons_of_two: usize,
    heaps: usize,
}

impl Layout {
    /// The layout for so many ends with heaps of at least so many bytes each.
    pub(crate) fn new(ends: usize, heap_size: usize) -> Layout {
        let bitmap_words = ends.div_ceil(64);
        let opened = size_of::<Control>();
        let dirty = (opened + QUEUES * bitmap_words * 8).next_multiple_of(128);
        let reach = dirty + QUEUES * bitmap_words * size_of::<DirtyWord>();
        let claims = (reach + ends).next_multiple_of(64);
        let control_len = (claims + CLAIMS_SIZE).next_multiple_of(PAGE);

        let rings = QUEUES * ends * ends;
        let controls = size_of::<JobHeader>().next_multiple_of(PAGE);
        let consumed = controls + ends * control_len;
        let cells = (consumed + rings * size_of::<Counter>()).next_multiple_of(PAGE);
        let data = cells + rings * RING_SIZE;
        let data_size = (DATA_OF_A_PEER / ends.next_power_of_two()).clamp(*DATA_SIZES.start(), *DATA_SIZES.end());
        let batons = data + ends * ends * data_size;
        let batons_of_two = batons_of_two(ends);
        let heaps = (batons + ends * ends * batons_of_two * BATON_SIZE).next_multiple_of(HEAP_ALIGNMENT);
        let heap_size = heap_size.next_multiple_of(HEAP_ALIGNMENT);
        Layout {
            ends,
            heap_size,
            bitmap_words,
            opened,
            dirty,
            reach,
            claims,
            control_len,
            controls,
            consumed,
            cells,
            data,
            data_size,
            batons,
            batons_of_two,
            heaps,
        }
    }

    /// Bytes of the whole file.
    pub(crate) fn total(&self) -> usize {
        self.heap(self.ends)
    }

    /// `peer`'s control part, which begins with its control block.
    #[inline(always)]
    pub(crate) fn control(&self, peer: usize) -> usize {
        self.controls + peer * self.control_len
    }

    /// Bytes of the header and all control parts, with which the file begins.
    pub(crate) fn controls_end(&self) -> usize {
        self.control(self.ends)
    }

    /// A word of the bitmap in which senders register with `peer`.
    pub(crate) fn opened(&self, peer: usize, queue: Queue, word: usize) -> usize {
        self.control(peer) + self.opened + (queue as usize * self.bitmap_words + word) * 8
    }

    /// A word of the bitmap in which senders leave hints for `peer`.
    #[inline]
    pub(crate) fn dirty(&self, peer: usize, queue: Queue, word: usize) -> usize {
        self.control(peer) + self.dirty + (queue as usize * self.bitmap_words + word) * size_of::<DirtyWord>()
    }

    /// The byte that says how `peer` reaches `target`'s private memory.
    pub(crate) fn reach(&self, peer: usize, target: usize) -> usize {
        self.control(peer) + self.reach + target
    }

    /// A claim word of `peer`.
    #[inline]
    pub(crate) fn claim(&self, peer: usize, index: usize) -> usize {
        self.control(peer) + self.claims + index * size_of::<u64>()
    }

    /// The number of the ring from `source` to `peer` among all rings: a receiver's rings of one queue are neighbours.
    fn ring(&self, peer: usize, queue: Queue, source: usize) -> usize {
        (queue as usize * self.ends + peer) * self.ends + source
    }

    /// The counter in which `peer` says how many cells from `source` it consumed.
    pub(crate) fn consumed(&self, peer: usize, queue: Queue, source: usize) -> usize {
        self.consumed + self.ring(peer, queue, source) * size_of::<Counter>()
    }

    /// The cells of the ring from `source` to `peer`.
    pub(crate) fn cells(&self, peer: usize, queue: Queue, source: usize) -> usize {
        self.cells + self.ring(peer, queue, source) * RING_SIZE
    }

    /// Bytes of the cells of a ring.
    pub(crate) fn cells_len(&self) -> usize {
        RING_SIZE
    }

    /// The data area of the message ring from `source` to `peer`.
    pub(crate) fn data(&self, peer: usize, source: usize) -> usize {
        self.data + (peer * self.ends + source) * self.data_size
    }

    /// The batons of two peers, in whichever order. (Half of the part is never touched.)
    pub(crate) fn batons(&self, one: usize, other: usize) -> usize {
        self.batons + (one.min(other) * self.ends + one.max(other)) * self.batons_of_two * BATON_SIZE
    }

    /// `peer`'s heap.
    #[inline]
    pub(crate) fn heap(&self, peer: usize) -> usize {
        self.heaps + peer * 2 * self.heap_size
    }

    /// Which of the two a place lies in that is so far from the start of a heap, and how far from the start of that
    /// part.
    #[inline]
    pub(crate) fn part_at(&self, place: usize) -> (Part, usize) {
        match place.checked_sub(self.heap_size) {
            None => (Part::Heap, place),
            Some(place) => (Part::Arena, place),
        }
    }

    /// `peer`'s arena, as large as its heap.
    pub(crate) fn arena(&self, peer: usize) -> usize {
        self.heap(peer) + self.heap_size
    }

    /// How many bytes of it are for blocks; their pages' marks follow.
    #[inline]
    pub(crate) fn arena_len(&self) -> usize {
        self.heap_size - page_marks::bytes_for(self.heap_size)
    }

    /// Whose heap or arena the byte at `offset` lies in, and how far from the start of the heap.
    pub(crate) fn in_heap(&self, offset: usize) -> Option<(usize, usize)> {
        let offset = offset.checked_sub(self.heaps)?;
        let both = 2 * self.heap_size;
        let owner = offset / both;
        (owner < self.ends).then_some((owner, offset % both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        for peers in [1, 2, 63, 64, 65, 200] {
            let layout = Layout::new(peers, 5 << 20);
            let mut end = size_of::<JobHeader>();
            let mut part = |start: usize, len: usize, alignment: usize| {
                assert!(start >= end, "overlap with {peers} peers");
                assert_eq!(start % alignment, 0);
                end = start + len;
            };
            for peer in 0..peers {
                part(layout.control(peer), size_of::<Control>(), 128);
                part(layout.opened(peer, Queue::Messages, 0), layout.bitmap_words * 8, 8);
                part(layout.opened(peer, Queue::Requests, 0), layout.bitmap_words * 8, 8);
                part(layout.dirty(peer, Queue::Messages, 0), layout.bitmap_words * size_of::<DirtyWord>(), 128);
                part(layout.dirty(peer, Queue::Requests, 0), layout.bitmap_words * size_of::<DirtyWord>(), 128);
                part(layout.reach(peer, 0), peers, 1);
                part(layout.claim(peer, 0), CLAIMS_SIZE, 64);
                assert!(layout.claim(peer, CLAIM_WORDS) <= layout.control(peer + 1));
            }
            let rings = |queue| (0..peers).flat_map(move |peer| (0..peers).map(move |source| (peer, queue, source)));
            let all = || rings(Queue::Messages).chain(rings(Queue::Requests));
            all().for_each(|(peer, queue, source)| part(layout.consumed(peer, queue, source), 128, 128));
            all().for_each(|(peer, queue, source)| part(layout.cells(peer, queue, source), RING_SIZE, 64));
            rings(Queue::Messages).for_each(|(peer, _, source)| part(layout.data(peer, source), layout.data_size, 64));
            for (peer, other) in (0..peers).flat_map(|peer| (peer..peers).map(move |other| (peer, other))) {
                part(layout.batons(other, peer), layout.batons_of_two * BATON_SIZE, 64);
            }
            for peer in 0..peers {
                part(layout.heap(peer), layout.heap_size, HEAP_ALIGNMENT);
                part(layout.arena(peer), layout.heap_size, HEAP_ALIGNMENT);
            }
            assert_eq!(end, layout.total());
        }
    }

    #[test]
    fn few_peers_have_larger_data_areas() {
        let kib = [1, 4, 5, 16, 64, 300].map(|peers| Layout::new(peers, 1).data_size >> 10);
        assert_eq!(kib, [4096, 4096, 2048, 1024, 256, 256]);
    }

    #[test]
    fn heaps_are_found_by_offset() {
        let layout = Layout::new(3, 4 << 20);
        assert_eq!(layout.in_heap(layout.heap(0) - 1), None);
        assert_eq!(layout.in_heap(layout.heap(0)), Some((0, 0)));
        assert_eq!(layout.in_heap(layout.heap(2) + 5), Some((2, 5)));
        assert_eq!(layout.in_heap(layout.arena(1) + 7), Some((1, layout.heap_size + 7)));
        assert_eq!(layout.in_heap(layout.total()), None);
    }
}
