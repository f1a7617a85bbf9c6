//! What a call on several requests says of them.

use rwmpi_core::untyped::Status;
use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{StatusArray, StatusOut, c_int};
use crate::error::{Outcome, code_of};
use crate::interface::Abi;
use crate::rank::Rank;
use crate::status::value_of;

/// What a call on several requests says about those that have completed: their statuses, and how they ended.
pub(super) struct Results<'a, A: Abi> {
    rank: &'a Rank,
    statuses: StatusArray<A>,
    /// Places of the statuses of those that failed, and their error codes.
    codes: Vec<(usize, c_int)>,
    /// The first failure: index of the request, what went wrong, and whose it is to handle.
    failure: Option<(usize, Error, u32)>,
}

impl<'a, A: Abi> Results<'a, A> {
    pub(super) fn new(rank: &'a Rank, statuses: StatusArray<A>) -> Self {
        Results { rank, statuses, codes: Vec::new(), failure: None }
    }

    /// Where that status goes.
    #[inline]
    pub(super) fn status(&self, at: usize) -> StatusOut<A> {
        self.statuses.at(at)
    }

    /// Notes the result of the request at `index`, whose status has place `at`; an error has just been said to be its
    /// communicator's.
    pub(super) fn note(&mut self, at: usize, index: usize, outcome: Result<Status>) {
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
    pub(super) fn outcome(self, count: usize) -> Outcome {
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
