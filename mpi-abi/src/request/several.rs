//! Completing requests of an array: all, one or some of them.

use std::ops::Range;

use rwmpi_core::untyped::{Listed, Request, Status};
use rwmpi_core::{Error, ErrorClass, Result};

use super::in_place::InPlace;
use super::length;
use super::results::Results;
use crate::argument::{Out, OutArray, StatusArray, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::{give, value_of};

/// Requests of a part of an array that were lent out: all that are not null.
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
                    Err(error) => {
                        let what = format!("request {index}: {error}");
                        lent.put_back();
                        return Err(Error::new(error.class(), what));
                    }
                }
            }
        }
        Ok(lent)
    }

    /// Puts all that are still lent out back as they are.
    fn put_back(self) {
        self.requests
            .into_iter()
            .for_each(|(_, code, request)| self.rank.lane_of(code).requests.restore(code, request));
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

    fn any_done(&self) -> Option<()> {
        self.first_done().map(drop)
    }

    /// Takes the result of the one at that place in the list: its index in the program's array, and the result.
    fn finish(&mut self, place: usize) -> (usize, Result<Status>) {
        let (index, code, request) = self.requests.remove(place);
        (index, finish::<A>(self.rank, self.handles, index, code, request))
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
    let after = rank.put_back_done::<A>(code, request);
    handles.set(index, A::handle(after)).and(outcome)
}

/// Completes all requests, which are done, and those that stand between them.
fn finish_all<A: Abi>(lent: Lent<'_, A>, range: Range<usize>, mut results: Results<'_, A>) -> Outcome {
    let count = range.end;
    let Lent { rank, handles, requests } = lent;
    let mut requests = requests.into_iter().peekable();
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
    if let Err(error) = rank.endpoint.wait_for_several(true, |listed| lent.list(listed), all_done) {
        lent.put_back();
        return Err(error);
    }
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
    let progressed = if lent.all_done() { Ok(()) } else { rank.endpoint.progress() };
    if progressed.is_err() || !lent.all_done() {
        lent.put_back();
        progressed?;
        rank.endpoint.found_nothing()?;
        return flag.set(0);
    }
    flag.set(1)?;
    finish_all(lent, 0..length, Results::new(rank, statuses))
}

/// Completes the first one that is done.
fn finish_first<A: Abi>(mut lent: Lent<'_, A>, index: Out<c_int>, status: StatusOut<A>) -> Outcome {
    let Some(place) = lent.first_done() else {
        lent.put_back();
        return Err(Error::new(ErrorClass::Internal, "no request has completed"));
    };
    let (found, outcome) = lent.finish(place);
    lent.put_back();
    index.set(found as c_int)?;
    give(outcome, status)
}

/// MPI_Waitany (MPI-5.0 section 3.7.5).
pub fn waitany<A: Abi>(count: c_int, handles: OutArray<A::Handle>, index: Out<c_int>, status: StatusOut<A>) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(simple) = InPlace::new(rank, length, handles)? {
        return simple.wait_any(index, status);
    }
    let lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        lent.put_back();
        status.set(&value_of::<A>(&Status::EMPTY));
        return index.set(A::UNDEFINED);
    }
    if lent.first_done().is_none()
        && let Err(error) = rank.endpoint.wait_for_several(false, |listed| lent.list(listed), || lent.any_done())
    {
        lent.put_back();
        return Err(error);
    }
    finish_first(lent, index, status)
}

/// MPI_Testany (MPI-5.0 section 3.7.5).
pub fn testany<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut<A>,
) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(simple) = InPlace::new(rank, length, handles)? {
        return simple.test_any(index, flag, status);
    }
    let lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        lent.put_back();
        status.set(&value_of::<A>(&Status::EMPTY));
        index.set(A::UNDEFINED)?;
        return flag.set(1);
    }
    let progressed = if lent.first_done().is_some() { Ok(()) } else { rank.endpoint.progress() };
    if progressed.is_err() || lent.first_done().is_none() {
        lent.put_back();
        progressed?;
        rank.endpoint.found_nothing()?;
        index.set(A::UNDEFINED)?;
        return flag.set(0);
    }
    flag.set(1)?;
    finish_first(lent, index, status)
}

/// Completes all that are done.
fn finish_some<A: Abi>(
    mut lent: Lent<'_, A>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let mut results = Results::new(lent.rank, statuses);
    let mut found = 0;
    while let Some(place) = lent.first_done() {
        let (index, outcome) = lent.finish(place);
        indices.set(found, index as c_int)?;
        results.note(found, index, outcome);
        found += 1;
    }
    lent.put_back();
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
    let (rank, length) = (rank()?, length(count)?);
    if let Some(simple) = InPlace::new(rank, length, handles)? {
        return simple.wait_some(number, indices, statuses);
    }
    let lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        lent.put_back();
        return number.set(A::UNDEFINED);
    }
    if lent.first_done().is_none()
        && let Err(error) = rank.endpoint.wait_for_several(false, |listed| lent.list(listed), || lent.any_done())
    {
        lent.put_back();
        return Err(error);
    }
    finish_some(lent, number, indices, statuses)
}

/// MPI_Testsome (MPI-5.0 section 3.7.5).
pub fn testsome<A: Abi>(
    count: c_int,
    handles: OutArray<A::Handle>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let (rank, length) = (rank()?, length(count)?);
    if let Some(simple) = InPlace::new(rank, length, handles)? {
        return simple.test_some(number, indices, statuses);
    }
    let lent = Lent::<A>::new(rank, 0..length, handles)?;
    if !lent.has_active() {
        lent.put_back();
        return number.set(A::UNDEFINED);
    }
    if let Err(error) = rank.endpoint.progress() {
        lent.put_back();
        return Err(error);
    }
    if lent.first_done().is_none() {
        rank.endpoint.found_nothing()?;
    }
    finish_some(lent, number, indices, statuses)
}
