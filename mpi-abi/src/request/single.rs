//! Completing one request.

use rwmpi_core::untyped::{Request, Status};
use rwmpi_core::{ErrorClass, Result};

use super::in_place::complete;
use super::{Mode, tell, waited};
use crate::argument::{Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::{give, value_of};

/// Makes progress if the request has not come to its end, and takes its result if it has then.
fn test_once(rank: &Rank, request: &mut Request) -> Result<Option<Result<Status>>> {
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
    let (rank, code) = (rank()?, A::code(handle.get()?));
    if code == A::REQUEST_NULL {
        status.set(&value_of::<A>(&Status::EMPTY));
        return Ok(Some(Ok(())));
    }
    if let Ok(outcome) = complete(rank, code, status) {
        handle.set(A::handle(A::REQUEST_NULL))?;
        return Ok(Some(outcome));
    }
    let mut request = rank.borrow::<A>(code)?;
    let ended = match mode {
        Mode::Wait => match request.wait(&rank.endpoint) {
            // The receive goes on.
            Err(error) if error.class() == ErrorClass::ProcessDiedPending => Err(error),
            outcome => Ok(Some(outcome)),
        },
        Mode::Test => test_once(rank, &mut request),
    };
    if !matches!(ended, Ok(None)) {
        rank.blame(request.communicator());
    }
    match ended {
        Ok(Some(outcome)) => {
            if !rank.put_back_done(code, request) {
                handle.set(A::handle(A::REQUEST_NULL))?;
            }
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
    waited(complete_one(Mode::Wait, handle, status)?)
}

/// MPI_Test (MPI-5.0 section 3.7.3).
pub fn test<A: Abi>(handle: Out<A::Handle>, flag: Out<c_int>, status: StatusOut<A>) -> Outcome {
    tell(flag, complete_one(Mode::Test, handle, status)?)
}
