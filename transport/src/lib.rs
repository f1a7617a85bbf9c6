//! Remote memory between *peers*: the MBCF primitives (MPI/MBCF thesis, section 2.2) on today's Linux.
//!
//! This crate knows peers and bytes. It has no word for ranks, tags, communicators or datatypes: those
//! belong to the crate above, which reaches this one through the [`Fabric`] trait alone.

mod fabric;
mod span;

pub use fabric::*;
pub use span::{ReadSpan, WriteSpan};
