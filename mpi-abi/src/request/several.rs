//! Completing requests of an array: all, one or some of them.

use std::ops::Range;

use rwmpi_core::untyped::{Listed, Request, Status};
use rwmpi_core::{Error, Result};

use super::in_place::InPlace;
use super::results::Results;
use super::{Mode, length, tell, waited};
use crate::argument::{Out, OutArray, StatusArray, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::{give, value_of};

/// Requests of a part of an array that were lent out: all that are not null. Dropping it puts back, unchanged, those
/// that still are.
struct Lent<'a, A: Abi> {
    rank: &'a Rank,
    handles: OutArray<A::Handle>,
    requests: Vec<(usize, u32, Request)>,
}

impl<'a, A: Abi> Lent<'a, A> {
    fn new(rank: &'a Rank, range: Range<usize>, handles: OutArray<A::Handle>) -> Result<Self> {
        let mut lent = Lent { rank, handles, requests: Vec::with_capacity(range.len()) };
        for index in range {
            let code = A::code(handles.get(index)?);
            if code != A::REQUEST_NULL {
                match rank.borrow::<A>(code) {
                    Ok(request) => lent.requests.push((index, code, request)),
                    Err(error) => return Err(Error::new(error.class(), format!("request {index}: {error}"))),
                }
            }
        }
        Ok(lent)
    }

    fn has_active(&self) -> bool {
        self.requests.iter().any(|(_, _, request)| request.is_active())
    }

    fn all_done(&self) -> bool {
        self.done_from(0) == self.requests.len()
    }

    /// Where in the list the first one is that is not done, if all before `start` are.
    fn done_from(&self, start: usize) -> usize {
        let not_done = self.requests[start..].iter().position(|(_, _, request)| !request.is_done());
        not_done.map_or(self.requests.len(), |after| start + after)
    }

    /// The place in the list of the first active one that is done.
    fn first_done(&self) -> Option<usize> {
        self.requests.iter().position(|(_, _, request)| request.is_active() && request.is_done())
    }

    fn list(&self, listed: &mut Listed<'_>) {
        self.requests.iter().for_each(|(_, _, request)| listed.request(request));
    }

    /// Waits until an active one is done; a test makes progress once.
    fn go_on(&self, mode: Mode) -> Result<()> {
        match mode {
            Mode::Wait => {
                let any_done = || self.first_done().map(drop);
                self.rank.endpoint.wait_for_several(false, |listed| self.list(listed), any_done)
            }
            Mode::Test => self.rank.endpoint.progress(),
        }
    }

    /// Takes the result of the one at that place in the list: its index in the program's array, and the result.
    fn finish(&mut self, place: usize) -> (usize, Result<Status>) {
        let (index, code, request) = self.requests.remove(place);
        (index, finish::<A>(self.rank, self.handles, index, code, request))
    }
}

impl<A: Abi> Drop for Lent<'_, A> {
    fn drop(&mut self) {
        for (_, code, request) in self.requests.drain(..) {
            self.rank.lane_of(code).requests.restore(code, request);
        }
    }
}

/// Takes the result of a request that is done, and gives the program the handle it has after that. An error is its
/// communicator's.
fn finish<A: Abi>(
    rank: &Rank,
    handles: OutArray<A::Handle>,
    index: usize,
    code: u32,
    mut request: Request,
) -> Result<Status> {
    let outcome = request.finish();
    if outcome.is_err() {
        rank.blame(request.communicator());
    }
    if !rank.put_back_done(code, request) {
        handles.set(index, A::handle(A::REQUEST_NULL))?;
    }
    outcome
}

/// Completes all requests, which are done, and those that stand between them.
fn finish_all<A: Abi>(mut lent: Lent<'_, A>, range: Range<usize>, mut results: Results<'_, A>) -> Outcome {
    let count = range.end;
    let (rank, handles) = (lent.rank, lent.handles);
    let mut requests = std::mem::take(&mut lent.requests).into_iter().peekable();
    for index in range {
        let outcome = match requests.next_if(|(place, ..)| *place == index) {
            Some((_, code, request)) => finish::<A>(rank, handles, index, code, request),
            None => Ok(Status::EMPTY),
        };
        results.note(index, index, outcome);
    }
    results.outcome(count)
}

/// MPI_Waitall (MPI-5.0 section 3.7.5).
pub fn waitall<A: Abi>(count: c_int, handles: OutArray<A::Handle>, statuses: StatusArray<A>) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    let array = InPlace::mixed(rank, length, handles)?;
    let (mut completed, mut results) = (0, Results::new(rank, statuses));
    // As a rule all have come to their end.
    if array.complete_from(&mut completed, &mut results).is_ok() {
        return results.outcome(length);
    }
    if array.are_in_place(completed) {
        return array.wait_all(completed, results);
    }
    let lent = Lent::<A>::new(rank, completed..length, handles)?;
    let mut done = 0;
    let all_done = || {
        done = lent.done_from(done);
        lent.requests.get(done).map_or(Some(()), |(_, _, request)| rank.endpoint.now_awaits(request))
    };
    rank.endpoint.wait_for_several(true, |listed| lent.list(listed), all_done)?;
    finish_all(lent, completed..length, results)
}

/// MPI_Testall (MPI-5.0 section 3.7.5).
pub fn testall<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    flag: Out<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(simple) = InPlace::new(rank, length, handles)? {
        return simple.test_all(flag, statuses);
    }
    let lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.all_done() {
        rank.endpoint.progress()?;
    }
    if !lent.all_done() {
        drop(lent);
        rank.endpoint.found_nothing()?;
        return flag.set(0);
    }
    flag.set(1)?;
    finish_all(lent, 0..length, Results::new(rank, statuses))
}

/// Completes one: how it has ended, which a wait always knows.
#[inline(always)]
fn complete_any<A: Abi>(
    mode: Mode,
    count: c_int,
    handles: OutArray<A::Handle>,
    index: Out<c_int>,
    status: StatusOut<A>,
) -> Result<Option<Outcome>> {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(array) = InPlace::new(rank, length, handles)? {
        return array.complete_any(mode, index, status);
    }
    let mut lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        status.set(&value_of::<A>(&Status::EMPTY));
        index.set(A::UNDEFINED)?;
        return Ok(Some(Ok(())));
    }
    if lent.first_done().is_none() {
        lent.go_on(mode)?;
    }
    let Some(place) = lent.first_done() else {
        drop(lent);
        rank.endpoint.found_nothing()?;
        index.set(A::UNDEFINED)?;
        return Ok(None);
    };
    let (found, outcome) = lent.finish(place);
    index.set(found as c_int)?;
    Ok(Some(give(outcome, status)))
}

/// MPI_Waitany (MPI-5.0 section 3.7.5).
pub fn waitany<A: Abi>(count: c_int, handles: OutArray<A::Handle>, index: Out<c_int>, status: StatusOut<A>) -> Outcome {
    waited(complete_any(Mode::Wait, count, handles, index, status)?)
}

/// MPI_Testany (MPI-5.0 section 3.7.5).
pub fn testany<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut<A>,
) -> Outcome {
    tell(flag, complete_any(Mode::Test, count, handles, index, status)?)
}

/// Completes all that have come to their end, of which a wait knows at least one.
#[inline(always)]
fn complete_some<A: Abi>(
    mode: Mode,
    count: c_int,
    handles: OutArray<A::Handle>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(array) = InPlace::new(rank, length, handles)? {
        return array.complete_some(mode, number, indices, statuses);
    }
    let mut lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        return number.set(A::UNDEFINED);
    }
    if matches!(mode, Mode::Test) || lent.first_done().is_none() {
        lent.go_on(mode)?;
    }
    let mut results = Results::new(rank, statuses);
    let mut found = 0;
    while let Some(place) = lent.first_done() {
        let (index, outcome) = lent.finish(place);
        indices.set(found, index as c_int)?;
        results.note(found, index, outcome);
        found += 1;
    }
    drop(lent);
    if found == 0 {
        rank.endpoint.found_nothing()?;
    }
    number.set(found as c_int)?;
    results.outcome(found)
}

/// MPI_Waitsome (MPI-5.0 section 3.7.5).
pub fn waitsome<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    complete_some(Mode::Wait, count, handles, number, indices, statuses)
}

/// MPI_Testsome (MPI-5.0 section 3.7.5).
pub fn testsome<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    complete_some(Mode::Test, count, handles, number, indices, statuses)
}
