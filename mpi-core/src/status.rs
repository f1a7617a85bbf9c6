//! What a completed receive or a probe tells about its message.

/// Envelope and length of a received message (MPI-5.0 section 3.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub(crate) source: Option<usize>,
    pub(crate) tag: Option<i32>,
    pub(crate) bytes: u64,
    pub(crate) cancelled: bool,
}

impl Status {
    /// Rank of the sender in the communicator; `None` for a receive from nobody, a send, or a cancelled operation.
    pub fn source(&self) -> Option<usize> {
        self.source
    }

    /// Tag of the message; `None` as for [`Status::source`].
    pub fn tag(&self) -> Option<i32> {
        self.tag
    }

    /// Length of the message in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Length of the message in elements of `T`; `None` if it is no whole number of them (MPI_UNDEFINED).
    pub fn count<T>(&self) -> Option<usize> {
        let size = size_of::<T>() as u64;
        if size == 0 {
            return Some(0);
        }
        self.bytes.is_multiple_of(size).then_some((self.bytes / size) as usize)
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.cancelled
    }
}
