//! Remote memory between *peers*: the MBCF primitives (MPI/MBCF thesis, section 2.2) on today's Linux.
//!
//! This crate knows peers and bytes. It has no word for ranks, tags, communicators or datatypes: those
//! belong to the crate above, which reaches this one through the [`Fabric`] trait alone.

#[cfg(not(loom))]
mod attach;
#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod cluster;
#[cfg(not(loom))]
mod control;
#[cfg(not(loom))]
mod environment;
mod fabric;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod job;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod node;
mod primitive;
#[cfg(not(loom))]
mod remote_memory;
#[cfg_attr(loom, allow(dead_code))]
mod ring;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod signal;
mod sleep;
mod small_copy;
mod span;
#[cfg(not(loom))]
mod tcp;
#[cfg(not(loom))]
mod wait;

#[cfg(not(loom))]
pub use clock::monotonic_nanoseconds;
#[cfg(not(loom))]
pub use cluster::ClusterFabric;
#[cfg(not(loom))]
pub use environment::{JOB_FD, LIFELINE_FD, RANK, SIZE};
pub use fabric::*;
#[cfg(not(loom))]
pub use heap::Heap;
#[cfg(not(loom))]
pub use job::{Abort, Job, JobError};
#[cfg(not(loom))]
pub use node::NodeFabric;
pub use span::{ReadSpan, WriteSpan};
#[cfg(not(loom))]
pub use tcp::{JobSecret, TcpEndpoint, TcpError, TcpFabric};
