//! Requests that are started again and again (MPI-5.0 section 3.9): receives, and starting. Sends are with the other
//! sends.

use rwmpi_core::Source;
use rwmpi_core::untyped::{Persistent, Request};

use crate::argument::{Memory, Out, OutArray, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::point_to_point::{source, tag_selector};
use crate::rank::{Rank, rank};

/// MPI_Recv_init (MPI-5.0 section 3.9).
pub fn recv_init<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let from = source::<A>(from)?;
    let elements = rank.elements_unless::<A>(from == Source::Null, memory, count, datatype)?;
    let persistent = Persistent::receive(&communicator.core, elements, from, tag_selector::<A>(tag))?;
    rank.give::<A>(Request::persistent(&communicator.core, persistent), request)
}

fn start_one<A: Abi>(rank: &Rank, handle: A::Handle) -> Outcome {
    let code = A::code(handle);
    let mut request = rank.borrow::<A>(code)?;
    let communicator = request.communicator().clone();
    let started =
        request.as_persistent().and_then(|persistent| persistent.start(&communicator, &rank.lane(0).endpoint));
    rank.lane_of(code).requests.restore(code, request);
    started
}

/// MPI_Start (MPI-5.0 section 3.9).
pub fn start<A: Abi>(request: Out<A::Handle>) -> Outcome {
    start_one::<A>(rank()?, request.get()?)
}

/// MPI_Startall (MPI-5.0 section 3.9).
pub fn startall<A: Abi>(count: c_int, requests: OutArray<A::Handle>) -> Outcome {
    let rank = rank()?;
    (0..crate::request::length(count)?).try_for_each(|index| start_one::<A>(rank, requests.get(index)?))
}
