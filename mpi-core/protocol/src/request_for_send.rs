//! The request for send: a receiver's word to a sender that it may write straight into a buffer.

use crate::{Envelope, Pattern};

/// One advertised receive, as its possible sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestForSend {
    /// Its number in the series from this receiver to this sender (SR).
    pub serial: u32,
    /// How many cells of the sender's FIFO the receiver had dealt with when it posted the request: the thesis's
    /// *accepted message number*.
    pub accepted: u64,
    /// The communicator's context.
    pub context: u32,
    /// The tag that the receive accepts; `None`: any.
    pub tag: Option<u32>,
    /// The receive's slot: names it in the notice, and its claim word.
    pub slot: u32,
    /// Which use of the slot this is.
    pub generation: u64,
    /// Where to write: three words that only the transport understands, the last of which is the capacity in bytes.
    pub target: [u64; 3],
}

impl RequestForSend {
    /// Bytes that the buffer holds.
    pub fn capacity(&self) -> u64 {
        self.target[2]
    }

    /// Whether a message with that envelope (the source being the sender that holds the request) may answer it.
    pub fn matches(&self, envelope: &Envelope) -> bool {
        Pattern { context: self.context, source: None, tag: self.tag }.matches(envelope)
    }
}
