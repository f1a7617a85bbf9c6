//! Making communicators: from others, from groups, from two groups that meet, and with topologies.
//!
//! A new communicator has a context that one of its creators gives out; the others learn of it by a collective or by
//! messages on what they have already.

mod inter;
mod intra;
#[cfg(test)]
mod tests;
mod topology;

pub use intra::SplitType;
