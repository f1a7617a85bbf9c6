//! Memory that the library has used for messages and will use again.
//!
//! Memory of more than a page or so, the system takes back when it is freed and hands out anew, empty: a receiver that
//! is behind pays that for each message that comes before its receive, which takes longer than the copy
//! (docs/decisions/0028).

use smallvec::SmallVec;

/// Shorter memory is not kept: `malloc` does that as well.
const WORTH_KEEPING: usize = 1024;

/// Pieces of memory by length.
#[derive(Debug)]
pub(super) struct BufferPool {
    /// Those of at least 2^n bytes and less than twice as many, at n.
    pieces: [Vec<Vec<u8>>; usize::BITS as usize],
    /// Bytes of all.
    held: usize,
    /// How many it holds at most.
    most: usize,
}

impl BufferPool {
    /// Holds up to `most` bytes.
    pub(super) fn new(most: usize) -> BufferPool {
        BufferPool { pieces: [const { Vec::new() }; usize::BITS as usize], held: 0, most }
    }

    /// Memory that has room for so many bytes; what is in it is of no meaning, and may be shorter.
    pub(super) fn take(&mut self, len: usize) -> Vec<u8> {
        if len < WORTH_KEEPING {
            return Vec::with_capacity(len);
        }
        let room = len.checked_next_power_of_two().unwrap_or(len);
        match self.pieces[room.ilog2() as usize].pop() {
            Some(piece) => {
                self.held -= piece.capacity();
                piece
            }
            None if room <= self.most => Vec::with_capacity(room),
            None => Vec::with_capacity(len),
        }
    }

    /// Keeps memory that is not needed now, if that pays.
    pub(super) fn give_back(&mut self, piece: Vec<u8>) {
        let room = piece.capacity();
        if room >= WORTH_KEEPING && room <= self.most - self.held {
            self.held += room;
            self.pieces[room.ilog2() as usize].push(piece);
        }
    }
}

/// The data of a message that came before its receive, as far as they have arrived. Short ones, of which there may be
/// many, need no memory of their own.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: SmallVec<[u8; 32]>,
    arrived: usize,
}

impl Kept {
    /// Room for `len` bytes, none of which has arrived.
    pub(super) fn with_room(len: usize, pool: &mut BufferPool) -> Kept {
        let inline: SmallVec<[u8; 32]> = SmallVec::new();
        let bytes = if len <= inline.inline_size() { inline } else { SmallVec::from_vec(pool.take(len)) };
        Kept { bytes, arrived: 0 }
    }

    /// Gives the memory back.
    pub(super) fn clear(self, pool: &mut BufferPool) {
        if self.bytes.spilled() {
            pool.give_back(self.bytes.into_vec());
        }
    }

    /// What has arrived.
    pub(super) fn data(&self) -> &[u8] {
        &self.bytes[..self.arrived]
    }

    /// Where the next `len` bytes arrive.
    pub(super) fn arrive(&mut self, len: usize) -> &mut [u8] {
        let from = self.arrived;
        self.arrived += len;
        if self.bytes.len() < self.arrived {
            self.bytes.resize(self.arrived, 0);
        }
        &mut self.bytes[from..self.arrived]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let mut pool = BufferPool::new(64 << 10);
        let mut kept = Kept::with_room(5000, &mut pool);
        kept.arrive(3000).fill(1);
        kept.arrive(2000).fill(2);
        assert_eq!((kept.data().len(), kept.data()[2999], kept.data()[3000]), (5000, 1, 2));
        let place = kept.data().as_ptr();
        kept.clear(&mut pool);
        let mut again = Kept::with_room(8000, &mut pool);
        assert!(again.data().is_empty(), "nothing has arrived of the next one");
        again.arrive(8000).fill(3);
        assert_eq!((again.data().as_ptr(), again.data().len()), (place, 8000));
        assert_eq!(pool.held, 0);
    }

    #[test]
    fn no_more_is_held_than_may_be() {
        let mut pool = BufferPool::new(20_000);
        let pieces: Vec<_> = (0..4).map(|_| pool.take(8000)).collect();
        pieces.into_iter().for_each(|piece| pool.give_back(piece));
        assert_eq!(pool.held, 2 * 8192);
        pool.give_back(vec![0; 100]);
        assert_eq!(pool.held, 2 * 8192, "short memory is not kept");
    }

    #[test]
    fn short_data_lie_in_place() {
        let mut pool = BufferPool::new(1 << 20);
        let mut kept = Kept::with_room(32, &mut pool);
        kept.arrive(32).fill(7);
        assert!(!kept.bytes.spilled());
        assert_eq!(kept.data(), [7; 32]);
    }
}
