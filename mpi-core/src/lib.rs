//! MPI semantics over remote memory, and the typed Rust API.

// What the derives write names the crate `rwmpi`.
#[cfg(test)]
extern crate self as rwmpi;

/// An example of the documentation, as some ranks run it.
macro_rules! example {
    ($ranks:literal $($line:literal)*) => {
        concat!(
            "```\n# extern crate rwmpi_core as rwmpi;\n# #[allow(unused)] use rwmpi::op;\n# rwmpi::run_threads(",
            $ranks,
            ", rwmpi::Protocol::Auto, |universe| -> rwmpi::Result<()> {\n# #[allow(unused)] let world = universe.world();\n",
            "# #[allow(unused)] let (rank, size) = (world.rank(), world.size());\n",
            $($line, "\n",)*
            "# Ok(()) }).unwrap().into_iter().for_each(Result::unwrap);\n```"
        )
    };
}

mod attribute;
mod block_on;
mod buffer;
mod checking;
mod collective;
mod command;
mod communicator;
mod creation;
#[doc(hidden)]
pub mod datatype;
mod error;
mod failures;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod grid;
mod group;
mod info;
mod joining;
mod meeting;
pub mod message;
pub mod one_sided;
mod owned;
mod partitioned;
mod partner;
mod pending;
mod persistent;
mod plain;
mod point_to_point;
mod port;
mod ports;
mod progress_thread;
#[doc(hidden)]
pub mod reduction;
mod request;
mod scope;
mod several;
mod spawn;
mod spawn_hints;
mod staged;
mod status;
#[cfg(test)]
mod tests;
mod threads;
mod topology;
mod universe;
#[doc(hidden)]
pub mod untyped;
#[doc(hidden)]
pub mod window;

use rwmpi_engine as engine;
use rwmpi_engine::{select, task, waiting};
use rwmpi_rank::process::{self, departure};
#[doc(hidden)]
pub use rwmpi_rank::profile;
use rwmpi_rank::{activity, answer, apart};

#[doc(hidden)]
pub use activity::describe_activity;
pub use answer::{Answer, read_answer};
pub use attribute::{AttributeKind, AttributeValue, Attributes, CopyFunction, DeleteFunction, Keyval, WeakKeyval};
pub use bytemuck::{Pod, Zeroable};
pub use collective::Parts;
pub use command::Command;
pub use communicator::Communicator;
pub use creation::SplitType;
pub use error::{Error, ErrorClass, Result};
pub use failures::Agreed;
pub use grid::{Direction, Grid};
pub use group::{Comparison, Group, RankRange};
pub use info::Info;
pub use joining::init;
#[doc(hidden)]
pub use joining::init_with_lanes;
#[doc(hidden)]
pub use meeting::told::RanksStarted;
pub use message::{Message, Serialized};
pub use one_sided::{AccumulateOperation, LockKind, Window};
pub use owned::owning;
pub use partitioned::{Part, PartitionedReceive, PartitionedSend, ReceiveRound, SendRound};
pub use partner::{ANY_SOURCE, ANY_TAG, Destination, PROC_NULL, Source, TAG_MAX, TagSelector};
pub use persistent::{PersistentReceive, PersistentSend};
pub use plain::{Datatype, Plain};
pub use point_to_point::MatchedMessage;
pub use port::Port;
pub use request::Request;
/// The derives of [`trait@Datatype`] and [`trait@Message`], and `#[rwmpi::test]`.
pub use rwmpi_derive::{Datatype, Message, test};
#[doc(hidden)]
pub use rwmpi_engine::{Mark, Signature, event, tuning};
/// Made by [`Universe::alloc`].
#[doc(inline)]
pub use rwmpi_rank::Buffer;
#[doc(hidden)]
pub use rwmpi_transport::port::PortPlace;
// What front ends of other languages share a rank by.
pub use progress_thread::Progress;
#[doc(hidden)]
pub use rwmpi_transport::{
    BigLock, BigLocks, Held, IdleGuard, MOST_LANES, Observer, ProgressThread, SleepState, settings,
};
pub use scope::{Scope, scope};
#[doc(hidden)]
pub use select::file::{FileHint, FileUnion, FileWays};
pub use several::{test_all, test_any, test_some, wait_all, wait_any, wait_some};
pub use status::Status;
#[doc(hidden)]
pub use threads::run_test;
pub use threads::{run, run_threads};
pub use topology::{Cartesian, DistributedGraph, Edge, Graph, Neighbours, Topology, balanced_dimensions};
pub use universe::{Protocol, ThreadLevel, TrafficCounters, Universe, wtime};
#[doc(hidden)]
pub use waiting::{Partner, Wait, describe_wait};

/// What most programs name: `use rwmpi::prelude::*`.
pub mod prelude {
    pub use crate::{
        ANY_SOURCE, ANY_TAG, Cartesian, Communicator, Datatype, Destination, Direction, Grid, LockKind, Message,
        PROC_NULL, Parts, Plain, Request, Serialized, Source, Status, Universe, Window, op, owning, scope, wait_all,
        wait_any,
    };
}

/// Reduction operations for the collectives: `op::sum`, `op::max`, … or any closure of the same shape.
pub mod op {
    /// Sum, element by element.
    pub fn sum<T: Copy + std::ops::Add<Output = T>>(a: &T, b: &T) -> T {
        *a + *b
    }
    /// Product, element by element.
    pub fn product<T: Copy + std::ops::Mul<Output = T>>(a: &T, b: &T) -> T {
        *a * *b
    }
    /// The larger, element by element (of numbers one of which is NaN, the other).
    pub fn max<T: Copy + PartialOrd>(a: &T, b: &T) -> T {
        if *b > *a { *b } else { *a }
    }
    /// The smaller, element by element.
    pub fn min<T: Copy + PartialOrd>(a: &T, b: &T) -> T {
        if *b < *a { *b } else { *a }
    }
}
