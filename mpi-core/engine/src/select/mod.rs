//! Which way a message or a collective goes: the only place that compares a length, a number of ranks or a kind of
//! memory with a value of the [table](crate::tuning).
//!
//! [`message`] decides for point-to-point messages, [`collective`] for collectives, [`slots`] which of these go by
//! shared-memory slots, worked out once for a team, [`window`] for one-sided communication, and [`mod@file`] for the
//! package of files. All are pure functions of what is known; they name a way, and who asked goes it. So another
//! threshold is another row of the table, and another way is another name here.
//!
//! What is learnt about a peer while the job runs (who was late, who answers requests) is [`policy`](crate::policy)'s,
//! and may decline what is chosen here.
#![forbid(unsafe_code)]

pub mod collective;
#[cfg(test)]
mod documented;
pub mod file;
pub mod message;
pub mod slots;
pub mod window;

pub use collective::{Collective, CollectiveWay, Messages};
pub use message::MessageWay;
pub use slots::SlotLimits;
