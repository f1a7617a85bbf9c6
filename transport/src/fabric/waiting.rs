//! Waiting for peers, and waking those that wait: Memory-Based Signal, sleep, and the processors that peers share.

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

/// How this peer waits and wakes others.
pub trait Waiting {
    /// How often a waiting caller should look at a queue before its first call of [`Waiting::idle`]: many times while
    /// every peer has a core of its own, a few otherwise.
    fn patience(&self) -> u32;
    /// Called in a loop by whoever waits: spins, then yields, then sleeps until a peer pushes, pops or signals (or, as
    /// a safety net, a time-out of at most a second). May return early at any time.
    fn idle(&mut self, backoff: &mut Backoff);
    /// Wakes `peer` if it sleeps.
    fn wake(&mut self, _peer: usize) {}
    /// Sends a Memory-Based Signal: wakes the peer if it sleeps in [`Waiting::idle`], and interrupts it if it
    /// registered a handler.
    fn signal(&mut self, peer: usize, signal: Signal);
    /// The signals that arrived since the last call.
    fn take_signals(&mut self) -> SignalSet;
    /// How many processors the peers that share memory may use, as whoever began the job knew: the same at all of them.
    fn processors(&self) -> usize {
        usize::MAX
    }
    /// Whether peers share processors.
    fn is_oversubscribed(&self) -> bool {
        false
    }
    /// Whether `peer` has to run on the processor on which this one does, and so comes no further before this one
    /// [gives way](Waiting::give_way). Only a hint; false where each peer has a processor.
    fn shares_processor(&self, _peer: usize) -> bool {
        false
    }
    /// Offers the processor to others.
    fn give_way(&mut self) {}
    /// Something found no room, and its owner may turn to other things: whoever works for this peer meanwhile is to
    /// know.
    fn miss_room(&mut self) {}
}
