//! Remote memory between *peers*: the MBCF primitives (MPI/MBCF thesis, section 2.2) on today's Linux.
//!
//! This crate knows peers and bytes. It has no word for ranks, tags, communicators or datatypes: those
//! belong to the crate above, which reaches this one through the [`Fabric`] trait alone.

#[cfg(not(loom))]
mod address_space;
#[cfg(not(loom))]
mod ancestors;
#[cfg(not(loom))]
mod arena;
#[cfg_attr(loom, allow(dead_code))]
mod atomic_word;
#[cfg(not(loom))]
mod attach;
mod big_lock;
#[cfg(not(loom))]
mod blocks;
#[cfg(not(loom))]
mod board;
mod caches;
#[cfg_attr(loom, allow(dead_code))]
mod clock;
#[cfg(not(loom))]
mod cluster;
#[cfg(not(loom))]
mod control;
mod copy;
#[cfg(not(loom))]
mod deaths;
#[cfg(not(loom))]
mod descriptor;
mod distance;
#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod element_lock;
#[cfg(not(loom))]
mod environment;
mod fabric;
#[cfg(not(loom))]
mod faults;
#[cfg(all(any(test, fuzzing), not(loom)))]
pub mod fuzz;
mod handover;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod interface;
#[cfg(not(loom))]
mod job;
#[cfg(not(loom))]
mod job_error;
#[cfg(not(loom))]
mod joint;
#[cfg(not(loom))]
mod layout;
#[cfg_attr(loom, allow(dead_code))]
mod lent;
#[cfg(not(loom))]
mod mapping;
#[cfg(not(loom))]
mod mappings;
#[cfg(not(loom))]
mod membership;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod node;
#[cfg(not(loom))]
mod page_marks;
#[cfg(not(loom))]
pub mod pmi;
#[cfg(not(loom))]
mod pmix;
#[cfg(not(loom))]
pub mod port;
mod primitive;
#[cfg(not(loom))]
mod progress_thread;
#[cfg(not(loom))]
mod range_set;
#[cfg(not(loom))]
mod records;
#[cfg(not(loom))]
mod remote_memory;
#[cfg_attr(loom, allow(dead_code))]
mod ring;
#[cfg(not(loom))]
mod room;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
pub mod settings;
#[cfg(not(loom))]
mod signal;
#[cfg(not(loom))]
pub mod singleton;
mod sleep;
#[cfg(not(loom))]
mod slice;
mod small_copy;
mod span;
#[cfg(not(loom))]
pub mod spawning;
#[cfg(not(loom))]
mod spread;
#[cfg(not(loom))]
mod starter;
#[cfg(not(loom))]
mod tcp;
#[cfg(not(loom))]
mod thread_number;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod wait;

#[cfg(not(loom))]
pub use arena::{Arena, ArenaRefused};
pub use atomic_word::{AtomicWord, CountWord, full_fence};
#[cfg(not(loom))]
pub use big_lock::lanes::{BigLocks, Held, Observer};
pub use big_lock::{BigLock, BigLockGuard, IdleGuard};
#[cfg(not(loom))]
pub use blocks::Blocks;
#[cfg(not(loom))]
pub use clock::monotonic_nanoseconds;
#[cfg(not(loom))]
pub use cluster::ClusterFabric;
#[cfg(not(loom))]
pub use control::{DETAIL_WORDS, Presence};
#[cfg(not(loom))]
pub use descriptor::{JOB_FD, handed_down, raised};
pub use distance::Distance;
#[cfg(not(loom))]
pub use doorbell::Doorbell;
#[cfg(not(loom))]
pub use element_lock::{ElementLock, LockedElements};
#[cfg(not(loom))]
pub use environment::{
    CONNECTION_FD, FAULTS_FD, HOST, LANES, LIFELINE_FD, LISTEN, NODES, PARENTS, PLACE, PROGRAM_NUMBER, RANK,
    RECORDS_FD, SIZE, THREADS, TRANSPORT, UNIVERSE_SIZE,
};
pub use fabric::*;
#[cfg(not(loom))]
pub use heap::Heap;
#[cfg(not(loom))]
pub use interface::{address_of_interface, first_to_others};
#[cfg(not(loom))]
pub use job::{Abort, ArenaUse, Job, JobEnder, JobShape, Lost};
#[cfg(not(loom))]
pub use job_error::JobError;
#[cfg(not(loom))]
pub use joint::{Joint, Parents, WhereParents};
#[cfg(not(loom))]
pub use layout::MOST_LANES;
pub use lent::LentSpan;
#[cfg(not(loom))]
pub use membership::{JobFabric, Membership, SharedPlace};
#[cfg(not(loom))]
pub use names::{PublishedName, look_up};
#[cfg(not(loom))]
pub use node::NodeFabric;
#[cfg(not(loom))]
pub use page_marks::{Mark, PageMarks};
#[cfg(not(loom))]
pub use pmix::PmixError;
#[cfg(not(loom))]
pub use progress_thread::{ProgressThread, SleepState};
#[cfg(not(loom))]
pub use records::{Moment, ProcessorTime, Records, RecordsFile};
#[cfg(not(loom))]
pub use segment::ActivityRecord;
pub use span::{ReadSpan, WriteSpan};
#[cfg(not(loom))]
pub use spread::{Arriving, Seats};
#[cfg(not(loom))]
pub use starter::Starter;
#[cfg(not(loom))]
pub use tcp::{JobSecret, TcpEndpoint, TcpError, TcpFabric};
#[cfg(not(loom))]
pub use threads::Threads;
