//! Operations in flight: what the engine remembers about a send or receive until the caller has collected its result.

use std::hint::cold_path;

use rwmpi_protocol::{Fifo, Pattern};
use rwmpi_transport::{PeerFault, PushError, RemoteAddress, RemoteError};

use super::library_buffer::OwnedData;
use super::pieces::{Sink, Source};
use super::transfer::Transfer;
use super::wire;
use crate::Mark;
use crate::select::MessageWay;

/// Names an operation in flight.
pub(crate) type OperationId = u32;

/// How a send relates to its receive (MPI-5.0 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendMode {
    /// Completes when the buffer may be used again.
    Standard,
    /// The same, of a caller who waits for the message to leave in any case: a copy would not help it.
    InPlace,
    /// Completes when the receive has been matched.
    Synchronous,
}

/// What a completed operation tells. Peers are numbers in the job, not ranks in a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: u64,
    /// What the message says about its type.
    pub(crate) mark: Mark,
}

impl Completion {
    /// Of a send.
    pub(crate) const SENT: Completion = Completion { source: u32::MAX, tag: 0, bytes: 0, mark: Mark::NONE };
    /// Of a cancelled operation.
    pub(crate) const CANCELLED: Completion = Completion { tag: 1, ..Completion::SENT };

    /// Whether it is of an operation that has met no message of anybody's.
    #[inline]
    pub(crate) fn is_of_nobody(&self) -> bool {
        self.source == Completion::SENT.source
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_of_nobody() && self.tag == Completion::CANCELLED.tag
    }
}

/// What may go wrong below the typed API; there it becomes a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The message was longer than the buffer; the buffer has what fits into it.
    Truncated { source: u32, tag: u32, bytes: u64, capacity: u64 },
    /// A peer broke the protocol or is gone.
    Fault(PeerFault),
    /// A remote write or read failed.
    Remote { peer: u32, error: RemoteError },
    /// No memory for a queue.
    Push(PushError),
    /// Unexpected messages hold more memory than the limit allows; so many of them are from `source`, which has sent
    /// most.
    UnexpectedLimit { source: u32, from_source: u32, messages: u32, bytes: u64, limit: u64 },
    /// What arrived has another length than all ranks of a collective must agree on.
    WrongLength { source: u32, bytes: u64, expected: u64 },
    /// The same, where nobody knows what length.
    OtherLength { source: u32, expected: u64 },
    /// Sender and receiver name different types.
    OtherType { source: u32, sent: Mark, of: &'static str },
    /// What arrived is no whole number of elements.
    NotWhole { source: u32, bytes: u64, of: &'static str },
    /// Somebody whose contribution this rank depends on had none.
    Nothing { source: u32 },
    /// The program's operation panicked on this rank, or was left by an exception.
    Panicked,
    /// What arrived (at that place of a buffer) is no value of its elements' type.
    NoValue { place: Option<usize>, of: &'static str },
    /// The rank that gives out a context for a new communicator has none left.
    NoContext,
    /// Something has been written over what the library remembers.
    Overwritten,
    /// The job has been aborted.
    Aborted,
    /// What is waited for only that peer could do, which has left the job, or is about to.
    Departed { peer: u32, finalizes: bool },
    /// That peer has died, and the job goes on.
    Died { peer: u32 },
    /// That peer has died, who might have sent what is waited for, and the program has not said that it knows.
    Unacknowledged { peer: u32 },
    /// The communicator was revoked.
    Revoked,
}

impl Failure {
    /// What a receive has got although it failed.
    pub(crate) fn received(&self) -> Option<Completion> {
        match *self {
            Failure::Truncated { source, tag, bytes, capacity } => {
                Some(Completion { source, tag, bytes: bytes.min(capacity), mark: Mark::NONE })
            }
            _ => None,
        }
    }

    /// Whether it concerns a peer, or a communicator, and nothing else of the engine.
    pub(crate) fn is_survived(&self) -> bool {
        matches!(self, Failure::Died { .. } | Failure::Unacknowledged { .. } | Failure::Revoked)
    }

    /// Whether a peer cannot be reached any more, or has given up.
    pub(crate) fn is_lost_peer(&self) -> bool {
        matches!(
            self,
            Failure::Fault(_)
                | Failure::Departed { finalizes: false, .. }
                | Failure::Push(PushError::PeerLost { .. })
                | Failure::Remote { error: RemoteError::PeerLost, .. }
        )
    }
}

pub(crate) type Outcome = Result<Completion, Failure>;

/// What became of a receive at its start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Received {
    /// It has completed.
    Now(Completion),
    /// It is in flight.
    Later(OperationId),
}

/// One send or receive. Kept small, as most come and go with a message of a few bytes: what few need is behind a
/// pointer.
#[derive(Debug)]
pub(crate) enum Operation {
    Send(SendOperation),
    Receive(ReceiveOperation),
    /// Completed, not collected yet.
    Done(Outcome),
}

/// A send that could not complete at once.
#[derive(Debug)]
pub(crate) struct SendOperation {
    pub(crate) peer: u32,
    pub(crate) context: u32,
    pub(crate) tag: u32,
    pub(crate) data: Source,
    pub(crate) mode: SendMode,
    pub(crate) mark: Mark,
    /// How far it has come.
    pub(crate) stage: Stage,
    /// Whether the receiver was told where the data are, so that it may read them at any time.
    pub(crate) exposed: bool,
    /// The data, where the library keeps them (buffered sends, sends to self that were not matched).
    pub(crate) owned: Option<Box<OwnedData>>,
}

/// How far a send has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
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
    pub(crate) fn is_with_receiver(&self) -> bool {
        matches!(self, Stage::Waiting | Stage::Announced | Stage::Left(_))
    }
}

/// A message whose receive is known, and which its receiver may fetch: what a remote write of it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) transfer: Transfer,
    pub(crate) target: RemoteAddress,
}

/// How far a remote write has come, and what is to be said when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writing {
    pub(crate) target: RemoteAddress,
    pub(crate) written: usize,
    pub(crate) len: usize,
    pub(crate) notice: Notice,
}

/// Whom a remote write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A receive that was advertised.
    Request(Transfer),
    /// A pull of that number.
    Pull(u32),
}

/// A receive that has not completed.
#[derive(Debug)]
pub(crate) struct ReceiveOperation {
    pub(crate) pattern: Pattern,
    pub(crate) buffer: Sink,
    /// The slot of its request for send, once it has been advertised.
    pub(crate) slot: Option<u32>,
    /// Whether it has been matched (its data are arriving), so that it is no longer posted.
    pub(crate) matched: bool,
    /// Whether the sender was asked to forget its request.
    pub(crate) withdrawing: bool,
    /// What the message that it was matched with says about its type.
    pub(crate) mark: Mark,
}

impl ReceiveOperation {
    /// The result of having received a message of `bytes` bytes.
    #[inline]
    pub(crate) fn outcome(capacity: usize, source: u32, tag: u32, bytes: u64) -> Outcome {
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
