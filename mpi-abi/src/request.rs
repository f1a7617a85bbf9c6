//! Completing requests (MPI-5.0 sections 3.7.3 to 3.7.6) and cancelling them (3.8.4).
//!
//! A call lends the requests out of the table, so that whatever the program does in a callback meanwhile cannot touch
//! them, and puts back those that stay.

use std::ops::Range;

use rwmpi_core::untyped::{Listed, Request, Status};
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Array, Out, OutArray, StatusArray, StatusOut, c_int};
use crate::error::{Outcome, code_of};
use crate::in_place::{InPlace, complete};
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::{give, value_of};

#[cold]
pub(crate) fn no_request<A: Abi>(code: u32) -> Error {
    let what = if code == A::REQUEST_NULL {
        "the request is MPI_REQUEST_NULL".to_string()
    } else {
        format!("{code:#x} is no request: it has completed, was freed or never was one")
    };
    Error::new(ErrorClass::Request, what)
}

/// The length of an array of requests.
pub(crate) fn length(count: c_int) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::new(ErrorClass::Count, format!("count {count} is negative")))
}

impl Rank {
    /// A request that has completed already and belongs to no communicator of the program.
    pub(crate) fn request_done(&self, status: Status) -> Result<Request> {
        Ok(Request::done(self.endpoint.communicator(), status))
    }

    /// Lends a request out of its table.
    pub(crate) fn borrow<A: Abi>(&self, code: u32) -> Result<Request> {
        let requests = &self.lane_of(code).requests;
        if let Some(status) = requests.take_completed(code) {
            return self.request_done(status);
        }
        let request = requests.take(code).ok_or_else(|| {
            // Whatever other requests of the call belong to has nothing to do with it.
            self.lock.set_note(0);
            no_request::<A>(code)
        })?;
        self.blame(request.communicator());
        Ok(request)
    }

    /// Puts a request back that has completed: it stays only if it is persistent. Returns the code of its handle then.
    fn put_back_done<A: Abi>(&self, code: u32, request: Request) -> u32 {
        if request.is_persistent() {
            self.lane_of(code).requests.restore(code, request);
            code
        } else {
            self.lane_of(code).requests.release(code);
            A::REQUEST_NULL
        }
    }
}

/// Completes a request that is null, was complete when it was started, or is simple and has come to its end.
#[inline]
fn complete_at_once<A: Abi>(rank: &Rank, handle: Out<A::Handle>, status: StatusOut<A>) -> Result<Option<Outcome>> {
    let code = A::code(handle.get()?);
    if code == A::REQUEST_NULL {
        status.set(&value_of::<A>(&Status::EMPTY));
        return Ok(Some(Ok(())));
    }
    let Ok(outcome) = complete(rank, code, status) else { return Ok(None) };
    handle.set(A::handle(A::REQUEST_NULL))?;
    Ok(Some(outcome))
}

/// MPI_Wait (MPI-5.0 section 3.7.3).
pub fn wait<A: Abi>(handle: Out<A::Handle>, status: StatusOut<A>) -> Outcome {
    let rank = rank()?;
    if let Some(outcome) = complete_at_once(rank, handle, status)? {
        return outcome;
    }
    let code = A::code(handle.get()?);
    let mut request = rank.borrow::<A>(code)?;
    let outcome = request.wait(&rank.endpoint);
    rank.blame(request.communicator());
    if let Err(error) = outcome.as_ref().map_err(Clone::clone)
        && error.class() == ErrorClass::ProcessDiedPending
    {
        // The receive goes on.
        rank.lane_of(code).requests.restore(code, request);
        return Err(error);
    }
    handle.set(A::handle(rank.put_back_done::<A>(code, request)))?;
    give(outcome, status)
}

/// MPI_Test (MPI-5.0 section 3.7.3).
pub fn test<A: Abi>(handle: Out<A::Handle>, flag: Out<c_int>, status: StatusOut<A>) -> Outcome {
    let rank = rank()?;
    if let Some(outcome) = complete_at_once(rank, handle, status)? {
        flag.set(1)?;
        return outcome;
    }
    let code = A::code(handle.get()?);
    let mut request = rank.borrow::<A>(code)?;
    let progressed = if request.is_done() { Ok(()) } else { rank.endpoint.progress() };
    if progressed.is_err() || !request.is_done() {
        let waits = progressed.and_then(|()| request.found_nothing(&rank.endpoint));
        if waits.is_err() {
            rank.blame(request.communicator());
        }
        rank.lane_of(code).requests.restore(code, request);
        waits?;
        return flag.set(0);
    }
    let outcome = request.finish();
    rank.blame(request.communicator());
    handle.set(A::handle(rank.put_back_done::<A>(code, request)))?;
    flag.set(1)?;
    give(outcome, status)
}

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

/// What a call on several requests says about those that have completed: their statuses, and how they ended.
pub(crate) struct Results<'a, A: Abi> {
    rank: &'a Rank,
    statuses: StatusArray<A>,
    /// Places of the statuses of those that failed, and their error codes.
    codes: Vec<(usize, c_int)>,
    /// The first failure: index of the request, what went wrong, and whose it is to handle.
    failure: Option<(usize, Error, u32)>,
}

impl<'a, A: Abi> Results<'a, A> {
    pub(crate) fn new(rank: &'a Rank, statuses: StatusArray<A>) -> Self {
        Results { rank, statuses, codes: Vec::new(), failure: None }
    }

    /// Where that status goes.
    #[inline]
    pub(crate) fn status(&self, at: usize) -> StatusOut<A> {
        self.statuses.at(at)
    }

    /// Notes the result of the request at `index`, whose status has place `at`; an error has just been said to be its
    /// communicator's.
    pub(crate) fn note(&mut self, at: usize, index: usize, outcome: Result<Status>) {
        let status = outcome.unwrap_or_else(|error| {
            self.codes.push((at, code_of::<A>(error.class())));
            let status = Status::of_failed(&error).unwrap_or(Status::EMPTY);
            self.failure.get_or_insert_with(|| (index, error, self.rank.lock.note()));
            status
        });
        self.statuses.at(at).set(&value_of::<A>(&status));
    }

    /// The outcome of the call, which has set `count` statuses; only if a request failed have they error codes. The
    /// first failure's communicator handles it, whatever others the call has come across since.
    pub(crate) fn outcome(self, count: usize) -> Outcome {
        let Some((index, error, blamed)) = self.failure else { return Ok(()) };
        self.rank.lock.set_note(blamed);
        let successes = (0..count).map(|at| (at, A::SUCCESS));
        for (at, code) in successes.chain(self.codes) {
            let status = self.statuses.at(at);
            if !status.is_ignored() {
                status.set_error(code)?;
            }
        }
        Err(Error::new(ErrorClass::InStatus, format!("request {index}: {error}")))
    }
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

/// MPI_Request_free (MPI-5.0 section 3.7.3): the operation goes on.
pub fn request_free<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let code = A::code(handle.get()?);
    let request = rank.borrow::<A>(code)?;
    rank.lane_of(code).requests.release(code);
    rank.partitioned.borrow_mut().remove(&code);
    handle.set(A::handle(A::REQUEST_NULL))?;
    rank.endpoint.free(request)
}

/// MPI_Cancel (MPI-5.0 section 3.8.4).
pub fn cancel<A: Abi>(handle: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let code = A::code(handle.get()?);
    // The program's function may use the request, which must not be lent out meanwhile.
    let incomplete = rank.generalized.borrow().get(&code).cloned();
    let generalized = incomplete.or_else(|| {
        rank.lane_of(code).requests.others.with(code, |request| request.as_generalized().ok().cloned()).flatten()
    });
    if let Some(generalized) = generalized {
        return generalized.cancel();
    }
    let mut request = rank.borrow::<A>(code)?;
    let cancelled = request.cancel();
    rank.lane_of(code).requests.restore(code, request);
    cancelled
}

/// The status of a request if it has completed, which it stays.
fn peek<A: Abi>(rank: &Rank, handle: A::Handle) -> Result<Option<Status>> {
    let code = A::code(handle);
    if code == A::REQUEST_NULL {
        return Ok(Some(Status::EMPTY));
    }
    let request = rank.borrow::<A>(code)?;
    let status = request.peek();
    rank.lane_of(code).requests.restore(code, request);
    status
}

fn is_active<A: Abi>(rank: &Rank, handle: A::Handle) -> bool {
    let code = A::code(handle);
    rank.lane_of(code).requests.is_active(code).unwrap_or(false)
}

/// MPI_Request_get_status (MPI-5.0 section 3.7.6).
pub fn request_get_status<A: Abi>(handle: A::Handle, flag: Out<c_int>, status: StatusOut<A>) -> Outcome {
    let rank = rank()?;
    rank.endpoint.progress()?;
    let found = peek::<A>(rank, handle)?;
    match &found {
        Some(found) => status.set(&value_of::<A>(found)),
        None => rank.endpoint.found_nothing()?,
    }
    flag.set(found.is_some().into())
}

/// MPI_Request_get_status_all (MPI-5.0 section 3.7.6).
pub fn request_get_status_all<A: Abi>(
    count: c_int,
    handles: Array<A::Handle>,
    flag: Out<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let rank = rank()?;
    let handles = handles.slice(length(count)?)?;
    rank.endpoint.progress()?;
    let found: Vec<Option<Status>> = handles.iter().map(|&handle| peek::<A>(rank, handle)).collect::<Result<_>>()?;
    let all: Option<Vec<Status>> = found.into_iter().collect();
    if all.is_none() {
        rank.endpoint.found_nothing()?;
    }
    for (index, status) in all.iter().flatten().enumerate() {
        statuses.at(index).set(&value_of::<A>(status));
    }
    flag.set(all.is_some().into())
}

/// MPI_Request_get_status_any (MPI-5.0 section 3.7.6).
pub fn request_get_status_any<A: Abi>(
    count: c_int,
    handles: Array<A::Handle>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let handles = handles.slice(length(count)?)?;
    rank.endpoint.progress()?;
    let mut active = false;
    for (place, &handle) in handles.iter().enumerate().filter(|&(_, &handle)| is_active::<A>(rank, handle)) {
        active = true;
        if let Some(found) = peek::<A>(rank, handle)? {
            status.set(&value_of::<A>(&found));
            index.set(place as c_int)?;
            return flag.set(1);
        }
    }
    if active {
        rank.endpoint.found_nothing()?;
    } else {
        status.set(&value_of::<A>(&Status::EMPTY));
        if !status.is_ignored() {
            status.set_error(A::SUCCESS)?;
        }
    }
    index.set(A::UNDEFINED)?;
    flag.set((!active).into())
}

/// MPI_Request_get_status_some (MPI-5.0 section 3.7.6).
pub fn request_get_status_some<A: Abi>(
    count: c_int,
    handles: Array<A::Handle>,
    number: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: StatusArray<A>,
) -> Outcome {
    let rank = rank()?;
    let handles = handles.slice(length(count)?)?;
    rank.endpoint.progress()?;
    let (mut active, mut found) = (false, 0);
    for (place, &handle) in handles.iter().enumerate().filter(|&(_, &handle)| is_active::<A>(rank, handle)) {
        active = true;
        if let Some(status) = peek::<A>(rank, handle)? {
            statuses.at(found).set(&value_of::<A>(&status));
            indices.set(found, place as c_int)?;
            found += 1;
        }
    }
    if active && found == 0 {
        rank.endpoint.found_nothing()?;
    }
    number.set(if active { found as c_int } else { A::UNDEFINED })
}
