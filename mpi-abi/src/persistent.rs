//! Requests that are started again and again (MPI-5.0 section 3.9).

use rwmpi_core::untyped::{Mode, Persistent, Request};

use crate::argument::{Memory, Out, OutArray, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::point_to_point::{destination, overhead, source, tag_selector};
use crate::rank::{Rank, rank};
use crate::request::no_request;

fn send_in_mode<A: Abi>(
    (memory, count, datatype): (Memory, i64, A::Handle),
    (to, tag): (c_int, c_int),
    communicator: A::Handle,
    mode: Mode,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let persistent = Persistent::send(&communicator.core, elements, destination::<A>(to)?, tag, mode)?;
    rank.give::<A>(Request::persistent(&communicator.core, persistent), request)
}

/// MPI_Send_init (MPI-5.0 section 3.9).
pub fn send_init<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard, request)
}

/// MPI_Rsend_init (MPI-5.0 section 3.9).
pub fn rsend_init<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard, request)
}

/// MPI_Ssend_init (MPI-5.0 section 3.9).
pub fn ssend_init<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Synchronous, request)
}

/// MPI_Bsend_init (MPI-5.0 section 3.9).
pub fn bsend_init<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let to = destination::<A>(to)?;
    let persistent = Persistent::buffered_send(&communicator.core, elements, to, tag, overhead::<A>())?;
    rank.give::<A>(Request::persistent(&communicator.core, persistent), request)
}

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
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let persistent = Persistent::receive(&communicator.core, elements, source::<A>(from)?, tag_selector::<A>(tag))?;
    rank.give::<A>(Request::persistent(&communicator.core, persistent), request)
}

fn start_one<A: Abi>(rank: &Rank, handle: A::Handle) -> Outcome {
    let code = A::code(handle);
    let mut request = rank.requests.take(code).ok_or_else(|| no_request::<A>(code))?;
    let communicator = request.communicator().clone();
    rank.blame(&communicator);
    let started = request.as_persistent().and_then(|persistent| persistent.start(&communicator, &rank.endpoint));
    rank.requests.restore(code, request);
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
