//! Ranks of other jobs: those that a program spawns, and those that have spawned it (MPI-5.0 sections 11.7 to 11.10).

pub mod ports;
pub mod spawn;

use rwmpi_core::Result;

use crate::argument::Out;
use crate::entry::CommunicatorEntry;
use crate::error::{ErrorHandler, Outcome};
use crate::interface::Abi;
use crate::rank::{Rank, rank};

/// Gives those who have spawned this job a handle, if there are any.
pub(crate) fn keep_parents<A: Abi>(rank: &Rank) -> Result<()> {
    let parents = rank.universe.borrow().as_ref().and_then(|universe| universe.parents().cloned());
    if let Some(core) = parents {
        let handle = rank.add_entry::<A>(CommunicatorEntry { core, error_handler: ErrorHandler::Fatal.into() })?;
        rank.parents.set(A::code(handle));
    }
    Ok(())
}

/// MPI_Comm_get_parent (MPI-5.0 section 11.8.4): MPI_COMM_NULL, too, once the program has freed what it was given.
pub fn comm_get_parent<A: Abi>(parent: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let code = rank.parents.get();
    parent.set(A::handle(if rank.lane_of(code).communicators.has(code) { code } else { A::COMM_NULL }))
}
