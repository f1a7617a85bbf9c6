//! Credit: how a full queue at the receiver becomes "full" at the sender, so that nobody buffers without bound.
//!
//! For each queue the receiver lends the sender a fixed number of cells and of payload bytes. The sender counts what it
//! has pushed against what the receiver says it has popped; the receiver checks that the sender keeps to that. Both
//! sides' bookkeeping is here, without I/O.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use crate::tcp::frame::{HEADER, MAX_PAYLOAD};
use crate::{Enqueue, Header, INLINE_PAYLOAD};

/// Cells of each queue that may be under way or waiting.
pub(crate) const CELLS: usize = 256;
/// Payload bytes of each queue that may be under way or waiting.
pub(crate) const BYTES: usize = 1 << 20;
/// Cells of this length and more have a room, whatever else waits: they take no more than twice what they have credit
/// for.
const WORTH_A_ROOM: usize = MAX_PAYLOAD / 2;
/// Shorter ones, but not those below this length, have one if few cells wait before them.
const WORTH_SHARING: usize = 1 << 10;
/// So many are few.
const FEW: usize = 4;
/// Rooms that are kept for the next cells.
const MOST_SPARE: usize = 8;
/// Bytes of a room: what a connection is read into, a payload of any length and the headers around it.
const ROOM: usize = MAX_PAYLOAD + 2 * HEADER;

/// Memory into which sockets are read and which a cell can keep: new memory would have to be cleared.
#[derive(Debug, Default)]
pub(crate) struct Rooms(Vec<Vec<u8>>);

impl Rooms {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| vec![0; ROOM])
    }

    /// Takes back the memory of a cell, if it is a room.
    fn give_back(&mut self, memory: Vec<u8>) {
        if memory.len() == ROOM && self.0.len() < MOST_SPARE {
            self.0.push(memory);
        }
    }
}

/// The sender's side of one queue at a peer.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pushed: u64,
    /// How many of them the peer is known to have popped.
    popped: u64,
    /// Lengths of those that it is not known to have popped, oldest first.
    lengths: VecDeque<u32>,
    /// Their sum.
    bytes: usize,
    /// The last attempt was refused and not retried.
    refused: bool,
}

impl Window {
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    pub(crate) fn popped(&self) -> u64 {
        self.popped
    }

    /// Takes credit for a cell; false: there is none, or an earlier refusal stands.
    pub(crate) fn take(&mut self, enqueue: Enqueue, len: usize) -> bool {
        if self.refused && enqueue == Enqueue::Next {
            return false;
        }
        self.refused = self.lengths.len() >= CELLS || (self.bytes > 0 && self.bytes + len > BYTES);
        if self.refused {
            return false;
        }
        self.pushed += 1;
        self.lengths.push_back(len as u32);
        self.bytes += len;
        true
    }

    /// The peer says how many cells it has popped so far, modulo 2^32.
    pub(crate) fn give_back(&mut self, popped: u32) -> Result<(), &'static str> {
        let news = popped.wrapping_sub(self.popped as u32) as usize;
        if news > self.lengths.len() {
            return Err("popped more cells than it was sent");
        }
        for len in self.lengths.drain(..news) {
            self.bytes -= len as usize;
        }
        self.popped += news as u64;
        Ok(())
    }
}

/// A cell that has arrived.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) header: Header,
    pub(crate) len: usize,
    /// The payload, if it is short.
    pub(crate) short: [u8; INLINE_PAYLOAD],
    /// The payload, if it is long, from `start` on.
    long: Vec<u8>,
    start: usize,
    /// Stands for one that was popped when its payload was placed directly, which is there now.
    is_note: bool,
}

impl Cell {
    /// Where the payload lies.
    pub(crate) fn payload(&self) -> &[u8] {
        if self.len > INLINE_PAYLOAD { &self.long[self.start..][..self.len] } else { &self.short[..self.len] }
    }

    /// Where the payload goes.
    pub(crate) fn payload_mut(&mut self) -> &mut [u8] {
        if self.len > INLINE_PAYLOAD { &mut self.long[self.start..][..self.len] } else { &mut self.short[..self.len] }
    }

    /// Keeps the room in which its payload has begun to arrive, at `start`, and leaves its own instead; false if it has
    /// none, or there is no place for the rest of the payload.
    pub(crate) fn keep(&mut self, room: &mut Vec<u8>, start: usize) -> bool {
        let fits = self.long.len() == ROOM && room.len() == ROOM && self.len <= ROOM - start;
        if fits {
            std::mem::swap(&mut self.long, room);
            self.start = start;
        }
        fits
    }

    /// What lies behind the first `count` bytes of the payload in a room that it has kept.
    pub(crate) fn behind(&self, count: usize) -> &[u8] {
        &self.long[self.start + count..]
    }
}

/// The receiver's side of one queue.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    cells: VecDeque<Cell>,
    popped: u64,
    /// How many popped cells the sender has been told of.
    announced: u64,
    /// Payload bytes of the cells that were popped since.
    unannounced_bytes: usize,
    /// Payload bytes for which the sender has had no credit back.
    lent_bytes: usize,
    /// How many cells have begun to arrive.
    begun: u64,
}

impl Inbox {
    pub(crate) fn popped(&self) -> u64 {
        self.popped
    }

    /// The oldest cell.
    pub(crate) fn front(&self) -> Option<&Cell> {
        self.cells.front()
    }

    /// A cell of that length begins to arrive: its payload is still to be filled in.
    pub(crate) fn begin(&mut self, header: Header, len: usize, rooms: &mut Rooms) -> Result<Cell, &'static str> {
        if self.begun - self.announced >= CELLS as u64 || (self.lent_bytes > 0 && self.lent_bytes + len > BYTES) {
            return Err("sent more cells than it has credit for");
        }
        self.begun += 1;
        self.lent_bytes += len;
        let long = match len {
            WORTH_A_ROOM.. => rooms.take(),
            WORTH_SHARING.. if self.cells.len() < FEW => rooms.take(),
            _ if len > INLINE_PAYLOAD => vec![0; len],
            _ => Vec::new(),
        };
        Ok(Cell { header, len, short: [0; INLINE_PAYLOAD], long, start: 0, is_note: false })
    }

    /// The cell that began to arrive is whole.
    pub(crate) fn arrive(&mut self, cell: Cell) {
        self.cells.push_back(cell);
    }

    /// Drops the oldest cell. Returns whether so much credit has come together that the sender should be told even if
    /// there is nothing else to say: early enough that a sender never stands before an empty queue without credit.
    pub(crate) fn pop(&mut self, rooms: &mut Rooms) -> bool {
        let cell = self.cells.pop_front().expect("pop without an arrival");
        !cell.is_note && self.drop_cell(cell, rooms)
    }

    /// The same, of one that begins to arrive in front of all others and whose payload goes elsewhere.
    pub(crate) fn drop_cell(&mut self, cell: Cell, rooms: &mut Rooms) -> bool {
        self.popped += 1;
        self.unannounced_bytes += cell.len;
        rooms.give_back(cell.long);
        self.popped - self.announced >= CELLS as u64 / 2 || self.unannounced_bytes >= BYTES / 2
    }

    /// The payload of a cell that was dropped as it began to arrive is where it belongs.
    pub(crate) fn note(&mut self, header: Header) {
        self.cells.push_back(Cell {
            header,
            len: 0,
            short: [0; INLINE_PAYLOAD],
            long: Vec::new(),
            start: 0,
            is_note: true,
        });
    }

    /// Whether there is credit that the sender does not know of.
    pub(crate) fn owes(&self) -> bool {
        self.popped != self.announced
    }

    /// The counter to send to the sender, which is told by it.
    pub(crate) fn announce(&mut self) -> u32 {
        self.announced = self.popped;
        self.lent_bytes -= std::mem::take(&mut self.unannounced_bytes);
        self.popped as u32
    }
}

/// Bytes that an inbox keeps at most, whatever a peer sends.
#[cfg(test)]
pub(crate) const MOST_KEPT: usize = 2 * BYTES + FEW * ROOM;

#[cfg(test)]
impl Inbox {
    /// Bytes that it keeps for payloads, and no more cells than were lent.
    pub(crate) fn kept(&self) -> usize {
        assert!(self.cells.len() <= CELLS);
        self.cells.iter().map(|cell| cell.long.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the two do in whatever order, a correct sender is never accused, and one that looks finds room in
        /// the end.
        #[test]
        fn both_sides_agree(steps in vec((0..4_u8, 0..=MAX_PAYLOAD), 1..2000)) {
            let (mut window, mut inbox, mut rooms) = (Window::default(), Inbox::default(), Rooms::default());
            let mut on_the_way = VecDeque::new();
            let mut news = VecDeque::new();
            for (step, len) in steps {
                match step {
                    0 if window.take(Enqueue::Retry, len) => on_the_way.push_back(len),
                    1 => if let Some(len) = on_the_way.pop_front() {
                        let cell = inbox.begin([0; 4], len, &mut rooms);
                        prop_assert!(cell.as_ref().is_ok_and(|cell| cell.payload().len() == len));
                        inbox.arrive(cell.expect("just seen"));
                    },
                    2 if inbox.front().is_some() && inbox.pop(&mut rooms) => news.push_back(inbox.announce()),
                    3 => if let Some(popped) = news.pop_front() {
                        prop_assert_eq!(window.give_back(popped), Ok(()));
                    },
                    _ => {}
                }
                prop_assert!(window.popped() <= inbox.popped() && inbox.popped() <= window.pushed());
            }
            // All arrive and are popped: then there is room, though nobody said anything unasked.
            for len in on_the_way {
                let cell = inbox.begin([0; 4], len, &mut rooms);
                inbox.arrive(cell.expect("there is credit"));
            }
            while inbox.front().is_some() {
                if inbox.pop(&mut rooms) {
                    news.push_back(inbox.announce());
                }
            }
            for popped in news {
                prop_assert_eq!(window.give_back(popped), Ok(()));
            }
            prop_assert!(window.take(Enqueue::Retry, BYTES / 4));
        }
    }

    #[test]
    fn a_refusal_stands_until_the_retry() {
        let mut window = Window::default();
        while window.take(Enqueue::Next, 0) {}
        assert_eq!(window.pushed(), CELLS as u64);
        window.give_back(2).unwrap();
        assert!(!window.take(Enqueue::Next, 0));
        assert!(window.take(Enqueue::Retry, 0));
        assert!(window.take(Enqueue::Next, 0));
        assert!(!window.take(Enqueue::Next, 0));
    }

    #[test]
    fn credit_for_empty_cells_comes_back_in_time() {
        let (mut inbox, mut rooms) = (Inbox::default(), Rooms::default());
        for _ in 0..CELLS {
            let cell = inbox.begin([0; 4], 0, &mut rooms).unwrap();
            inbox.arrive(cell);
        }
        let due = (1..=CELLS).find(|_| inbox.pop(&mut rooms));
        assert_eq!(due, Some(CELLS / 2));
    }

    #[test]
    fn few_rooms_are_kept() {
        let mut rooms = Rooms::default();
        let taken: Vec<_> = (0..3 * MOST_SPARE).map(|_| rooms.take()).collect();
        taken.into_iter().for_each(|room| rooms.give_back(room));
        assert_eq!(rooms.0.len(), MOST_SPARE);
    }

    #[test]
    fn who_takes_more_than_was_lent_is_noticed() {
        let (mut inbox, mut rooms) = (Inbox::default(), Rooms::default());
        (0..CELLS).for_each(|_| drop(inbox.begin([0; 4], 0, &mut rooms).unwrap()));
        assert!(inbox.begin([0; 4], 0, &mut rooms).is_err());
        let mut inbox = Inbox::default();
        (0..BYTES / MAX_PAYLOAD).for_each(|_| drop(inbox.begin([0; 4], MAX_PAYLOAD, &mut rooms).unwrap()));
        assert!(inbox.begin([0; 4], 1, &mut rooms).is_err());
        let mut window = Window::default();
        (0..BYTES / MAX_PAYLOAD).for_each(|_| assert!(window.take(Enqueue::Next, MAX_PAYLOAD)));
        assert!(!window.take(Enqueue::Next, 1), "as the receiver sees it");
        let mut window = Window::default();
        assert!(window.take(Enqueue::Next, 0));
        assert!(window.give_back(2).is_err());
        assert!(window.give_back(u32::MAX).is_err());
    }
}
