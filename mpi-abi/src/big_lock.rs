//! Threads of the program, of which one at a time is the rank, or one of its lanes.
//!
//! Every call takes the lock, and gives it back at its end; one that waits lets others in meanwhile
//! ([`rwmpi_core::Turns`] says how). Where the program has promised that one thread at a time calls (below
//! MPI_THREAD_MULTIPLE), and the library has none of its own ([`crate::progress_thread`]), a call only says that its
//! thread is inside, so that a broken promise is found out ([`crate::rank::rank`]). Until a thread level is settled,
//! any thread may call: then locks are taken too.
//!
//! Where the rank has several lanes, each has a lock. A call that touches nothing but what belongs to one lane takes
//! that lane's lock ([`Place`]); all others take all locks.
//!
//! The program's functions run without it ([`call_program`]): they may take as long as they like, wait for threads that
//! are in a call themselves, and call MPI. One that leaves by `longjmp` leaves no lock behind.

use std::cell::Cell;

use rwmpi_core::{BigLocks, Result, Universe};

use crate::argument::{Out, OutArray, c_int};
use crate::error::Outcome;
use crate::exception::catching;
use crate::handle_table::lane_of;
use crate::interface::Abi;
use crate::noting;
use crate::rank::{Rank, are_tasks_in_calls, first_lane, rank};
use crate::request_table::{SENT, completes_alone};

pub(crate) static BIG_LOCKS: BigLocks = BigLocks::new();

/// What is wrong where [`BigLocks::others_are_inside`].
pub(crate) const BROKEN_PROMISE: &str = "two threads of this process are in MPI at the same time, which the program has promised not to \
     do: call MPI_Init_thread with MPI_THREAD_MULTIPLE, or let one thread at a time call MPI";

thread_local! {
    /// The lane whose objects the present call is about.
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// What a call is about, where the rank has several lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    lane: usize,
    /// Nothing that belongs to no lane is touched.
    is_alone: bool,
}

impl Place {
    /// Things that belong to no lane.
    pub const ANYWHERE: Place = Place { lane: 0, is_alone: false };

    fn in_lane(lane: usize, is_alone: bool) -> Place {
        Place { lane, is_alone }
    }

    /// A communicator or a request, and other things besides.
    pub fn of<A: Abi>(handle: A::Handle) -> Place {
        Place::in_lane(lane_of(A::code(handle), BIG_LOCKS.lanes()), false)
    }

    /// A communicator and predefined datatypes and operations, if these are such.
    pub fn alone_with<A: Abi>(communicator: A::Handle, others: &[A::Handle]) -> Place {
        // What the program makes has the uppermost bit. Of the predefined, what has it too only takes more locks than
        // it needs.
        let is_alone = others.iter().all(|&other| A::code(other) >> 31 == 0);
        Place { is_alone, ..Place::of::<A>(communicator) }
    }

    /// The request or message whose handle stands there, and other things besides.
    pub fn at<A: Abi>(handle: Out<A::Handle>) -> Place {
        handle.get().map_or(Place::ANYWHERE, Place::of::<A>)
    }

    /// Requests: of one lane, and nothing else, if all of them are sends and receives in that.
    pub fn of_requests<A: Abi>(count: c_int, requests: OutArray<A::Handle>) -> Place {
        let mut place = None;
        for index in 0..usize::try_from(count).unwrap_or(0) {
            let Ok(code) = requests.get(index).map(A::code) else { break };
            if code == A::REQUEST_NULL || code == SENT {
                continue;
            }
            // Only sends and receives complete without the program's functions, its datatypes and other lanes.
            let own = Place::in_lane(lane_of(code, BIG_LOCKS.lanes()), completes_alone(code));
            if place.is_some_and(|place| place != own) {
                return Place { is_alone: false, ..own };
            }
            place = Some(own);
        }
        place.unwrap_or(Place::in_lane(0, true))
    }
}

/// The lane whose objects the present call is about.
pub(crate) fn lane() -> usize {
    LANE.get()
}

/// Runs the body of the call `name` that is about no lane.
#[inline(always)]
pub fn in_turn<R>(name: &'static str, body: impl FnOnce() -> R) -> R {
    in_turn_at(name, || Place::ANYWHERE, body)
}

/// Runs the body of the call `name` that is about that place.
#[inline(always)]
pub fn in_turn_at<R>(name: &'static str, place: impl FnOnce() -> Place, body: impl FnOnce() -> R) -> R {
    let _held = BIG_LOCKS.take_of(|| {
        let Place { lane, is_alone } = place();
        LANE.set(lane);
        let is_noted = noting::announce(name);
        (is_alone && !is_noted && !are_tasks_in_calls()).then_some(lane)
    });
    body()
}

/// Runs the short form of a call, which neither waits nor fails, if there is nothing to take for that: only where one
/// thread at a time calls, and nobody takes notes. `None`: nothing has been done.
#[inline(always)]
pub fn try_short(body: impl FnOnce(&Rank) -> Option<()>) -> Option<()> {
    let _inside = BIG_LOCKS.enter_if_trusted()?;
    body(first_lane()?)
}

/// Does a call by its short form, if that does it, or else by its whole one: for who has taken what a call takes.
///
/// # Errors
/// There is no rank in this process, or those of the whole form.
#[inline(always)]
pub fn short_or_whole(short: impl FnOnce(&Rank) -> Option<()>, whole: impl FnOnce() -> Outcome) -> Outcome {
    match short(rank()?) {
        Some(()) => Ok(()),
        None => whole(),
    }
}

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

/// Settles, for as long as the process is a rank, whether it takes locks; the thread level that it gets.
pub(crate) fn settle<A: Abi>(universe: &Universe, required: c_int, has_progress_threads: bool) -> Result<c_int> {
    let is_noted = universe.recorder().is_some();
    let most = if required >= A::THREAD_MULTIPLE {
        if !has_progress_threads {
            universe.share(&BIG_LOCKS)?;
        }
        A::THREAD_MULTIPLE
    } else {
        if !has_progress_threads && !is_noted {
            BIG_LOCKS.trust();
        }
        A::THREAD_SERIALIZED
    };
    if is_noted {
        noting::start();
    }
    Ok(most)
}
