//! Looking at requests, which stay (MPI-5.0 section 3.7.6).

use rwmpi_core::Result;
use rwmpi_core::untyped::Status;

use super::length;
use crate::argument::{Array, Out, OutArray, StatusArray, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::value_of;

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
