//! Calls the other way: functions of the program, which run without the lock. They may take as long as they like, wait
//! for threads that are in a call themselves, and call MPI. One that leaves by `longjmp` leaves no lock behind.

use rwmpi_core::Result;

use crate::big_lock::{BIG_LOCKS, lane, outside};
use crate::exception::catching;

/// Calls a function of the program, which may call MPI itself: what the present call is about is not forgotten.
///
/// # Errors
/// If an exception has left it, which goes on when the present call has ended ([`crate::exception`]).
pub(crate) fn call_program<R>(function: impl FnOnce() -> R) -> Result<R> {
    let note = BIG_LOCKS.of(lane()).note();
    let returned = outside(|| catching(function));
    BIG_LOCKS.of(lane()).set_note(note);
    returned
}
