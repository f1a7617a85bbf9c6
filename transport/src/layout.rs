//! Where everything lies in the job's file: one header, then a region per peer.
//!
//! All of it is computed from two numbers, how many peers there are and how large their heaps are, so that whoever maps
//! the file agrees on it. Sizes are generous: untouched pages cost nothing.

use crossbeam_utils::CachePadded;

use crate::Queue;
use crate::WORDS_PER_LINE;
use crate::control::{Control, DirtyWord, JobHeader};
use crate::ring::Cell;

/// Cells of each ring.
pub(crate) const CELLS: usize = 128;
/// Bytes of the data area of each message ring, at most.
pub(crate) const DATA_SIZE: usize = 256 << 10;
/// Longest payload of a cell in a message ring, bytes. A message longer than this travels in several cells, and then the receiver copies
/// out one while the sender copies in the next: in one piece, 16 KiB take a third longer than in two; cells of 2 KiB
/// cost more than they gain.
pub(crate) const MAX_PAYLOAD: usize = 8 << 10;
/// Claim words of each peer: 256 lines of them.
pub(crate) const CLAIM_WORDS: usize = 256 * WORDS_PER_LINE;
const CLAIMS_SIZE: usize = CLAIM_WORDS * size_of::<u64>();
/// Most peers on a node.
pub(crate) const MAX_PEERS: usize = 4096;
/// With more peers than this, a producer leaves a hint in the receiver's dirty bitmap.
pub(crate) const PEERS_WITHOUT_HINTS: usize = 32;

/// What page-like granularity the parts of a region start on. Need not be the system's page size.
const PAGE: usize = 4096;
/// Heaps start on a multiple of this: the size of a huge page.
const HEAP_ALIGNMENT: usize = 2 << 20;
const RING_SIZE: usize = CELLS * size_of::<Cell>();

/// The number of purposes in [`Queue`].
pub(crate) const QUEUES: usize = 2;

/// Offsets into the job's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) peers: usize,
    pub(crate) region_size: usize,
    pub(crate) heap_size: usize,
    /// Words of a bitmap over all peers.
    pub(crate) bitmap_words: usize,
    opened: usize,
    dirty: usize,
    reach: usize,
    claims: usize,
    control_end: usize,
    consumed: usize,
    request_rings: usize,
    message_rings: usize,
    heap: usize,
}

impl Layout {
    /// The layout for so many peers with heaps of at least so many bytes each.
    pub(crate) fn new(peers: usize, heap_size: usize) -> Layout {
        let bitmap_words = peers.div_ceil(64);
        let opened = size_of::<Control>();
        let dirty = (opened + QUEUES * bitmap_words * 8).next_multiple_of(128);
        let reach = dirty + QUEUES * bitmap_words * size_of::<DirtyWord>();
        let claims = (reach + peers).next_multiple_of(64);
        let control_end = (claims + CLAIMS_SIZE).next_multiple_of(PAGE);
        let consumed = control_end;
        let request_rings = (consumed + QUEUES * peers * size_of::<CachePadded<u64>>()).next_multiple_of(PAGE);
        let message_rings = (request_rings + peers * RING_SIZE).next_multiple_of(PAGE);
        let heap = (message_rings + peers * (RING_SIZE + DATA_SIZE)).next_multiple_of(HEAP_ALIGNMENT);
        let heap_size = heap_size.next_multiple_of(HEAP_ALIGNMENT);
        Layout {
            peers,
            region_size: heap + heap_size,
            heap_size,
            bitmap_words,
            opened,
            dirty,
            reach,
            claims,
            control_end,
            consumed,
            request_rings,
            message_rings,
            heap,
        }
    }

    /// Bytes of a region without its heap.
    pub(crate) fn overhead(peers: usize) -> usize {
        Layout::new(peers, 0).region_size
    }

    /// Bytes of the whole file.
    pub(crate) fn total(&self) -> usize {
        self.header_len() + self.peers * self.region_size
    }

    /// Bytes of the job header, which is at the beginning.
    pub(crate) fn header_len(&self) -> usize {
        size_of::<JobHeader>().next_multiple_of(HEAP_ALIGNMENT)
    }

    /// Where `peer`'s region starts, and with it its control block.
    #[inline(always)]
    pub(crate) fn region(&self, peer: usize) -> usize {
        self.header_len() + peer * self.region_size
    }

    /// Bytes from the start of a region that every peer reserves when it attaches.
    pub(crate) fn control_len(&self) -> usize {
        self.control_end
    }

    /// A word of the bitmap in which senders register with `peer`.
    pub(crate) fn opened(&self, peer: usize, queue: Queue, word: usize) -> usize {
        self.region(peer) + self.opened + (queue as usize * self.bitmap_words + word) * 8
    }

    /// A word of the bitmap in which senders leave hints for `peer`.
    #[inline]
    pub(crate) fn dirty(&self, peer: usize, queue: Queue, word: usize) -> usize {
        self.region(peer) + self.dirty + (queue as usize * self.bitmap_words + word) * size_of::<DirtyWord>()
    }

    /// The byte that says how `peer` reaches `target`'s private memory.
    pub(crate) fn reach(&self, peer: usize, target: usize) -> usize {
        self.region(peer) + self.reach + target
    }

    /// A claim word of `peer`.
    #[inline]
    pub(crate) fn claim(&self, peer: usize, index: usize) -> usize {
        self.region(peer) + self.claims + index * size_of::<u64>()
    }

    /// The counter in which `peer` says how many cells from `source` it consumed.
    pub(crate) fn consumed(&self, peer: usize, queue: Queue, source: usize) -> usize {
        self.region(peer) + self.consumed + (queue as usize * self.peers + source) * size_of::<CachePadded<u64>>()
    }

    /// The cells of the ring from `source` to `peer`; bytes.
    pub(crate) fn cells(&self, peer: usize, queue: Queue, source: usize) -> usize {
        self.region(peer)
            + match queue {
                Queue::Requests => self.request_rings + source * RING_SIZE,
                Queue::Messages => self.message_rings + source * (RING_SIZE + DATA_SIZE),
            }
    }

    /// Bytes of the cells of a ring.
    pub(crate) fn cells_len(&self) -> usize {
        RING_SIZE
    }

    /// The data area of the message ring from `source` to `peer`.
    pub(crate) fn data(&self, peer: usize, source: usize) -> usize {
        self.cells(peer, Queue::Messages, source) + RING_SIZE
    }

    /// `peer`'s heap.
    #[inline]
    pub(crate) fn heap(&self, peer: usize) -> usize {
        self.region(peer) + self.heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        for peers in [1, 2, 63, 64, 65, 256] {
            let layout = Layout::new(peers, 5 << 20);
            let last = peers - 1;
            let region = layout.region(last);
            let mut end = region + size_of::<Control>();
            let mut part = |start: usize, len: usize, alignment: usize| {
                assert!(start >= end, "overlap with {peers} peers");
                assert_eq!(start % alignment, 0);
                end = start + len;
            };
            part(layout.opened(last, Queue::Messages, 0), layout.bitmap_words * 8, 8);
            part(layout.opened(last, Queue::Requests, 0), layout.bitmap_words * 8, 8);
            part(layout.dirty(last, Queue::Messages, 0), layout.bitmap_words * size_of::<DirtyWord>(), 128);
            part(layout.dirty(last, Queue::Requests, 0), layout.bitmap_words * size_of::<DirtyWord>(), 128);
            part(layout.reach(last, 0), peers, 1);
            part(layout.claim(last, 0), CLAIMS_SIZE, 64);
            for queue in [Queue::Messages, Queue::Requests] {
                for source in 0..peers {
                    part(layout.consumed(last, queue, source), 128, 128);
                }
            }
            for source in 0..peers {
                part(layout.cells(last, Queue::Requests, source), layout.cells_len(), 64);
            }
            for source in 0..peers {
                part(layout.cells(last, Queue::Messages, source), layout.cells_len(), 64);
                part(layout.data(last, source), DATA_SIZE, 64);
            }
            part(layout.heap(last), layout.heap_size, HEAP_ALIGNMENT);
            assert_eq!(end, layout.total());
            assert!(layout.control_len() <= layout.consumed(0, Queue::Messages, 0) - layout.region(0));
        }
    }
}
