//! The locks of the rank: one thread of the program at a time is the rank, or one of its lanes.
//!
//! Every call takes the lock, and gives it back at its end; one that waits lets others in meanwhile
//! ([`rwmpi_core::Turns`] says how). Where the program has promised that one thread at a time calls (below
//! MPI_THREAD_MULTIPLE), and the library has none of its own ([`crate::progress_thread`]), a call only says that its
//! thread is inside, so that a broken promise is found out ([`crate::rank::rank`]). Until a thread level is settled,
//! any thread may call: then locks are taken too.
//!
//! Where the rank has several lanes, each has a lock. A call that touches nothing but what belongs to one lane takes
//! that lane's lock ([`crate::call::Place`]); all others take all locks.

use std::cell::Cell;

use rwmpi_core::BigLocks;

pub(crate) static BIG_LOCKS: BigLocks = BigLocks::new();

/// What is wrong where [`BigLocks::others_are_inside`].
pub(crate) const BROKEN_PROMISE: &str = "two threads of this process are in MPI at the same time, which the program has promised not to \
     do: call MPI_Init_thread with MPI_THREAD_MULTIPLE, or let one thread at a time call MPI";

thread_local! {
    /// The lane whose objects the present call is about.
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// The lane whose objects the present call is about.
pub(crate) fn lane() -> usize {
    LANE.get()
}

/// The present call is about objects of that lane.
#[inline(always)]
pub(crate) fn set_lane(lane: usize) {
    LANE.set(lane);
}

/// Calls a function that may take as long as it likes, without the lock.
pub(crate) fn outside<R>(function: impl FnOnce() -> R) -> R {
    let lane = LANE.get();
    let result = BIG_LOCKS.outside(function);
    LANE.set(lane);
    result
}

/// Calls a function that is about what belongs to no lane, in a call that may have one lane's lock. Others may have it
/// in between.
pub(crate) fn with_all<R>(function: impl FnOnce() -> R) -> R {
    let lane = LANE.get();
    let note = BIG_LOCKS.of(lane).note();
    BIG_LOCKS.with_all(|| {
        BIG_LOCKS.of(lane).set_note(note);
        function()
    })
}
