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
//! 4. No method keeps a span beyond its return, except [`RemoteMemory::hand_out`], and none blocks except
//!    [`Waiting::idle`].
//!
//! The contract has a trait for each purpose: [`Queues`], [`RemoteMemory`] (Remote Write and read), [`SharedMemory`]
//! (claim words and what else only those have who share memory) and [`Waiting`] (with signals). A [`Fabric`] is all of
//! them; a [`Network`] is one that leads to other nodes.

#[cfg(not(loom))]
mod network;
mod queues;
mod remote_memory;
mod shared_memory;
mod waiting;

#[cfg(not(loom))]
pub use network::Network;
pub use queues::{Arrival, Enqueue, Header, INLINE_PAYLOAD, Passable, PeerFault, PushError, Queue, Queues};
pub use remote_memory::{Notice, Reading, RemoteAddress, RemoteError, RemoteMemory, Way, Written};
pub use shared_memory::{SHARED_LINE, SharedLines, SharedMemory, SharedPart, SharedWord, WORDS_PER_LINE};
pub use waiting::{Backoff, Signal, SignalSet, Waiting};

/// One peer's end of the transport. Owned by one thread at a time.
pub trait Fabric: Queues + RemoteMemory + SharedMemory + Waiting {
    /// This peer's number.
    fn me(&self) -> usize;
    /// How many peers there are; they are numbered from 0.
    fn peers(&self) -> usize;
    /// Which node `peer` is on, numbered in the same way at every peer: those of one node have memory in common, if any
    /// have.
    fn node_of(&self, _peer: usize) -> usize {
        0
    }
    /// Whether `peer` is known to have died, in a job that goes on without it.
    fn has_died(&self, _peer: usize) -> bool {
        false
    }
    /// How many bytes this peer has sent to others so far, and how many it has taken in, by ways on which something can
    /// be under way where nobody sees it. If the sums over all peers are the same at a moment, nothing is.
    fn carried(&self) -> [u64; 2] {
        [0, 0]
    }
    /// Ends the job and does not return: for when going on would let a peer touch memory that is no longer ours to
    /// lend.
    fn end_job(&mut self, code: i32, reason: &str) -> !;
}
