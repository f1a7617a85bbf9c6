//! Threads of the program, of which one at a time is the rank.
//!
//! Every call takes the turn, and gives it back at its end; one that waits lets others in meanwhile ([`rwmpi_core::Turn`] says how). Where the
//! program has promised that one thread at a time calls (below MPI_THREAD_MULTIPLE), and the library has none of its own
//! ([`crate::worker`]), that costs one test. Until a thread level
//! is settled, any thread may call: then turns are taken too.
//!
//! The program's functions run [`outside`]: they may take as long as they like, wait for threads that are in a call themselves, and
//! call MPI.

use rwmpi_core::{Result, Turn, Universe};

use crate::argument::c_int;
use crate::interface::Abi;

pub(crate) static TURN: Turn = Turn::new();

/// Runs the body of a call.
#[inline(always)]
pub fn in_turn<R>(body: impl FnOnce() -> R) -> R {
    let _turn = TURN.take();
    body()
}

/// Calls a function of the program.
pub(crate) fn outside<R>(function: impl FnOnce() -> R) -> R {
    TURN.outside(function)
}

/// Settles, for as long as the process is a rank, whether it takes turns; the thread level that it gets.
pub(crate) fn settle<A: Abi>(universe: &Universe, required: c_int, has_worker: bool) -> Result<c_int> {
    if required >= A::THREAD_MULTIPLE {
        universe.share(&TURN)?;
        return Ok(A::THREAD_MULTIPLE);
    }
    if !has_worker {
        TURN.trust();
    }
    Ok(A::THREAD_SERIALIZED)
}

/// What the present call is about, as [`crate::rank::Rank`] notes it for the error handler.
#[inline]
pub(crate) fn blamed() -> u32 {
    TURN.note()
}

/// Notes what the present call is about.
#[inline]
pub(crate) fn blame(code: u32) {
    TURN.set_note(code);
}
