//! Hints: with many peers, a sender says in the receiver's memory that it has sent something, so that not all rings
//! have to be looked at.

use super::{MOST_LOOKS, NodeFabric};
use crate::Queue;
use crate::primitive::{Ordering, fence};

impl NodeFabric {
    /// Leaves a hint for `to` that there is something in our ring.
    #[inline(always)]
    pub(super) fn leave_hint(&self, to: usize, queue: Queue) {
        let word = self.segment.dirty(self.end(to), queue, self.me / 64);
        let bit = 1 << (self.me % 64);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::AcqRel);
        }
    }

    /// A peer whose hint turns out true. A hint is taken back only when the ring was found empty, and then the ring is
    /// looked at once more. A sender that just then relied on the old hint is found by the plain round robin.
    #[cold]
    #[inline(never)]
    pub(super) fn ready_by_hint(&mut self, queue: Queue) -> Option<usize> {
        let words = self.bitmap_words();
        let mut looks = 0;
        let first = self.inboxes[queue as usize].hint_cursor;
        // The first word is visited twice: from the cursor on, and at the end up to the cursor.
        for step in 0..=words {
            let index = (first / 64 + step) % words;
            let word = self.segment.dirty(self.end(self.me), queue, index);
            let mut bits = word.load(Ordering::Acquire);
            if step == 0 {
                bits &= u64::MAX << (first % 64);
            }
            while bits != 0 && looks < MOST_LOOKS {
                looks += 1;
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                let peer = index * 64 + bit.trailing_zeros() as usize;
                if peer >= self.links.len() {
                    word.fetch_and(!bit, Ordering::AcqRel);
                    continue;
                }
                if !self.is_waiting(peer, queue) {
                    word.fetch_and(!bit, Ordering::AcqRel);
                    fence(Ordering::SeqCst);
                    if !self.is_waiting(peer, queue) {
                        continue;
                    }
                    word.fetch_or(bit, Ordering::AcqRel);
                }
                self.inboxes[queue as usize].hint_cursor = (peer + 1) % self.links.len();
                return Some(peer);
            }
        }
        None
    }
}
