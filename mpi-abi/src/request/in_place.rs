//! Completing requests where they stand.
//!
//! If all requests of an array are null, had completed when they were started, or are simple, nothing of the program's
//! is called while they complete. So none has to be lent out, and those that do not complete are not touched.

use rwmpi_core::Result;
use rwmpi_core::untyped::{Listed, SimpleRequest, Status};

use super::Mode;
use super::results::Results;
use crate::argument::{Out, OutArray, StatusArray, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::Rank;
use crate::status::{give_failed, value_of};

/// Why a request has not been completed.
pub(super) enum Incomplete {
    /// It has not come to its end.
    InFlight,
    /// It is no such request.
    Elsewhere,
}

/// Completes a request that had completed when it was started, or is simple and has come to its end.
#[inline(always)]
pub(super) fn complete<A: Abi>(
    rank: &Rank,
    code: u32,
    status: StatusOut<A>,
) -> std::result::Result<Outcome, Incomplete> {
    let look = |completed: &Status| {
        if !status.is_ignored() {
            status.set(&value_of::<A>(completed));
        }
    };
    if rank.requests.remove_completed(code, look).is_some() {
        return Ok(Ok(()));
    }
    let place = rank.requests.simple.occupied(code).ok_or(Incomplete::Elsewhere)?;
    let request = place.get();
    let outcome = request.collect(|collected| look(&collected.status())).ok_or(Incomplete::InFlight)?;
    if let Err(error) = &outcome {
        rank.blame(request.communicator());
        give_failed(error, status);
    }
    drop(place.remove());
    Ok(outcome)
}

/// An array of such requests.
pub(super) struct InPlace<'a, A: Abi> {
    rank: &'a Rank,
    count: usize,
    handles: OutArray<A::Handle>,
}

impl<'a, A: Abi> InPlace<'a, A> {
    /// An array in which may be others, too.
    ///
    /// # Errors
    /// MPI_ERR_ARG if the program passed none.
    #[inline]
    pub(super) fn mixed(rank: &'a Rank, count: usize, handles: OutArray<A::Handle>) -> Result<Self> {
        if count > 0 {
            handles.get(0)?;
        }
        Ok(InPlace { rank, count, handles })
    }

    /// The array, if all in it are such requests.
    ///
    /// # Errors
    /// As [`InPlace::mixed`].
    pub(super) fn new(rank: &'a Rank, count: usize, handles: OutArray<A::Handle>) -> Result<Option<Self>> {
        let array = InPlace::mixed(rank, count, handles)?;
        Ok(array.are_in_place(0).then_some(array))
    }

    /// Whether all from that one on are such requests.
    pub(super) fn are_in_place(&self, first: usize) -> bool {
        let mut codes = (first..self.count).map(|index| self.code(index));
        codes.all(|code| code == A::REQUEST_NULL || self.rank.requests.has_in_place(code))
    }

    fn code(&self, index: usize) -> u32 {
        self.handles.get(index).map_or(A::REQUEST_NULL, A::code)
    }

    /// Whether all are null.
    fn is_empty(&self) -> bool {
        (0..self.count).all(|index| self.code(index) == A::REQUEST_NULL)
    }

    /// Completes the request at `index` if it has come to its end and is not null.
    #[inline(always)]
    fn complete(&self, index: usize, status: StatusOut<A>) -> Option<Outcome> {
        let code = self.code(index);
        if code == A::REQUEST_NULL {
            return None;
        }
        let outcome = match complete(self.rank, code, status) {
            Ok(outcome) => outcome,
            Err(Incomplete::InFlight) => return None,
            // Should one stand there twice, it is gone the second time.
            Err(Incomplete::Elsewhere) => Err(self.rank.refuse::<A>(code)),
        };
        Some(self.forget(index).and(outcome))
    }

    /// The request at `index` is no more.
    fn forget(&self, index: usize) -> Outcome {
        self.handles.set(index, A::handle(A::REQUEST_NULL))
    }

    /// Completes the requests from `next` on, up to the first that cannot be, where `next` stays.
    #[inline(always)]
    pub(super) fn complete_from(
        &self,
        next: &mut usize,
        results: &mut Results<'_, A>,
    ) -> std::result::Result<(), Incomplete> {
        while *next < self.count {
            let (code, status) = (self.code(*next), results.status(*next));
            if code == A::REQUEST_NULL {
                status.set(&value_of::<A>(&Status::EMPTY));
            } else {
                let outcome = complete(self.rank, code, status)?;
                if let Err(error) = self.forget(*next).and(outcome) {
                    results.note(*next, *next, Err(error));
                }
            }
            *next += 1;
        }
        Ok(())
    }

    /// As [`InPlace::complete`], of the first that has come to its end: its index, too.
    fn complete_first(&self, status: StatusOut<A>) -> Option<(usize, Outcome)> {
        (0..self.count).find_map(|index| Some((index, self.complete(index, status)?)))
    }

    /// As [`InPlace::complete`], of all that have come to their end: how many, and the outcome of the call.
    fn complete_those_done(
        &self,
        indices: OutArray<c_int>,
        statuses: StatusArray<A>,
    ) -> Result<Option<(usize, Outcome)>> {
        let mut results = Results::new(self.rank, statuses);
        let mut found = 0;
        for index in 0..self.count {
            let Some(outcome) = self.complete(index, statuses.at(found)) else { continue };
            indices.set(found, index as c_int)?;
            if let Err(error) = outcome {
                results.note(found, index, Err(error));
            }
            found += 1;
        }
        Ok((found > 0).then(|| (found, results.outcome(found))))
    }

    /// Makes progress until `done` has a result, which takes one of the requests or `all`.
    fn wait_for<R>(&self, all: bool, done: impl FnMut() -> Option<R>) -> Result<R> {
        let list = |listed: &mut Listed<'_>| {
            for code in (0..self.count).map(|index| self.code(index)) {
                self.rank.requests.simple.with(code, |request| listed.simple(request));
            }
        };
        self.rank.endpoint.wait_for_several(all, list, done).inspect_err(|_| {
            let waits = (0..self.count).map(|index| self.code(index)).find(|&code| self.rank.requests.simple.has(code));
            waits.map(|code| self.rank.requests.simple.with(code, |request| self.rank.blame(request.communicator())));
        })
    }

    /// MPI_Waitall, from `next` on.
    pub(super) fn wait_all(&self, mut next: usize, mut results: Results<'_, A>) -> Outcome {
        let complete_next = || loop {
            match self.complete_from(&mut next, &mut results) {
                Ok(()) => return Some(()),
                Err(Incomplete::InFlight) => {
                    self.rank.requests.simple.with(self.code(next), SimpleRequest::is_awaited);
                    return None;
                }
                // As in `complete`.
                Err(Incomplete::Elsewhere) => results.note(next, next, Err(self.rank.refuse::<A>(self.code(next)))),
            }
            next += 1;
        };
        self.wait_for(true, complete_next)?;
        results.outcome(self.count)
    }

    /// MPI_Testall.
    pub(super) fn test_all(&self, flag: Out<c_int>, statuses: StatusArray<A>) -> Outcome {
        let is_done = |index| {
            let code = self.code(index);
            self.rank.requests.simple.with(code, SimpleRequest::is_done).unwrap_or(true)
        };
        let mut first = 0;
        for progresses in [true, false] {
            while first < self.count && is_done(first) {
                first += 1;
            }
            if first == self.count {
                flag.set(1)?;
                return self.wait_all(0, Results::new(self.rank, statuses));
            }
            if progresses {
                self.rank.endpoint.progress()?;
            }
        }
        self.rank.endpoint.found_nothing()?;
        flag.set(0)
    }

    /// Completes one: how it has ended, which a wait always knows.
    #[inline(always)]
    pub(super) fn complete_any(&self, mode: Mode, index: Out<c_int>, status: StatusOut<A>) -> Result<Option<Outcome>> {
        if self.is_empty() {
            status.set(&value_of::<A>(&Status::EMPTY));
            index.set(A::UNDEFINED)?;
            return Ok(Some(Ok(())));
        }
        let found = match mode {
            Mode::Wait => Some(self.wait_for(false, || self.complete_first(status))?),
            Mode::Test => match self.complete_first(status) {
                None => {
                    self.rank.endpoint.progress()?;
                    self.complete_first(status)
                }
                found => found,
            },
        };
        let Some((found, outcome)) = found else {
            self.rank.endpoint.found_nothing()?;
            index.set(A::UNDEFINED)?;
            return Ok(None);
        };
        index.set(found as c_int)?;
        Ok(Some(outcome))
    }

    /// Completes all that have come to their end, of which a wait knows at least one.
    #[inline(always)]
    pub(super) fn complete_some(
        &self,
        mode: Mode,
        number: Out<c_int>,
        indices: OutArray<c_int>,
        statuses: StatusArray<A>,
    ) -> Outcome {
        if self.is_empty() {
            return number.set(A::UNDEFINED);
        }
        let complete = || self.complete_those_done(indices, statuses);
        let completed = match mode {
            Mode::Wait => Some(self.wait_for(false, || complete().transpose())??),
            Mode::Test => {
                self.rank.endpoint.progress()?;
                complete()?
            }
        };
        if completed.is_none() {
            self.rank.endpoint.found_nothing()?;
        }
        let (found, outcome) = completed.unwrap_or((0, Ok(())));
        number.set(found as c_int)?;
        outcome
    }
}
