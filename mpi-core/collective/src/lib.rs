//! The algorithms of collective communication (MPI-5.0 chapter 6), among the ranks of a [`Team`], on bytes.
//!
//! Each algorithm is written once, as an `async fn` on spans of bytes whose awaits are messages. The blocking form of a
//! collective drives it in place; the nonblocking one makes a task of it, which every call that waits moves on. Short
//! data go by slots, which is two steps and needs no future. Both, and which data they concern, is a description
//! ([`Described`]), of which every front end makes one. Receives are posted before sends wherever that lets remote
//! write serve them (MPI/MBCF thesis, section 3.2). Reductions combine in rank order, so an operation need only be
//! associative, and all ranks get the same bits; only on several nodes those of operations that commute may be combined
//! node by node (`nodes`).
//!
//! Invariants:
//! 1. It knows the ranks of a team, contexts, tags and bytes: no communicator, datatype, value or error class. What
//!    combines bytes is a [`Reduction`].
//! 2. All ranks come to the end, and hear of it, if one of them has made a mistake ([`Trouble`]).

// Only other packages of this project use it: a name that says all needs no sentence beside it.
#![allow(missing_docs)]

mod agreement;
pub mod allgather;
mod alltoall;
pub mod barrier;
mod broadcast;
pub mod described;
mod direct_access;
mod gather;
mod inter;
mod neighbour;
mod nodes;
mod reduce;
mod reduction;
mod scan;
mod scratch;
mod slots;
mod team;
#[cfg(test)]
mod tests;
mod told;
mod uneven;

pub use allgather::{Allgather, allgather};
pub use alltoall::{Alltoall, alltoall};
pub use barrier::{Barrier, barrier};
pub use broadcast::{Broadcast, broadcast};
pub use described::{Described, Typed};
pub use gather::{Gather, Scatter, gather, scatter};
pub use inter::{
    Groups, Root, allreduce_between, alltoall_between, barrier_between, broadcast_between, gather_between,
    reduce_between, reduce_scatter_between, scatter_between,
};
pub use neighbour::exchange_with_neighbours;
pub use nodes::OnceNodes;
pub use reduce::{Allreduce, Consecutive, Reduce, ReduceScatter, allreduce, reduce, reduce_scatter};
pub use reduction::{Reduction, WhereItLies};
use rwmpi_engine as engine;
use rwmpi_engine::{Mark, select, tuning, waiting};
use rwmpi_rank::process::{self, departure};
use rwmpi_rank::{activity, apart};
pub use scan::{Scan, scan};
pub use scratch::Scratch;
pub use slots::{Epoch, OnceSlots, Slots};
pub use team::{Flights, Team, Trouble};
pub use told::{Named, Sibling, Told};

/// What becomes of a collective on this rank.
pub type Outcome = Result<(), engine::Failure>;
