//! Events: what an engine tells whoever observes it, about messages, when it happens.
//!
//! Nobody does, as a rule, and then nothing may be paid for it. So an observed engine leaves its short cuts (small
//! sends that make no operation, receives that take their message from the queue), as one that has failed does; what
//! remains are the long ways, which look whether they are observed.

pub use crate::select::MessageWay;

/// Something that has happened to a message.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// The process at the other end, by its number in the job.
    pub process: u32,
    /// Whether the message is part of a collective.
    pub is_collective: bool,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: u64,
}

/// What can happen to one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Its sender has decided which way it goes.
    WayDecided(MessageWay),
    /// It has come, and no receive waits for it.
    Unexpected,
    /// Its receive was posted after it had come.
    LateReceiver,
    /// It has come, and its receive waited for it.
    LateSender,
}

/// What is told.
#[doc(hidden)]
pub type Observer = fn(&Event);
