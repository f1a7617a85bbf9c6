//! Completing one request.

use rwmpi_core::untyped::{Request, Status};
use rwmpi_core::{ErrorClass, Result};

use super::in_place::complete;
use super::{Mode, tell};
use crate::argument::{Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::{give, value_of};

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

/// What a request has come to, if it has come to its end.
fn finish(rank: &Rank, request: &mut Request) -> Result<Option<Result<Status>>> {
    if !request.is_done() {
        rank.endpoint.progress()?;
    }
    if !request.is_done() {
        request.found_nothing(&rank.endpoint)?;
        return Ok(None);
    }
    Ok(Some(request.finish()))
}

/// Completes a request: how it has ended, which a wait always knows.
#[inline(always)]
fn complete_one<A: Abi>(mode: Mode, handle: Out<A::Handle>, status: StatusOut<A>) -> Result<Option<Outcome>> {
    let rank = rank()?;
    if let Some(outcome) = complete_at_once(rank, handle, status)? {
        return Ok(Some(outcome));
    }
    let code = A::code(handle.get()?);
    let mut request = rank.borrow::<A>(code)?;
    let ended = match mode {
        Mode::Wait => match request.wait(&rank.endpoint) {
            // The receive goes on.
            Err(error) if error.class() == ErrorClass::ProcessDiedPending => Err(error),
            outcome => Ok(Some(outcome)),
        },
        Mode::Test => finish(rank, &mut request),
    };
    if !matches!(ended, Ok(None)) {
        rank.blame(request.communicator());
    }
    match ended {
        Ok(Some(outcome)) => {
            handle.set(A::handle(rank.put_back_done::<A>(code, request)))?;
            Ok(Some(give(outcome, status)))
        }
        goes_on => {
            rank.lane_of(code).requests.restore(code, request);
            goes_on.map(|_| None)
        }
    }
}

/// MPI_Wait (MPI-5.0 section 3.7.3).
pub fn wait<A: Abi>(handle: Out<A::Handle>, status: StatusOut<A>) -> Outcome {
    complete_one(Mode::Wait, handle, status)?.unwrap_or(Ok(()))
}

/// MPI_Test (MPI-5.0 section 3.7.3).
pub fn test<A: Abi>(handle: Out<A::Handle>, flag: Out<c_int>, status: StatusOut<A>) -> Outcome {
    tell(flag, complete_one(Mode::Test, handle, status)?)
}
