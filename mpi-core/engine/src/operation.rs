//! Operations in flight: what the engine remembers about a send or receive until the caller has collected its result.

use std::hint::cold_path;

use rwmpi_protocol::{Fifo, Pattern};
use rwmpi_transport::RemoteAddress;

use super::bounce_buffer::OwnedData;
use super::pieces::{Sink, Source};
use super::wire;
use crate::select::MessageWay;
use crate::{Completion, Failure, Mark, OperationId};

/// How a send relates to its receive (MPI-5.0 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// Completes when the buffer may be used again.
    Standard,
    /// The same, of a caller who waits for the message to leave in any case: a copy would not help it.
    InPlace,
    /// Completes when the receive has been matched.
    Synchronous,
}

pub type Outcome = Result<Completion, Failure>;

/// What became of a receive at its start.
#[derive(Clone, Copy, Debug)]
pub enum Received {
    /// It has completed.
    Now(Completion),
    /// It is in flight.
    Later(OperationId),
}

/// One send or receive. Kept small, as most come and go with a message of a few bytes: what few need is behind a
/// pointer.
#[derive(Debug)]
pub enum Operation {
    Send(SendOperation),
    Receive(ReceiveOperation),
    /// Completed, not collected yet.
    Done(Outcome),
}

/// A send that could not complete at once.
#[derive(Debug)]
pub struct SendOperation {
    pub peer: u32,
    pub context: u32,
    pub tag: u32,
    pub data: Source,
    pub mode: SendMode,
    pub mark: Mark,
    /// How far it has come.
    pub stage: Stage,
    /// Whether the receiver was told where the data are, so that it may read them at any time.
    pub exposed: bool,
    /// The data, where the library keeps them (buffered sends, sends to self that were not matched).
    pub owned: Option<Box<OwnedData>>,
}

/// How far a send has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing left yet. Unless `fifo` is open its way stands.
    Queued { fifo: Fifo },
    /// Bytes up to here have left; the rest follows.
    Streaming { sent: usize },
    /// It is being written into its receiver's memory, through a connection that takes no more at present. Nobody but
    /// this rank reads its buffer, and only while it makes progress.
    Writing(Box<Writing>),
    /// All that can be done here is done; the receiver answers when it has matched (and fetched) the message.
    Waiting,
    /// The same, and the receiver has been told where the data are, but has not said that it has begun to fetch them.
    Announced,
    /// The same as waiting, but if the receiver is long in coming this rank writes the message itself.
    Left(Box<Left>),
    /// A message to this rank itself that waits for its receive, under that key among the unexpected ones.
    Local { key: usize },
}

impl Stage {
    /// Whether it is for the receiver to go on.
    pub fn is_with_receiver(&self) -> bool {
        matches!(self, Stage::Waiting | Stage::Announced | Stage::Left(_))
    }
}

/// What became of an attempt to send.
pub(super) enum Progress {
    /// The buffer may be used again.
    Done,
    /// The receiver will answer.
    Waiting,
    /// The same, once it has fetched the data.
    Announced,
    /// The same, unless it is long in coming.
    Left(Left),
    /// No room; go on later from this stage.
    Blocked(Stage),
}

/// One message on its way: whose slot, and the two ends as seen by the side that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub(super) owner: u32,
    pub(super) slot: u32,
    pub(super) generation: u64,
    pub(super) len: u64,
}

/// A message whose receive is known, and which its receiver may fetch: what a remote write of it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub transfer: Transfer,
    pub target: RemoteAddress,
}

/// How far a remote write has come, and what is to be said when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    pub target: RemoteAddress,
    pub written: usize,
    pub len: usize,
    pub notice: Notice,
}

/// Whom a remote write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A receive that was advertised.
    Request(Transfer),
    /// A pull of that number.
    Pull(u32),
}

/// A receive that has not completed.
#[derive(Debug)]
pub struct ReceiveOperation {
    pub pattern: Pattern,
    pub buffer: Sink,
    /// The slot of its request for send, once it has been advertised.
    pub slot: Option<u32>,
    /// Whether it has been matched (its data are arriving), so that it is no longer posted.
    pub matched: bool,
    /// Whether the sender was asked to forget its request.
    pub withdrawing: bool,
    /// What the message that it was matched with says about its type.
    pub mark: Mark,
}

impl ReceiveOperation {
    /// The result of having received a message of `bytes` bytes.
    #[inline]
    pub fn outcome(capacity: usize, source: u32, tag: u32, bytes: u64) -> Outcome {
        let capacity = capacity as u64;
        if bytes > capacity {
            cold_path();
            return Err(Failure::Truncated { source, tag, bytes, capacity });
        }
        Ok(Completion { source, tag, bytes, mark: Mark::NONE })
    }
}

/// What the first cell of a message carries.
pub(super) enum First {
    Whole,
    Begin(wire::Begin),
    Announce(wire::Announce),
}

impl First {
    /// What that makes of the message.
    pub(super) fn way(&self) -> MessageWay {
        match self {
            First::Whole => MessageWay::Eager,
            First::Begin(wire::Begin { waits: 1, .. }) => MessageWay::RendezvousWrite,
            First::Begin(_) => MessageWay::Pipeline,
            First::Announce(_) => MessageWay::RendezvousRead,
        }
    }
}
