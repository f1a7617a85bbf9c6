//! Epochs, locks and flushes (MPI-5.0 section 12.5).

use std::rc::Rc;

use rwmpi_core::window::{LockKind, Window};
use rwmpi_core::{Error, ErrorClass};

use crate::argument::{Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::point_to_point::destination;
use crate::rank::{Rank, rank};
use crate::window::WindowEntry;

/// Whether the assertions are among those that the call has.
#[inline(always)]
fn check_assertions(given: c_int, known: c_int) -> Outcome {
    match given & !known {
        0 => Ok(()),
        unknown => Err(no_such_assertion(unknown)),
    }
}

#[cold]
fn no_such_assertion(unknown: c_int) -> Error {
    let what = format!("{unknown:#x} among the assertions is none, or none of this call's");
    Error::new(ErrorClass::Assertion, what)
}

/// MPI_Win_fence (MPI-5.0 section 12.5.1).
pub fn win_fence<A: Abi>(assertions: c_int, window: A::Handle) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    check_assertions(assertions, A::MODE_NOSTORE | A::MODE_NOPUT | A::MODE_NOPRECEDE | A::MODE_NOSUCCEED)?;
    entry.core.fence(assertions & A::MODE_NOSUCCEED == 0)
}

/// MPI_Win_start (MPI-5.0 section 12.5.2).
pub fn win_start<A: Abi>(group: A::Handle, assertions: c_int, window: A::Handle) -> Outcome {
    let rank = rank()?;
    let entry = rank.window::<A>(window)?;
    check_assertions(assertions, A::MODE_NOCHECK)?;
    entry.core.start(&rank.group::<A>(group)?, assertions & A::MODE_NOCHECK != 0)
}

/// MPI_Win_complete (MPI-5.0 section 12.5.2).
pub fn win_complete<A: Abi>(window: A::Handle) -> Outcome {
    rank()?.window::<A>(window)?.core.complete()
}

/// MPI_Win_post (MPI-5.0 section 12.5.2). That nobody checks whether it has happened does not matter: it is told all
/// the same.
pub fn win_post<A: Abi>(group: A::Handle, assertions: c_int, window: A::Handle) -> Outcome {
    let rank = rank()?;
    let entry = rank.window::<A>(window)?;
    check_assertions(assertions, A::MODE_NOCHECK | A::MODE_NOSTORE | A::MODE_NOPUT)?;
    entry.core.post(&rank.group::<A>(group)?)
}

/// MPI_Win_wait (MPI-5.0 section 12.5.2).
pub fn win_wait<A: Abi>(window: A::Handle) -> Outcome {
    rank()?.window::<A>(window)?.core.wait()
}

/// MPI_Win_test (MPI-5.0 section 12.5.2).
pub fn win_test<A: Abi>(window: A::Handle, flag: Out<c_int>) -> Outcome {
    flag.set(rank()?.window::<A>(window)?.core.test()?.into())
}

/// MPI_Win_lock (MPI-5.0 section 12.5.3).
pub fn win_lock<A: Abi>(kind: c_int, target: c_int, assertions: c_int, window: A::Handle) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    let kind = match kind {
        _ if kind == A::LOCK_SHARED => LockKind::Shared,
        _ if kind == A::LOCK_EXCLUSIVE => LockKind::Exclusive,
        _ => return Err(Error::new(ErrorClass::LockType, format!("{kind} is no type of locks"))),
    };
    check_assertions(assertions, A::MODE_NOCHECK)?;
    entry.core.lock(kind, destination::<A>(target)?, assertions & A::MODE_NOCHECK != 0)
}

/// MPI_Win_lock_all (MPI-5.0 section 12.5.3).
pub fn win_lock_all<A: Abi>(assertions: c_int, window: A::Handle) -> Outcome {
    let entry = rank()?.window::<A>(window)?;
    check_assertions(assertions, A::MODE_NOCHECK)?;
    entry.core.lock_all(assertions & A::MODE_NOCHECK != 0)
}

/// MPI_Win_unlock (MPI-5.0 section 12.5.3).
pub fn win_unlock<A: Abi>(target: c_int, window: A::Handle) -> Outcome {
    rank()?.window::<A>(window)?.core.unlock(destination::<A>(target)?)
}

/// MPI_Win_unlock_all (MPI-5.0 section 12.5.3).
pub fn win_unlock_all<A: Abi>(window: A::Handle) -> Outcome {
    rank()?.window::<A>(window)?.core.unlock_all()
}

/// MPI_Win_flush (MPI-5.0 section 12.5.4).
#[inline(always)]
pub fn win_flush<A: Abi>(target: c_int, window: A::Handle) -> Outcome {
    let rank = rank()?;
    // What is negative is no rank, as a large number is none.
    let flush = |entry: &Rc<WindowEntry>| entry.core.flush_mapped(target.cast_unsigned() as usize);
    match rank.windows.look_at(A::code(window), flush) {
        Some(Some(())) => Ok(()),
        _ => any_flush::<A>(rank, target, window),
    }
}

#[inline(never)]
fn any_flush<A: Abi>(rank: &Rank, target: c_int, window: A::Handle) -> Outcome {
    rank.with_window::<A, _>(window, |window| window.flush(destination::<A>(target)?))
}

/// MPI_Win_flush_all (MPI-5.0 section 12.5.4).
pub fn win_flush_all<A: Abi>(window: A::Handle) -> Outcome {
    rank()?.with_window::<A, _>(window, Window::flush_all)
}

/// MPI_Win_flush_local (MPI-5.0 section 12.5.4): it does more than it has to.
#[inline(always)]
pub fn win_flush_local<A: Abi>(target: c_int, window: A::Handle) -> Outcome {
    win_flush::<A>(target, window)
}

/// MPI_Win_flush_local_all (MPI-5.0 section 12.5.4).
pub fn win_flush_local_all<A: Abi>(window: A::Handle) -> Outcome {
    win_flush_all::<A>(window)
}

/// MPI_Win_sync (MPI-5.0 section 12.5.4).
pub fn win_sync<A: Abi>(window: A::Handle) -> Outcome {
    rank()?.window::<A>(window)?.core.sync()
}
