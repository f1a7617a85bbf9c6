//! What is known of an operation that has completed.

use crate::Mark;

/// What a completed operation tells. Peers are numbers in the job, not ranks in a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub source: u32,
    pub tag: u32,
    pub bytes: u64,
    /// What the message says about its type.
    pub mark: Mark,
}

impl Completion {
    /// Of a send.
    pub const SENT: Completion = Completion { source: u32::MAX, tag: 0, bytes: 0, mark: Mark::NONE };
    /// Of a cancelled operation.
    pub const CANCELLED: Completion = Completion { tag: 1, ..Completion::SENT };

    /// Whether it is of an operation that has met no message of anybody's.
    #[inline]
    pub fn is_of_nobody(&self) -> bool {
        self.source == Completion::SENT.source
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_of_nobody() && self.tag == Completion::CANCELLED.tag
    }
}
