//! What connects nodes: beside the contract of a fabric, what a [cluster's fabric](crate::ClusterFabric) needs to have
//! two of them in one.
//!
//! A second network is one more implementation of this trait.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::{Backoff, Fabric, Queue};
use crate::Presence;

/// One peer's end of what connects nodes. Where peers share memory all the same, it may serve to wake them only.
pub trait Network: Fabric {
    /// Has `peer` come out of its sleep, without saying anything.
    fn ring(&mut self, peer: usize);
    /// The connection with `peer` serves nothing but [`Network::ring`]: it may have finished before one stands.
    fn only_ring(&mut self, peer: usize);
    /// Takes in what has arrived, without waiting.
    fn look_around(&mut self);
    /// Whether something has arrived that a caller may not have seen, since the last call.
    fn take_news(&mut self) -> bool;
    /// The next peer with a cell in `queue`, round robin, of what has been taken in so far.
    fn next_waiting(&mut self, queue: Queue) -> Option<usize>;
    /// One round of a wait, but for the sleep: returns whether it is time for that.
    fn pass_round(&mut self, backoff: &mut Backoff) -> bool;
    /// Sleeps until a socket is ready.
    fn sleep(&mut self);
    /// Tells peers of all credit that they can have.
    fn pay_debts(&mut self);
    /// A descriptor that wakes this peer when eight bytes are written to it.
    fn doorbell(&mut self) -> io::Result<Arc<OwnedFd>>;
    /// A descriptor that is readable when a socket is ready.
    fn readiness(&self) -> io::Result<OwnedFd>;
    /// Takes in what has arrived and pays what is owed; whether there is nothing more to do before a socket is ready
    /// again.
    fn is_settled(&mut self) -> bool;
    /// Whether a peer still takes part, as far as it has said.
    fn presence(&self, peer: usize) -> Presence;
    /// Whether any peer has said that it takes part no longer.
    fn has_anybody_gone(&self) -> bool;
    /// Whether the connection with `peer` is broken.
    fn has_lost(&self, peer: usize) -> bool;
    /// Has a peer say how it stands with it, unless it can say so already, or is about to have a connection for other
    /// reasons: who is asked again and again for a while is asked once.
    fn ask(&mut self, peer: usize);
    /// Says that this peer ends, and how: behind all that it has pushed or written.
    fn depart(&mut self, presence: Presence);
    /// Says goodbye to all, once.
    fn begin_to_finish(&mut self);
    /// Ends in good order: all that was pushed or written reaches the peers. Returns when every peer that this one is
    /// connected with has finished too, or is gone.
    fn finish(&mut self);
    /// As [`Network::finish`], but does not wait longer than that.
    fn leave(&mut self, longest: Duration);
    /// Ends the job: every peer that this one is connected with learns of it by [`crate::Signal::Abort`].
    fn abort(&mut self);
}
