//! Errors: the MPI error class and a sentence in the user's words.

use std::fmt;

use rwmpi_transport::PushError;

use crate::Status;
use crate::engine::Failure;

/// The error classes of MPI that this library reports (MPI-5.0 section 9.4).
#[doc = example!(1
    "let full = world.buffered_send(&[1, 2, 3], 0, 0).and_then(|()| world.recv(&mut [0; 2], 0, 0));"
    "assert_eq!(full.unwrap_err().class(), rwmpi::ErrorClass::Truncate);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// A buffer that can't be used.
    Buffer,
    /// A count or length that can't be used.
    Count,
    /// A datatype that can't be used here.
    Datatype,
    /// A tag out of range.
    Tag,
    /// A communicator that can't be used here.
    Communicator,
    /// A rank out of range.
    Rank,
    /// A root out of range.
    Root,
    /// A group that can't be used here.
    Group,
    /// A reduction operation that can't be used here.
    Operation,
    /// A communicator without the topology that the call is about.
    Topology,
    /// Dimensions that can't be used.
    Dimensions,
    /// Another argument that can't be used.
    Argument,
    /// A request that can't be used here.
    Request,
    /// The message is longer than the receive buffer.
    Truncate,
    /// One of several requests failed: their statuses say which.
    InStatus,
    /// The request has not completed, and has not failed either.
    Pending,
    /// A key of attributes that can't be used here.
    Keyval,
    /// An info object that can't be used.
    Info,
    /// An info key that is empty or too long.
    InfoKey,
    /// An info value that is too long.
    InfoValue,
    /// An info object without that key.
    InfoNoKey,
    /// An error handler that can't be used.
    ErrorHandler,
    /// A session that can't be used.
    Session,
    /// A window that can't be used.
    Window,
    /// A size that can't be used.
    Size,
    /// A displacement that can't be used.
    Displacement,
    /// What is no type of locks.
    LockType,
    /// What is no assertion, or none for this call.
    Assertion,
    /// Outside of a window's memory.
    RmaRange,
    /// A call that is wrong in the present epoch of a window.
    RmaSync,
    /// Memory that the ranks of a window can't share.
    RmaShared,
    /// Memory that can't be attached to a window.
    RmaAttach,
    /// A window of a flavour for which the call is not made.
    RmaFlavour,
    /// A file that can't be used.
    File,
    /// Ways of access to a file that can't be had together.
    AccessMode,
    /// A name of a file that can't be used.
    BadFile,
    /// There is no such file.
    NoSuchFile,
    /// There is such a file already.
    FileExists,
    /// The file is in use.
    FileInUse,
    /// Access to a file that is not permitted.
    Access,
    /// A file that can only be read.
    ReadOnly,
    /// Its file system is full.
    NoSpace,
    /// The user may have no more of it.
    Quota,
    /// Reading or writing a file has failed.
    InputOutput,
    /// A data representation that there is already.
    DuplicateRepresentation,
    /// A data representation that there is not.
    UnsupportedRepresentation,
    /// Values that could not be converted to or from a data representation.
    Conversion,
    /// A name that is not published.
    Name,
    /// A port that is not open.
    Port,
    /// A service that is published already, or not.
    Service,
    /// Processes that can't be started.
    Spawn,
    /// Not the same arguments at all ranks.
    NotSame,
    /// The value is too large for the type of its result.
    ValueTooLarge,
    /// Memory, or something else that is finite, has run out.
    NoMemory,
    /// What the library does not support.
    UnsupportedOperation,
    /// A peer has died or left.
    ProcessFailed,
    /// A peer has died, and the job goes on.
    ProcessDied,
    /// A peer has died that might have sent what is waited for, which another may send yet.
    ProcessDiedPending,
    /// A communicator that was revoked.
    Revoked,
    /// A mistake of the library itself.
    Internal,
    /// A function of the program was left otherwise than by its end.
    Unwound,
    /// Anything else.
    Other,
    /// An error code that a function of the program returned.
    Code(i32),
}

/// What went wrong, with all that is known about it.
#[doc = example!(1
    "let error = world.send(&[1.5], 7, 0).unwrap_err();"
    "assert_eq!(error.class(), rwmpi::ErrorClass::Rank);"
    "assert!(error.to_string().contains(\"destination 7 is out of range\"));"
    "let own = rwmpi::Error::new(rwmpi::ErrorClass::Other, \"the file has no header\");"
    "assert_eq!(own.to_string(), \"the file has no header\");"
    "assert_eq!(format!(\"{own:?}\"), own.to_string());"
)]
#[derive(Clone, thiserror::Error)]
#[error("{}", .0.text)]
pub struct Error(Box<Cause>);

/// The same words as `Display`: a `main` that fails, and `unwrap`, show an error like this.
impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.text)
    }
}

/// Elsewhere, so that a call that succeeds has no room for it to carry along.
#[derive(Clone)]
struct Cause {
    class: ErrorClass,
    text: String,
    /// Of the message that a failed receive has met.
    status: Option<Status>,
}

impl Error {
    /// An error of `class`, explained by `text`.
    pub fn new(class: ErrorClass, text: impl Into<String>) -> Self {
        Error(Box::new(Cause { class, text: text.into(), status: None }))
    }

    /// Its class.
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// If it is of a receive that failed because of its message: the message's source, its tag, and how much of it has
    /// been received.
    #[doc = example!(1
        "world.buffered_send(&[1, 2, 3], 0, 7)?;"
        "let error = world.recv(&mut [0; 2], rwmpi::ANY_SOURCE, rwmpi::ANY_TAG).unwrap_err();"
        "let status = error.status().expect(\"there was a message\");"
        "assert_eq!((status.source(), status.tag(), status.count::<i32>()), (Some(0), Some(7), Some(2)));"
    )]
    pub fn status(&self) -> Option<Status> {
        self.0.status
    }

    /// The same error, of a receive of that message.
    #[cold]
    pub(crate) fn of_message(mut self, status: Status) -> Self {
        self.0.status = Some(status);
        self
    }
}

/// Class and words of a failure; `rank` is what a peer is called.
#[cold]
pub(crate) fn describe(failure: &Failure, rank: impl Fn(u32) -> usize) -> (ErrorClass, String) {
    (class_of(failure), failure.words(rank))
}

fn class_of(failure: &Failure) -> ErrorClass {
    match failure {
        Failure::Truncated { .. } | Failure::WrongLength { .. } | Failure::OtherLength { .. } => ErrorClass::Truncate,
        Failure::Fault(_)
        | Failure::Remote { .. }
        | Failure::Push(PushError::PeerLost { .. })
        | Failure::Departed { .. }
        | Failure::Aborted => ErrorClass::ProcessFailed,
        Failure::Push(_) | Failure::UnexpectedLimit { .. } | Failure::NoContext => ErrorClass::NoMemory,
        Failure::Nothing { .. } => ErrorClass::Other,
        Failure::Panicked => ErrorClass::Operation,
        Failure::OtherType { .. } | Failure::NotWhole { .. } | Failure::NoValue { .. } => ErrorClass::Datatype,
        Failure::Died { .. } => ErrorClass::ProcessDied,
        Failure::Unacknowledged { .. } => ErrorClass::ProcessDiedPending,
        Failure::Revoked => ErrorClass::Revoked,
        Failure::Overwritten => ErrorClass::Internal,
    }
}

/// The result of a call.
#[doc = example!(1
    "fn largest(world: &rwmpi::Communicator, own: f64) -> rwmpi::Result<f64> {"
    "    world.allreduce_value(own, op::max)"
    "}"
    "assert_eq!(largest(world, 1.5)?, 1.5);"
)]
pub type Result<T> = std::result::Result<T, Error>;
