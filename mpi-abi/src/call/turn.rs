//! How a call of the program begins: it takes the locks of what it is about ([`Place`]).

use crate::argument::{Out, OutArray, c_int};
use crate::big_lock::{BIG_LOCKS, set_lane};
use crate::error::Outcome;
use crate::handle_table::lane_of;
use crate::interface::Abi;
use crate::noting;
use crate::rank::{Rank, are_tasks_in_calls, first_lane, rank};
use crate::request_table::{SENT, completes_alone};

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
        set_lane(lane);
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
