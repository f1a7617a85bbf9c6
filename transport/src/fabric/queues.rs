//! Memory-Based FIFO: bounded queues of cells, one for each ordered pair of peers and purpose.

use super::RemoteAddress;
use crate::{ReadSpan, WriteSpan};

/// The four words that travel in every cell beside its payload; their meaning belongs to the layer above.
pub type Header = [u32; 4];

/// The purpose of a queue: one of each exists for every ordered pair of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Queue {
    /// Messages, with payloads up to [`Queues::max_payload`].
    Messages = 0,
    /// Requests for send and other short notes to a sender, with payloads up to [`INLINE_PAYLOAD`].
    Requests = 1,
}

/// Payload bytes that travel in the same cache line as the header.
pub const INLINE_PAYLOAD: usize = 40;

/// How an enqueue stands to earlier refusals (the thesis's option *enqueue eagerly*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueue {
    /// Refused, even if there is room, while an earlier refusal on this queue has not been retried: so order holds for
    /// a sender that issues several without looking.
    Next,
    /// The explicit retry after a refusal: tries again and, on success, lets later ones through.
    Retry,
}

/// Why an enqueue had no effect. Success is silent (the thesis's option *reply on failure*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// No room now; a value, not a failure.
    #[error("the queue to the peer is full")]
    Full,
    /// The memory for the queue could not be had.
    #[error("no shared memory left for a queue to peer {peer}")]
    NoMemory {
        /// Whose memory.
        peer: usize,
    },
    /// The peer has ended, or the connection to it is broken ([`Queues::front`] says how).
    #[error("the connection to peer {peer} is gone: the peer has ended or cannot be reached")]
    PeerLost {
        /// Which.
        peer: usize,
    },
}

/// A peer wrote something that no correct peer writes, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("peer {peer}: {what}")]
pub struct PeerFault {
    /// The peer.
    pub peer: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// The oldest cell of a queue: its header, and where its payload lies. Stays valid until the cell is popped.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The four words of the sender.
    pub header: Header,
    /// Length of the payload in bytes, checked.
    pub len: usize,
    /// Where the payload lies; the fabric's own business.
    pub place: usize,
}

/// Bytes that can be pushed to a peer into lines that the pusher has read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passable {
    /// So many now.
    pub now: usize,
    /// So many if all of them were here.
    pub most: usize,
}

/// The queues between this peer and each other, and itself.
pub trait Queues {
    /// Longest payload of a cell for `to` in [`Queue::Messages`], bytes.
    fn max_payload(&self, to: usize) -> usize;
    /// Appends a cell to `queue` at peer `to` (which may be this peer itself).
    fn try_push(
        &mut self,
        to: usize,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan,
    ) -> Result<(), PushError>;
    /// The oldest cell that `from` pushed and that was not popped yet.
    fn front(&mut self, from: usize, queue: Queue) -> Result<Option<Arrival>, PeerFault>;
    /// Copies payload bytes `offset ..` of an arrival, as many as `into` holds.
    ///
    /// # Panics
    /// If the payload has not that many bytes.
    fn read(&mut self, from: usize, queue: Queue, arrival: &Arrival, offset: usize, into: WriteSpan);
    /// Gives the oldest cell's room back to the sender. Only after a `front` that returned it.
    fn pop(&mut self, from: usize, queue: Queue);
    /// [`Queues::read`] from the beginning and [`Queues::pop`].
    #[inline]
    fn take(&mut self, from: usize, queue: Queue, arrival: &Arrival, into: WriteSpan) {
        self.read(from, queue, arrival, 0, into);
        self.pop(from, queue);
    }
    /// The cell that has begun to arrive from `from` in [`Queue::Messages`], if most of its payload is still to come
    /// and nothing is before it: whoever knows where that belongs can have it put there by [`Queues::place_directly`].
    /// Each is shown once, and by `front` when it is whole.
    #[inline]
    fn coming(&mut self, _from: usize) -> Option<Arrival> {
        None
    }
    /// Pops the cell that [`Queues::coming`] has just shown: its payload goes to `address`, which must be of the same
    /// length and handed out to `from`, and is dropped if that is withdrawn. When all of it is there, a cell with
    /// header `note` and no payload, which counts for nothing, is next in the queue.
    fn place_directly(&mut self, _from: usize, _address: &RemoteAddress, _note: Header) {
        unreachable!("no cell is shown before it is whole")
    }
    /// Cells follow each other in the message queue that `from` pushes to: has the one fetched that stands so many
    /// behind the oldest, should it have been pushed. Only a hint.
    #[inline]
    fn expect_more(&self, _from: usize, _cells: usize) {}
    /// How many bytes of payload this peer can push to `to` into lines that it has read last. None where it does not
    /// matter who has read a line, or nothing is shared.
    fn passable(&self, _to: usize) -> Passable {
        Passable::default()
    }
    /// As [`Queues::passable`], what `from` can push to this peer, as far as that is known here.
    fn passable_from(&self, _from: usize) -> Passable {
        Passable::default()
    }
    /// A peer with a cell waiting (or coming) in `queue`, round robin so that none starves; looks at a bounded number
    /// of peers a call.
    fn ready(&mut self, queue: Queue) -> Option<usize>;
    /// How many cells this peer has popped from the message queue that `from` pushes to.
    fn popped(&self, from: usize) -> u64;
    /// How many cells this peer has pushed to `to`'s message queue so far; a payload may take several.
    fn pushed(&self, to: usize) -> u64;
    /// How many of them `to` has popped, read from memory that both share (`None` where nothing is shared). Never more
    /// than the truth.
    fn accepted(&mut self, to: usize) -> Option<u64>;
}
