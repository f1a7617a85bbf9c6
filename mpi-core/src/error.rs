//! Errors: the MPI error class and a sentence in the user's words.

/// The error classes of MPI that this library reports (MPI-5.0 section 9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// A buffer that can't be used.
    Buffer,
    /// A count or length that can't be used.
    Count,
    /// A tag out of range.
    Tag,
    /// A communicator that can't be used here.
    Communicator,
    /// A rank out of range.
    Rank,
    /// A root out of range.
    Root,
    /// A request that can't be used here.
    Request,
    /// The message is longer than the receive buffer.
    Truncate,
    /// Memory, or something else that is finite, has run out.
    NoMemory,
    /// A peer has died or left.
    ProcessFailed,
    /// Anything else.
    Other,
}

/// What went wrong, with all that is known about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    class: ErrorClass,
    text: String,
}

impl Error {
    /// An error of `class`, explained by `text`.
    pub fn new(class: ErrorClass, text: impl Into<String>) -> Self {
        Error { class, text: text.into() }
    }

    /// Its class.
    pub fn class(&self) -> ErrorClass {
        self.class
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;
