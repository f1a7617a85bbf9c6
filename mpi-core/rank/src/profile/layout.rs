//! Where a rank's notes lie among the words that it has for them. Times are in whatever the records count in.
//!
//! Counters come first and have a fixed place each. After them is a ring of events, which keeps the latest.

/// How far the rank has come: 0, [`RUNNING`] or [`FINALIZED`].
pub(super) const STATE: usize = 0;
pub(super) const RUNNING: u64 = 1;
pub(super) const FINALIZED: u64 = 2;
/// When it has joined, and when it has finalized.
pub(super) const BEGAN: usize = 1;
pub(super) const ENDED: usize = 2;
/// The call in which it is: the number of the function, from 1 on, and since when.
pub(super) const PRESENT: usize = 3;
pub(super) const PRESENT_SINCE: usize = 4;
/// How many events it has noted, those that are gone again included, and for how many there is room.
pub(super) const EVENTS: usize = 5;
pub(super) const EVENT_ROOM: usize = 6;
/// How many functions it has called.
pub(super) const FUNCTIONS: usize = 7;
/// How many calls and collectives it could not count, as there was no room.
pub(super) const UNCOUNTED: usize = 8;
/// For how many peers there is room.
pub(super) const PEERS: usize = 9;
/// Time in calls, and time in them in which nothing happened.
pub(super) const INSIDE: usize = 10;
pub(super) const WAITED: usize = 11;
/// The wait in which it is: since when, and the first word of its event.
pub(super) const OPEN_WAIT: usize = 12;
pub(super) const OPEN_WAIT_FOR: usize = 13;
/// For how long, in nanoseconds, a processor has run the rank, and for how long it was ready and had none.
pub(super) const RAN: usize = 14;
pub(super) const QUEUED: usize = 15;
/// Ways of messages, in the order of [`super::recorded::WAYS`].
pub(super) const WAYS: usize = 16;
pub(super) const WAYS_MAX: usize = 16;

/// Functions: the name, then [`CALLS`] and so on.
pub(super) const FUNCTIONS_AT: usize = 32;
pub(super) const FUNCTIONS_MAX: usize = 128;
pub(super) const FUNCTION: usize = 16;
pub(super) const NAME_WORDS: usize = 8;
pub(super) const CALLS: usize = 8;
pub(super) const TIME: usize = 9;
pub(super) const WAITING: usize = 10;
pub(super) const LONGEST: usize = 11;
pub(super) const BYTES: usize = 12;

/// Messages and their bytes, by the number of bits of the length.
pub(super) const SIZES_AT: usize = FUNCTIONS_AT + FUNCTIONS_MAX * FUNCTION;
pub(super) const SIZES: usize = 65;
pub(super) const SIZE: usize = 2;

/// Collectives by function, communicator and size: the key, calls, time, waiting, bytes.
pub(super) const GROUPS_AT: usize = SIZES_AT + SIZES * SIZE;
pub(super) const GROUPS_MAX: usize = 256;
pub(super) const GROUP: usize = 5;

/// Peers: messages and bytes of the program, messages and bytes of the library's own, and what was waited for it, by
/// [`Reason`].
pub(super) const PEERS_AT: usize = GROUPS_AT + GROUPS_MAX * GROUP;
pub(super) const PEER: usize = 12;
pub(super) const PEER_MESSAGES: usize = 0;
pub(super) const PEER_BYTES: usize = 1;
pub(super) const PEER_OWN_MESSAGES: usize = 2;
pub(super) const PEER_OWN_BYTES: usize = 3;
pub(super) const PEER_WAITS: usize = 4;

/// Why a rank waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// For its message: it sends late.
    Message,
    /// For it to take a message: it receives late.
    Receiver,
    /// For its part of a collective.
    Collective,
    /// For its part of an epoch, or the lock that it has.
    Window,
}

impl Reason {
    /// All of them, in the order of their words.
    pub const ALL: [Reason; 4] = [Reason::Message, Reason::Receiver, Reason::Collective, Reason::Window];
}

/// An event: what it is and about whom, two times or a time and an envelope, and a length.
pub(super) const EVENT: usize = 4;
pub(super) const CALL: u64 = 1;
pub(super) const WAIT: u64 = 2;
pub(super) const SENT: u64 = 3;
pub(super) const RECEIVED: u64 = 4;
/// In place of a peer.
pub(super) const NOBODY: u32 = u32::MAX;

/// The first word of an event.
pub(super) fn event_word(kind: u64, number: u32, peer: u32) -> u64 {
    u64::from(peer) << 32 | u64::from(number & 0xff_ffff) << 8 | kind
}

/// Where the events begin.
pub(super) fn events_at(peers: usize) -> usize {
    PEERS_AT + peers * PEER
}

/// How many words a rank of a job of so many needs for its notes, with room for so many events.
pub fn words(peers: usize, events: usize) -> usize {
    events_at(peers) + events * EVENT
}

/// What kind of collective that is: a function, a communicator and a size, never 0.
pub(super) fn group_key(function: u32, communicator: u32, bits: u32) -> u64 {
    1 << 63 | u64::from(function & 0xffff) << 40 | u64::from(bits & 0xff) << 32 | u64::from(communicator)
}

/// Function, communicator and size of such a key.
pub(super) fn parts_of_key(key: u64) -> (usize, u32, u32) {
    ((key >> 40 & 0xffff) as usize, key as u32, (key >> 32 & 0xff) as u32)
}

/// How many bits a length has.
pub(super) fn bits(bytes: u64) -> u32 {
    u64::BITS - bytes.leading_zeros()
}
