//! Windows (MPI-5.0 chapter 12): what a rank may do with one when, and whose turn it is.
//!
//! [`Epochs`] is one rank's view of a window: which epochs are open, and so which calls are legal. [`Ticket`] is a
//! place in the line for the lock of one target, [`Waiter`] what a rank writes down about its place while it waits.
//! [`Pairs`] counts the epochs that two ranks have opened to each other by post and start. None of them knows where
//! words lie or how one waits: they say which word is to be changed by how much, and which value is to be awaited.

mod epoch;
mod lock;
#[cfg(test)]
mod model;
mod pairs;
mod waiter;

pub use epoch::{Called, Epochs, Hold, Misuse, Open};
pub use lock::{Gate, LockKind, Ticket};
pub use pairs::Pairs;
pub use waiter::{Arrival, Waiter};
