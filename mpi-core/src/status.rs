//! What a completed receive or a probe tells about its message.

use crate::Datatype;

/// Envelope and length of a received message (MPI-5.0 section 3.2.5).
#[doc = example!(1
    "world.buffered_send(&[0.5, 1.5], 0, 7)?;"
    "let status = world.recv(&mut [0.0; 8], rwmpi::ANY_SOURCE, rwmpi::ANY_TAG)?;"
    "assert_eq!((status.source(), status.tag(), status.bytes()), (Some(0), Some(7), 16));"
    "assert_eq!((status.count::<f64>(), status.count::<[u8; 3]>()), (Some(2), None));"
    "assert!(!status.cancelled());"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    source: Option<usize>,
    tag: Option<i32>,
    bytes: u64,
    cancelled: bool,
}

impl Status {
    /// Of a send, or of an exchange with nobody.
    pub(crate) const EMPTY: Status = Status { source: None, tag: None, bytes: 0, cancelled: false };

    /// Of an operation that was cancelled.
    pub(crate) const CANCELLED: Status = Status { cancelled: true, ..Status::EMPTY };

    /// Of a message.
    pub(crate) fn of_message(source: usize, tag: i32, bytes: u64) -> Self {
        Status { source: Some(source), tag: Some(tag), bytes, cancelled: false }
    }

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
    #[doc(alias = "MPI_UNDEFINED")]
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        let size = T::SIZE as u64;
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
