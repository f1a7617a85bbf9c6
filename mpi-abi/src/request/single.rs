//! Completing one request.

use rwmpi_core::untyped::Status;
use rwmpi_core::{ErrorClass, Result};

use super::in_place::complete;
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
