//! Operations on windows that give requests (MPI-5.0 section 12.3.5). They have completed here when they return; at a
//! target of another node, what does not fetch anything has after a flush.

use rwmpi_core::untyped::Status;

use super::operations::{Access, RemoteArguments};
use crate::argument::{Memory, Out, c_int};
use crate::error::Outcome;
use crate::interface::Abi;

/// Does the operation, and gives its request.
fn with_request<A: Abi>(
    window: A::Handle,
    remote: RemoteArguments<A>,
    request: Out<A::Handle>,
    operate: impl FnOnce(&Access) -> Outcome,
) -> Outcome {
    let access = Access::new::<A>(window, remote)?;
    request.check_place("the request")?;
    access.window().check_request(access.target)?;
    operate(&access)?;
    access.rank.give::<A>(access.rank.request_done(Status::EMPTY)?, request)
}

/// MPI_Rput (MPI-5.0 section 12.3.5).
pub fn rput<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    with_request::<A>(window, RemoteArguments { rank, displacement, count, datatype }, request, |access| {
        access.window().put(&access.elements::<A>(origin, origin_count, origin_type)?, access.remote())
    })
}

/// MPI_Rget (MPI-5.0 section 12.3.5).
pub fn rget<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    window: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    with_request::<A>(window, RemoteArguments { rank, displacement, count, datatype }, request, |access| {
        access.window().get(&access.elements::<A>(origin, origin_count, origin_type)?, access.remote())
    })
}

/// MPI_Raccumulate (MPI-5.0 section 12.3.5).
pub fn raccumulate<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
    window: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    with_request::<A>(window, RemoteArguments { rank, displacement, count, datatype }, request, |access| {
        access.accumulate::<A>((origin, origin_count, origin_type), operation)
    })
}

/// MPI_Rget_accumulate (MPI-5.0 section 12.3.5).
pub fn rget_accumulate<A: Abi>(
    origin: Memory,
    origin_count: i64,
    origin_type: A::Handle,
    result: Memory,
    result_count: i64,
    result_type: A::Handle,
    rank: c_int,
    displacement: i64,
    count: i64,
    datatype: A::Handle,
    operation: A::Handle,
    window: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let (origin, result) = ((origin, origin_count, origin_type), (result, result_count, result_type));
    with_request::<A>(window, RemoteArguments { rank, displacement, count, datatype }, request, |access| {
        access.get_accumulate::<A>(origin, result, operation)
    })
}
