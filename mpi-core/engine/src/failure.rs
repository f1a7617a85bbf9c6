//! What may go wrong below the typed API, and the sentences that say so.

use rwmpi_transport::{PeerFault, PushError, RemoteError};

use crate::{Completion, Mark};

const FINALIZES: &str = "has finalized: it will do nothing more that this could wait for. Has it left out a call, or come to its end too early?";
const HAS_LEFT: &str = "has left the job without finalizing: it has ended or died, or its universe was dropped. Call finalize on every rank, after the last communication";

/// What may go wrong below the typed API; there it becomes a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
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
    pub fn received(&self) -> Option<Completion> {
        match *self {
            Failure::Truncated { source, tag, bytes, capacity } => {
                Some(Completion { source, tag, bytes: bytes.min(capacity), mark: Mark::NONE })
            }
            _ => None,
        }
    }

    /// Whether it concerns a peer, or a communicator, and nothing else of the engine.
    pub fn is_survived(&self) -> bool {
        matches!(self, Failure::Died { .. } | Failure::Unacknowledged { .. } | Failure::Revoked)
    }

    /// Whether a peer cannot be reached any more, or has given up.
    pub fn is_lost_peer(&self) -> bool {
        matches!(
            self,
            Failure::Fault(_)
                | Failure::Departed { finalizes: false, .. }
                | Failure::Push(PushError::PeerLost { .. })
                | Failure::Remote { error: RemoteError::PeerLost, .. }
        )
    }

    /// What has happened, in the user's words; `rank` is what a peer is called.
    #[cold]
    pub fn words(&self, rank: impl Fn(u32) -> usize) -> String {
        match *self {
            Failure::Truncated { source, tag, bytes, capacity } => format!(
                    "the message from rank {} with tag {tag} is {bytes} bytes long, but the receive buffer holds only \
                     {capacity}: the rest is lost. Receive into a larger buffer, or probe for the length first",
                    rank(source)
                ),
            Failure::Fault(_)
            | Failure::Remote { .. }
            | Failure::Push(PushError::PeerLost { .. })
            | Failure::Departed { .. }
            | Failure::Aborted => what_became_of_peer(self, rank),
            Failure::Push(error) => format!("{error}: this node has no memory left for message queues; start fewer ranks or free memory"),
            Failure::UnexpectedLimit { source, from_source, messages, bytes, limit } => format!(
                    "{messages} messages that this rank has not received yet hold {bytes} bytes, more than the limit of {limit}; most, \
                     {from_source}, are from rank {}. Post receives earlier, or send synchronously",
                    rank(source)
                ),
            Failure::WrongLength { source, bytes, expected } => {
                other_length(rank(source), &format!("{bytes} bytes"), expected)
            }
            Failure::OtherLength { source, expected } => {
                other_length(rank(source), "more or fewer bytes", expected)
            }
            Failure::Nothing { source } => format!("rank {} had nothing to pass on: it, or a rank before it, says why", rank(source)),
            Failure::Panicked => {
                "the operation's function panicked, or an exception has left it".to_string()
            }
            Failure::OtherType { source, sent, of } => format!(
                    "rank {} has sent {} where this rank expects {of}. Both sides must name the same type (this is checked where \
                     both are built with debug assertions)",
                    rank(source),
                    sent.name()
                ),
            Failure::NotWhole { source, bytes, of } => format!(
                    "the message from rank {} is {bytes} bytes long, which is no whole number of {of}. Do both sides name the \
                     same type?",
                    rank(source)
                ),
            Failure::NoValue { place, of } => no_value(place, of),
            Failure::NoContext => "no communicator contexts are left: this job has made too many communicators".to_string(),
            Failure::Died { .. } | Failure::Unacknowledged { .. } | Failure::Revoked => what_is_survived(self, rank),
            Failure::Overwritten => "what the library remembers of messages has been overwritten. Has the program freed or reused the buffer of a receive that \
                 had not completed?"
                    .to_string(),
        }
    }
}

/// The same of a failure that the job survives.
#[cold]
fn what_is_survived(failure: &Failure, rank: impl Fn(u32) -> usize) -> String {
    match *failure {
        Failure::Died { peer } => format!("{} has died", who(rank(peer))),
        Failure::Unacknowledged { peer } => format!(
            "{} has died, which might have sent what this waits for; it goes on once the program has acknowledged that",
            who(rank(peer))
        ),
        _ => "the communicator has been revoked".to_string(),
    }
}

/// That rank; or one of the group of an intercommunicator that calls do not name.
#[cold]
fn who(rank: usize) -> String {
    if rank == usize::MAX { "a rank of the same group".to_owned() } else { format!("rank {rank}") }
}

/// Why a peer, or the job, can do nothing more for this rank.
#[cold]
fn what_became_of_peer(failure: &Failure, rank: impl Fn(u32) -> usize) -> String {
    match *failure {
        Failure::Fault(fault) => format!("rank {}: {}", rank(fault.peer as u32), fault.what),
        Failure::Remote { peer, error: error @ RemoteError::Refused } => format!(
            "copying from or to rank {}: {error}. Do all ranks name the same root, the same type and as many elements?",
            rank(peer)
        ),
        Failure::Remote { peer, error } => format!("copying from or to rank {}: {error}", rank(peer)),
        Failure::Push(PushError::PeerLost { peer }) => {
            format!("rank {} is gone: it has ended, or the connection to it is broken", rank(peer as u32))
        }
        Failure::Departed { peer, finalizes } => {
            format!("this waits for rank {}, which {}", rank(peer), if finalizes { FINALIZES } else { HAS_LEFT })
        }
        _ => "the job has been aborted".to_owned(),
    }
}

#[cold]
fn other_length(rank: usize, length: &str, expected: u64) -> String {
    format!(
        "rank {rank} takes part with {length} where this rank expects {expected}. Do all ranks call the same, with the same root, \
         type and count? mpiexec --check tells"
    )
}

#[cold]
fn no_value(place: Option<usize>, of: &str) -> String {
    match place {
        Some(place) => format!(
            "what arrived as element {place} of the buffer is no {of}; it and those behind it are as they were. Do both sides \
             name the same type?"
        ),
        None => format!("what another rank contributed is no {of}. Do all ranks name the same type?"),
    }
}
