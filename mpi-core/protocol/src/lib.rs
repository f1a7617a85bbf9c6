//! The protocol of MPI/MBCF as pure state machines: who matches whom, and which way a message takes.
//!
//! Nothing here does I/O, reads a clock, calls back or knows a transport. [`Sender`] decides for one destination
//! whether a message may be written straight into the receiver's buffer; [`Receiver`] matches messages with receives
//! and decides which receives to advertise. The progress engine of `rwmpi-core` joins them to a transport, and the
//! model checker drives them through every interleaving.
//!
//! The rules that make remote write safe (MPI/MBCF thesis, section 3.1.2, and what this library adds):
//!
//! 1. A request for send is a hint. A message takes exactly one way, and the receive it completes is the one MPI
//!    defines.
//! 2. A sender uses a request only if no message that it put into the FIFO earlier could be the one that the receiver
//!    matches with it.
//! 3. Of the pending receives that could match one message from one source, those advertised to that source were all
//!    posted before those that were not: the sender sees a prefix of the truth, never a gap.
//! 4. Where peers share memory, every request has a claim word. Whoever wants the receive (its sender to write, its
//!    owner to fill it from the FIFO or to cancel it) takes the word first; who comes second looks further.
#![forbid(unsafe_code)]

pub mod agreement;
mod bins;
mod counters;
mod envelope;
mod lists;
mod posted;
mod receiver;
mod request_for_send;
mod sender;
mod unexpected;
pub mod window;

pub use counters::Counters;
pub use envelope::{Envelope, Pattern};
pub use posted::ReceiveId;
pub use receiver::{Advertisement, Posting, Receiver};
pub use request_for_send::RequestForSend;
pub use sender::{Choice, Fifo, RequestFate, Sender};
pub use unexpected::MessageId;

/// How receivers advertise and senders decide; one for the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// No requests for send at all.
    Nsr,
    /// The thesis's protocol SR: serial numbers of messages and of requests decide (freshness and succession).
    Sr,
    /// Requests are kept in a list and paired with the messages that crossed them.
    Auto {
        /// Whether every request has a claim word: so where peers share memory, not over a network.
        claims: bool,
    },
}
