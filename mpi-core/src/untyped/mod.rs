//! MPI on (memory, count, datatype): what front ends for other languages stand on.
//!
//! It shares communicators, engine and progress with the typed API; what the typed API gets from borrows, here the
//! caller promises when it makes [`Elements`]. Elements whose bytes lie side by side are handed to the engine as they
//! are. Of others, few are packed into memory of the library first, or received there and unpacked; many the engine
//! packs and unpacks in pieces.
//!
//! A blocking call of such contiguous elements makes no request object.

mod buffered;
pub mod collective;
mod elements;
mod generalized;
mod loan;
mod outside;
mod partitioned;
mod persistent;
mod point_to_point;
mod reduce_local;
mod request;
mod several;
mod simple_request;

pub use buffered::{AttachedBuffer, BufferOwner};
pub use elements::{Elements, Run, Runs};
pub(crate) use elements::{lasting, window_memory};
pub use generalized::Generalized;
pub use outside::Outside;
pub use partitioned::{Partitioned, PartitionedReceive, PartitionedSend};
pub use persistent::Persistent;
pub use point_to_point::{Mode, TakenMessage};
pub use reduce_local::reduce_local_runs;
pub use request::{Endpoint, Request};
pub use rwmpi_transport::{ReadSpan, WriteSpan};
pub use several::Listed;
pub use simple_request::{Collected, SimpleRequest, Started, StartedReceive};

use crate::activity::Call;
use crate::datatype::Datatype;
use crate::engine::{Completion, Outcome};
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Result, Source, TagSelector};

/// What a completed operation or a probe tells (MPI-5.0 section 3.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator; `Any` where there was no message, `Null` for a receive from nobody.
    pub source: Source,
    /// The message's tag; `Any` where there was none.
    pub tag: TagSelector,
    /// Length of the message, bytes.
    pub bytes: u64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// Of a request that is null or inactive, and of a send.
    pub const EMPTY: Status = Status { source: Source::Any, tag: TagSelector::Any, bytes: 0, cancelled: false };
    /// Of a receive from nobody.
    pub const NOBODY: Status = Status { source: Source::Null, ..Status::EMPTY };

    #[inline]
    pub(crate) fn new(communicator: &Communicator, completion: Completion) -> Self {
        if completion.is_of_nobody() {
            return Status { cancelled: completion.is_cancelled(), ..Status::EMPTY };
        }
        let Completion { source, tag, bytes, .. } = completion;
        let source = Source::Rank(communicator.rank_of(source));
        Status { source, tag: TagSelector::Tag(tag as i32), bytes, cancelled: false }
    }

    /// Of an operation that has completed, whether or not it failed.
    fn of_outcome(communicator: &Communicator, outcome: &Outcome) -> Self {
        let completion = outcome.as_ref().map_or_else(|failure| failure.received(), |completion| Some(*completion));
        completion.map_or(Status::EMPTY, |completion| Status::new(communicator, completion))
    }

    /// Of the message that a receive has met which failed with that error; `None` if it has met none.
    #[cold]
    pub fn of_failed(error: &Error) -> Option<Self> {
        let status = error.status()?;
        let (source, tag) = (Source::Rank(status.source()?), TagSelector::Tag(status.tag()?));
        Some(Status { source, tag, bytes: status.bytes(), cancelled: false })
    }

    /// The status of a message that was received as elements of that datatype.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if the last element of a predefined datatype is not whole.
    pub fn of_whole_elements(self, communicator: &Communicator, datatype: &Datatype) -> Result<Self> {
        let (Source::Rank(source), TagSelector::Tag(tag)) = (self.source, self.tag) else { return Ok(self) };
        if datatype.elements(self.bytes).is_some() {
            return Ok(self);
        }
        let what = format!(
            "the message from rank {source} with tag {tag} is {} bytes long, which is no whole number of elements of the receive's \
             datatype. Do both sides name the same type?",
            self.bytes
        );
        let error = Error::argument(ErrorClass::Datatype, communicator, Call::Receive, what);
        Err(error.of_message(crate::Status::of_message(source, tag, self.bytes)))
    }
}
