//! rwmpi: MPI for Rust, whose transport is remote memory.
//!
//! A job is some processes, its *ranks*, that run the same program and send each other messages. Each calls [`init`],
//! gets a [`Universe`], and talks to the others through a [`Communicator`]; the first one is [`Universe::world`].
//!
//! ```
//! use rwmpi::prelude::*;
//!
//! fn main() -> rwmpi::Result<()> {
//!     let universe = rwmpi::init()?;
//!     let world = universe.world();
//!     let (rank, size) = (world.rank(), world.size());
//!
//!     // Every rank tells its right neighbour its number. At the ends of the row there is nobody.
//!     let (left, right) = (rank.checked_sub(1), Some(rank + 1).filter(|right| *right < size));
//!     let mut from_left = [usize::MAX];
//!     world.sendrecv(&[rank], right, 0, &mut from_left, left, 0)?;
//!
//!     let sum = world.allreduce_value(rank, op::sum)?;
//!     println!("rank {rank} of {size} heard {from_left:?}; all ranks together are {sum}");
//!     universe.finalize()
//! }
//! ```
//!
//! `cargo run` starts it as a job of one rank, `mpiexec -n 4 target/debug/program` as a job of four;
//! `cargo install rwmpi` brings `mpiexec`. Without it, [`run_threads`] runs a closure as several ranks that are
//! threads, and [`launch`](fn@launch) starts the program again as several processes.
//!
//! # Which call
//!
//! Buffers are slices of numbers and of what derives [`Datatype`](trait@Datatype); values are of any
//! [`Message`](trait@Message), as strings, vectors and maps are.
//!
//! | to | buffers | values |
//! |---|---|---|
//! | send, receive | [`send`], [`recv`] | [`send_value`], [`recv_value`] |
//! | exchange | [`sendrecv`](Communicator::sendrecv) | |
//! | give all the same | [`bcast`] | [`bcast_value`] |
//! | combine | [`reduce`], [`allreduce`], [`scan`] | [`allreduce_value`], [`scan_value`] |
//! | collect | [`gather`], [`allgather`] | [`allgather_values`] |
//! | meet | [`barrier`](Communicator::barrier) | |
//! | go on meanwhile | [`isend`], [`irecv`], within a [`scope()`] | |
//! | divide the ranks | [`split`](Communicator::split), [`grid`](Communicator::grid) | |
//! | use others' memory | [`Window`] | |
//!
//! [`send`]: Communicator::send
//! [`recv`]: Communicator::recv
//! [`send_value`]: Communicator::send_value
//! [`recv_value`]: Communicator::recv_value
//! [`bcast`]: Communicator::bcast
//! [`bcast_value`]: Communicator::bcast_value
//! [`reduce`]: Communicator::reduce
//! [`allreduce`]: Communicator::allreduce
//! [`scan`]: Communicator::scan
//! [`allreduce_value`]: Communicator::allreduce_value
//! [`scan_value`]: Communicator::scan_value
//! [`gather`]: Communicator::gather
//! [`allgather`]: Communicator::allgather
//! [`allgather_values`]: Communicator::allgather_values
//! [`isend`]: Communicator::isend
//! [`irecv`]: Communicator::irecv
//!
//! Who knows MPI's names may search for them: `MPI_Send` finds [`Communicator::send`].
//!
//! # What helps
//!
//! - **Buffers are slices.** A buffer of an operation in flight is borrowed, so safe code can't touch it too early. A
//!   [`Request`] that is to outlive its function owns its buffers: [`owning`].
//! - **Partners** are ranks, `Option`s of ranks (nobody), [`ANY_SOURCE`] or [`PROC_NULL`].
//! - **Mistakes are errors** that name rank, peer, tag and sizes. In builds with debug assertions messages carry their
//!   type, and a receive of another type is an error, too.
//! - **Every rank has to finalize.** If one returns from `main` without [`Universe::finalize`], the job ends with a
//!   report, and nobody hangs.
//! - **Tests** of several ranks: `#[rwmpi::test(ranks = 4)]`.
#![forbid(unsafe_code)]

pub use rwmpi_core::*;
pub use rwmpi_io::FileError;
pub use rwmpi_io::typed::{File, FileView, OpenOptions, delete_file};
pub use rwmpi_launcher::launch;
#[doc(hidden)]
pub use rwmpi_launcher::watch_test;
pub use rwmpi_shared_heap::SharedHeap;

/// What most programs name: `use rwmpi::prelude::*`.
pub mod prelude {
    pub use rwmpi_core::prelude::*;
    pub use rwmpi_io::typed::{File, FileView, OpenOptions};
}

/// The README's program, compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The book's chapters with code of their own, likewise. The programs in the others are the examples, which tests run.
#[cfg(doctest)]
#[doc = include_str!("../docs/book/src/types.md")]
#[doc = include_str!("../docs/book/src/requests.md")]
#[doc = include_str!("../docs/book/src/threads.md")]
#[doc = include_str!("../docs/book/src/spawning.md")]
struct Book;
