//! The contract of a transport: what the layer above may ask of the way to its peers.
//!
//! Four primitives, after section 2.2.2 of the MPI/MBCF thesis: *Memory-Based FIFO* (bounded queues in the receiver's
//! memory, one per ordered pair and purpose), *Remote Write* (and its converse, remote read) into memory whose address
//! the owner handed out, *claim words* (the compound operations compare-and-swap and fetch-and-add on words of a peer),
//! and *Memory-Based Signal*. Every implementation passes the one conformance suite in `tests/`.
//!
//! Invariants every fabric keeps:
//! 1. Cells of one queue from one peer arrive in the order in which they were pushed, each exactly once.
//!    Where peers share no memory this holds for both queues together.
//! 2. Bytes of a remote write are visible to the peer before any cell that was pushed to it later.
//! 3. A refused operation has no effect. Lengths and addresses that come from a peer are checked before use.
//! 4. No method keeps a span beyond its return, except [`Fabric::hand_out`], and none blocks except [`Fabric::idle`].

use crate::{LentSpan, ReadSpan, WriteSpan};

/// The four words that travel in every cell beside its payload; their meaning belongs to the layer above.
pub type Header = [u32; 4];

/// The purpose of a queue: one of each exists for every ordered pair of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Queue {
    /// Messages, with payloads up to [`Fabric::max_payload`].
    Messages = 0,
    /// Requests for send and other short notes to a sender, with payloads up to [`INLINE_PAYLOAD`].
    Requests = 1,
}

/// Claim words in a cache line.
pub const WORDS_PER_LINE: usize = 8;

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
    /// The peer has ended, or the connection to it is broken ([`Fabric::front`] says how).
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

/// The way by which bytes reach a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The peer is a thread of this process: a copy.
    SameProcess,
    /// The memory is in the job's shared file, which is mapped here too: a copy.
    SharedHeap,
    /// The kernel copies (`process_vm_writev`, `process_vm_readv`).
    Kernel,
    /// Through a connection: the peer's own engine puts the bytes where they belong.
    Network,
}

impl Way {
    /// Whether memory can be read by this way, and not only written.
    pub fn reads(self) -> bool {
        self != Way::Network
    }
}

/// The cell that tells a peer that a remote write is complete, for its queue of messages.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Its header.
    pub header: Header,
    /// Its payload, up to [`INLINE_PAYLOAD`] bytes.
    pub payload: ReadSpan<'a>,
}

/// What a remote write has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// By which way.
    pub way: Way,
    /// How many bytes: fewer than wanted only through a network.
    pub len: usize,
    /// The notice was pushed behind the last of them.
    pub told: bool,
}

/// Memory of one peer as another may name it. Made by [`Fabric::hand_out`], or by [`Fabric::address_of`]; three words
/// on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteAddress {
    /// What `place` is relative to; the fabric's own business.
    pub space: u64,
    /// Where the bytes start.
    pub place: u64,
    /// How many bytes were handed out: nothing beyond is ever touched.
    pub len: u64,
}

impl RemoteAddress {
    /// The place of `len` bytes from `offset`, if they lie within what was handed out.
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn part(&self, offset: u64, len: usize) -> Option<u64> {
        self.place.checked_add(self.len)?;
        let is_part = offset <= self.len && len as u64 <= self.len - offset;
        is_part.then(|| self.place + offset)
    }
}

/// The operation that a remote read is part of.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// How many bytes of memory it goes through in all, before what is read is used. What no cache holds until then is
    /// read past them.
    pub working_set: u64,
    /// Whether other peers read the same: then it is not [written back](LentSpan), so as not to go back and forth
    /// between them.
    pub with_others: bool,
}

impl Reading {
    /// By this peer alone.
    pub const fn alone(working_set: u64) -> Reading {
        Reading { working_set, with_others: false }
    }
}

/// Bytes in memory that peers share. Made by [`Fabric::shared_part`], for use with the same fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPart {
    pub(crate) place: usize,
    len: usize,
}

/// A word in memory that peers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWord(pub(crate) usize);

impl SharedPart {
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn new(place: usize, len: usize) -> Self {
        SharedPart { place, len }
    }

    /// How many bytes it has.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// `len` of its bytes, from `offset` on; `None` if it has not that many.
    #[inline]
    pub fn part(self, offset: usize, len: usize) -> Option<SharedPart> {
        let is_part = offset <= self.len && len <= self.len - offset;
        is_part.then(|| SharedPart { place: self.place + offset, len })
    }

    /// The word at `offset`; `None` if it is not wholly within, or not aligned.
    pub fn word(self, offset: usize) -> Option<SharedWord> {
        let word = self.part(offset, size_of::<u64>())?;
        word.place.is_multiple_of(size_of::<u64>()).then_some(SharedWord(word.place))
    }

    /// So many lines from `offset` on; `None` if they are not wholly within, or not aligned.
    pub fn lines<const COUNT: usize>(self, offset: usize) -> Option<SharedLines<COUNT>> {
        const { assert!(COUNT.is_power_of_two()) };
        let first = self.part(offset, COUNT.checked_mul(SHARED_LINE)?)?.place;
        first.is_multiple_of(SHARED_LINE).then_some(SharedLines { first })
    }
}

/// Bytes of each of [`SharedLines`].
pub const SHARED_LINE: usize = 64;

/// So many lines in memory that peers share, one behind the other: their words are found without being kept. How many
/// is a constant, as it is used wherever a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLines<const COUNT: usize> {
    first: usize,
}

impl<const COUNT: usize> SharedLines<COUNT> {
    /// The word at `offset` of a line. Lines are counted on round and round.
    ///
    /// # Panics
    /// If there is no such word in a line.
    #[inline(always)]
    pub fn word(self, line: u64, offset: usize) -> SharedWord {
        assert!(offset < SHARED_LINE && offset.is_multiple_of(size_of::<u64>()), "no word of a line");
        SharedWord(self.first + (line as usize & (COUNT - 1)) * SHARED_LINE + offset)
    }
}

/// Why a remote write or read had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Not within what the peer handed out.
    #[error("outside the memory that the peer handed out")]
    Refused,
    /// There is no way to that memory.
    #[error("no way to that memory of the peer")]
    NoWay,
    /// The peer has exited.
    #[error("the peer has exited")]
    PeerLost,
}

/// What a Memory-Based Signal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Signal {
    /// Look at your queues.
    Wake = 1,
    /// Something of yours is to be withdrawn.
    Cancel = 2,
    /// The job is over.
    Abort = 4,
}

/// The signals that arrived since the last look: bits of [`Signal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(pub u32);

impl SignalSet {
    /// Whether `signal` is among them.
    pub fn contains(self, signal: Signal) -> bool {
        self.0 & signal as u32 != 0
    }
}

/// How long the caller has been waiting in vain; lives on the caller's stack for the length of one wait.
#[derive(Debug, Default)]
pub struct Backoff {
    /// Rounds since something last happened.
    pub(crate) rounds: u32,
}

impl Backoff {
    /// Something happened: begin again with spinning.
    pub fn reset(&mut self) {
        self.rounds = 0;
    }
}

/// One peer's end of the transport. Owned by one thread at a time.
pub trait Fabric {
    /// This peer's number.
    fn me(&self) -> usize;
    /// How many peers there are; they are numbered from 0.
    fn peers(&self) -> usize;

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
    /// [`Fabric::read`] from the beginning and [`Fabric::pop`].
    #[inline]
    fn take(&mut self, from: usize, queue: Queue, arrival: &Arrival, into: WriteSpan) {
        self.read(from, queue, arrival, 0, into);
        self.pop(from, queue);
    }
    /// The cell that has begun to arrive from `from` in [`Queue::Messages`], if most of its payload is still to come
    /// and nothing is before it: whoever knows where that belongs can have it put there by [`Fabric::place_directly`].
    /// Each is shown once, and by `front` when it is whole.
    #[inline]
    fn coming(&mut self, _from: usize) -> Option<Arrival> {
        None
    }
    /// Pops the cell that [`Fabric::coming`] has just shown: its payload goes to `address`, which must be of the same
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
    /// As [`Fabric::passable`], what `from` can push to this peer, as far as that is known here.
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

    /// The name under which peers may reach `span`, where the memory needs not be handed out for that: for reading by a
    /// way that [reads](Way::reads), and to ask [`Fabric::way_from`].
    fn address_of(&self, span: ReadSpan) -> RemoteAddress;
    /// Lets `peer` write to `span` until [`Fabric::withdraw`], under the name that this gives. The span must stay valid
    /// until then: what arrives over a network is written by this peer itself, in any method.
    fn hand_out(&mut self, _peer: usize, span: WriteSpan<'static>) -> RemoteAddress {
        self.address_of(span.as_read())
    }
    /// Ends what [`Fabric::hand_out`] began: from now on nothing that arrives from `peer` is written there. (Where
    /// peers write without this peer's help, nothing can be withdrawn: then this does nothing and is false.)
    fn withdraw(&mut self, _peer: usize, _address: &RemoteAddress) -> bool {
        false
    }
    /// For a process that is about to fork: no peer uses memory of this peer's any more that it has been told of, but
    /// for what the library itself has of it.
    fn forget_lent(&mut self) {}
    /// How `peer` can reach memory of this peer at `address`; `None`: not at all. Known from a real test transfer at
    /// wire-up.
    fn way_from(&self, peer: usize, address: &RemoteAddress) -> Option<Way>;
    /// Writes `from` into `peer`'s memory, `offset` bytes into `address`. Over a network, that means that the bytes are
    /// on their way, in front of all later cells; an address that the peer has not handed out is a fault there, and
    /// breaks the connection.
    ///
    /// Where a network takes no more at present, only the first bytes are written, or none. Whoever has begun has to
    /// come again with the rest, or the connection is of no more use: other writes to that peer find no room until
    /// then, and cells wait behind.
    ///
    /// A notice is pushed behind the last byte where both can leave together; if it is not, all is as if it had not
    /// been mentioned. Whoever has begun with one has to come again with it.
    fn remote_write(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        from: ReadSpan,
        notice: Option<Notice>,
    ) -> Result<Written, RemoteError>;
    /// Reads from `peer`'s memory, `offset` bytes into `address`; [`RemoteError::NoWay`] where the way does not
    /// [read](Way::reads).
    fn remote_read(
        &mut self,
        peer: usize,
        address: &RemoteAddress,
        offset: u64,
        into: WriteSpan,
        reading: Reading,
    ) -> Result<Way, RemoteError>;

    /// What `peer`, or this peer itself, handed out, if all who share memory with it can use it. By convention only its
    /// owner [writes](Fabric::write_shared) there and [sets](Fabric::set_word) its words.
    fn shared_part(&self, _peer: usize, _address: &RemoteAddress) -> Option<SharedPart> {
        None
    }
    /// The bytes of a shared part, to be read. Nobody may write there meanwhile but a broken peer.
    fn shared_span(&self, _part: SharedPart) -> LentSpan<'_> {
        unreachable!("nothing is shared")
    }
    /// Copies to all bytes of a shared part, which others read next; are some of them [not near](crate::Distance)?
    ///
    /// # Panics
    /// If `from` has another length.
    fn write_shared(&mut self, _part: SharedPart, _from: ReadSpan, _far: bool) {}
    /// The value of a shared word (SeqCst, for [`Fabric::add_to_word`]), or 0.
    fn word(&self, _word: SharedWord) -> u64 {
        0
    }
    /// Sets a shared word of this peer's (Release: whoever reads it sees what was written before). Peers that may
    /// [watch](Fabric::watch) it are then to be [woken](Fabric::wake).
    fn set_word(&mut self, _word: SharedWord, _value: u64) {}
    /// Has the lines of a shared part fetched, which is going to be read here. Only a hint.
    fn fetch_part(&self, _part: SharedPart) {}
    /// Has the line of a shared word fetched, which is going to be read here, or, if it is this peer's, written.
    fn fetch_word(&self, _word: SharedWord, _to_write: bool) {}
    /// Adds to a shared word of any peer; gives the value before, or 0. (SeqCst: of two peers that each add to a word
    /// and then read the one to which the other adds, one sees the other's: windows' locks need it.)
    fn add_to_word(&mut self, _word: SharedWord, _amount: u64) -> u64 {
        0
    }
    /// Wakes `peer` if it sleeps.
    fn wake(&mut self, _peer: usize) {}
    /// The next [`Fabric::idle`] does not sleep if `word` is at least `value`. Of several words, if one is.
    fn watch(&mut self, _word: SharedWord, _value: u64) {}

    /// Where `peer`'s memory at `address` lies in this process, if it is mapped here: for loads, stores and [atomic
    /// operations](WriteSpan::word) as long as its owner lends it, and this fabric is there.
    fn direct(&self, _peer: usize, _address: &RemoteAddress) -> Option<WriteSpan<'static>> {
        None
    }
    /// What makes operations on elements of that memory atomic where no atomic operation of the processor does; `None`
    /// where no memory is shared with `peer`.
    #[cfg(not(loom))]
    fn element_lock(&self, _peer: usize, _address: &RemoteAddress) -> Option<crate::ElementLock> {
        None
    }

    /// How many processors the peers that share memory may use, as whoever began the job knew: the same at all of them.
    fn processors(&self) -> usize {
        usize::MAX
    }
    /// Whether peers share processors.
    fn is_oversubscribed(&self) -> bool {
        false
    }
    /// Whether `peer` has to run on the processor on which this one does, and so comes no further before this one
    /// [gives way](Fabric::give_way). Only a hint; false where each peer has a processor.
    fn shares_processor(&self, _peer: usize) -> bool {
        false
    }
    /// Offers the processor to others.
    fn give_way(&mut self) {}

    /// Something found no room, and its owner may turn to other things: whoever works for this peer meanwhile is to
    /// know.
    fn miss_room(&mut self) {}

    /// How many claim words each peer has: 0 where no peers share memory. [`WORDS_PER_LINE`] of them from a multiple of
    /// that number on share a cache line with each other and with nothing else.
    fn claim_words(&self) -> usize;
    /// Which node `peer` is on, numbered in the same way at every peer: those of one node have memory in common, if any
    /// have.
    fn node_of(&self, _peer: usize) -> usize {
        0
    }
    /// Whether this peer and `peer` have memory in common: each can use the other's claim words, if there are any.
    fn shares_memory_with(&self, _peer: usize) -> bool {
        self.claim_words() > 0
    }
    /// Whether `peer` is known to have died, in a job that goes on without it.
    fn has_died(&self, _peer: usize) -> bool {
        false
    }
    /// Sets claim word `index` of this peer (Release).
    fn set_claim(&mut self, index: usize, value: u64);
    /// Compare-and-swap on claim word `index` of `peer`, which may be this peer; `Err` has the value found.
    fn swap_claim(&mut self, peer: usize, index: usize, expected: u64, new: u64) -> Result<(), u64>;
    /// Fetch-and-add on claim word `index` of `peer`; gives the value before.
    fn add_to_claim(&mut self, peer: usize, index: usize, amount: u64) -> u64;

    /// Ends the job and does not return: for when going on would let a peer touch memory that is no longer ours to
    /// lend.
    fn end_job(&mut self, code: i32, reason: &str) -> !;

    /// Sends a Memory-Based Signal: wakes the peer if it sleeps in [`Fabric::idle`], and interrupts it if it registered
    /// a handler.
    fn signal(&mut self, peer: usize, signal: Signal);
    /// The signals that arrived since the last call.
    fn take_signals(&mut self) -> SignalSet;

    /// How many bytes this peer has sent to others so far, and how many it has taken in, by ways on which something can
    /// be under way where nobody sees it. If the sums over all peers are the same at a moment, nothing is.
    fn carried(&self) -> [u64; 2] {
        [0, 0]
    }

    /// How often a waiting caller should look at a queue before its first call of [`Fabric::idle`]: many times while
    /// every peer has a core of its own, a few otherwise.
    fn patience(&self) -> u32;
    /// Called in a loop by whoever waits: spins, then yields, then sleeps until a peer pushes, pops or signals (or, as
    /// a safety net, a time-out of at most a second). May return early at any time.
    fn idle(&mut self, backoff: &mut Backoff);
}
