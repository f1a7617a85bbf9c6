//! C's view of MPI: the bodies of all functions, written once for both ABIs.
//!
//! A function of MPI is a `pub fn name<A: Abi>(…) -> Outcome` in the file of its chapter: it turns handles into objects
//! of `rwmpi-core`, calls the core, and turns what comes back into C's form. Functions that are forms of one are
//! declared together in the same way, by a macro. Nothing else is needed: the build scripts of the two libraries find a
//! function by its name and export it (`mpi-abi/table`).
//!
//! - [`interface`]: what differs between the ABIs: how handles and statuses look.
//! - [`argument`]: the arguments of C, wrapped so that bodies need no unsafe code.
//! - [`rank`]: the rank that this process is, with its objects by handle.
//! - [`entry`]: what stands in its tables.
//! - [`call`]: how calls take their locks, and how those that fail reach their error handler.
//! - [`error`]: codes of error classes, the kinds of error handlers, and what has one.
//! - `big_lock`: which thread of the program is the rank, or one of its lanes.
//! - `memory`: where the library has its own.
//! - `noting`: who takes notes of calls, if anybody does.
//! - `exception`, `panic`: what leaves a function of the program, or of this library, otherwise than by its end.
// The arguments are the standard's.
#![allow(clippy::too_many_arguments)]

pub mod argument;
pub mod attached_buffer;
pub mod attribute;
mod big_lock;
pub mod call;
mod caller;
mod checking;
pub mod collective;
pub mod communicator;
pub mod datatype;
pub mod entry;
pub mod environment;
pub mod error;
pub mod error_handling;
mod exception;
pub mod facts;
pub mod failures;
pub mod file;
mod fork;
pub mod generalized_request;
pub mod group;
pub mod handle_conversion;
pub mod handle_table;
pub mod info;
pub mod initialization;
mod keyval;
pub mod language;
mod memory;
mod noting;
mod number;
pub mod operation;
mod packed;
mod panic;
pub mod partitioned;
pub mod persistent;
pub mod point_to_point;
pub mod probe;
mod process;
pub mod processes;
mod progress_thread;
pub mod rank;
pub mod request;
mod request_table;
pub mod send;
pub mod session;
pub mod status;
pub mod tools;
pub mod topology;
pub mod window;

pub use call::{Failed, Place, Subject, conclude, in_turn, in_turn_at, settle, short_or_whole, try_short, unsupported};
pub use error::Outcome;
pub use memory::LibraryMemory;
pub use panic::report_panics;
pub use rwmpi_interface as interface;
pub use rwmpi_interface::{Abi, Constants, MPICH_UNWEIGHTED, MPICH_WEIGHTS_EMPTY, Mpich, Standard};
