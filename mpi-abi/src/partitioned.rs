//! Partitioned communication (MPI-5.0 chapter 4).
//!
//! A program says that partitions are ready, and asks for those that have arrived, while another thread waits for the
//! request, which is lent out then: so these calls find the operation in a list of its own.

use std::rc::Rc;

use rwmpi_core::untyped::{Elements, Partitioned, PartitionedReceive, PartitionedSend, Persistent, Request};
use rwmpi_core::{Communicator, Destination, Error, ErrorClass, Result, Source};

use crate::argument::{Array, Memory, Out, c_int};
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::number::count;
use crate::point_to_point::{destination, source, tag_selector};
use crate::rank::{Rank, rank};
use crate::request::no_request;

/// Buffer, number of partitions, elements of each, datatype.
type Data<A> = (Memory, c_int, i64, <A as Abi>::Handle);

/// The number of partitions, and all of them as elements; none if they go to or come from nobody.
fn whole<A: Abi>(rank: &Rank, nobody: bool, data: Data<A>) -> Result<(usize, Elements)> {
    let (memory, partitions, elements, datatype) = data;
    let number = count("the number of partitions", partitions)?;
    if elements < 0 {
        return Err(Error::new(ErrorClass::Count, format!("count {elements} is negative")));
    }
    let all = elements.checked_mul(i64::from(partitions)).ok_or_else(|| {
        let what = format!("{partitions} partitions of {elements} elements are more than can be counted");
        Error::new(ErrorClass::Count, what)
    })?;
    Ok((number, rank.elements_unless::<A>(nobody, memory, all, datatype)?))
}

/// Gives the program its request.
fn give<A: Abi>(
    rank: &Rank,
    communicator: &Communicator,
    partitioned: Partitioned,
    request: Out<A::Handle>,
) -> Outcome {
    let persistent = Persistent::partitioned(partitioned.clone());
    rank.give::<A>(Request::persistent(communicator, persistent), request)?;
    rank.partitioned.borrow_mut().insert(A::code(request.get()?), partitioned);
    Ok(())
}

/// The partitioned operation with that handle. Errors of the call go to its communicator.
fn partitioned<A: Abi>(rank: &Rank, request: A::Handle) -> Result<Partitioned> {
    let code = A::code(request);
    if let Some(found) = rank.partitioned.borrow().get(&code) {
        rank.blame(found.communicator());
        return Ok(found.clone());
    }
    match rank.lane_of(code).requests.is_active(code) {
        Some(_) => Err(Error::new(ErrorClass::Request, "the request is not of a partitioned operation")),
        None => Err(no_request::<A>(code)),
    }
}

/// MPI_Psend_init (MPI-5.0 section 4.2.1).
pub fn psend_init<A: Abi>(
    memory: Memory,
    partitions: c_int,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    hints::<A>(info)?;
    let to = destination::<A>(to)?;
    let (number, whole) = whole::<A>(rank, to == Destination::Null, (memory, partitions, count, datatype))?;
    let send = PartitionedSend::new(&communicator.core, whole.first(count as u64), number, to, tag)?;
    give::<A>(rank, &communicator.core, Partitioned::Send(Rc::new(send)), request)
}

/// MPI_Precv_init (MPI-5.0 section 4.2.1).
pub fn precv_init<A: Abi>(
    memory: Memory,
    partitions: c_int,
    count: i64,
    datatype: A::Handle,
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    info: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    hints::<A>(info)?;
    let from = source::<A>(from)?;
    let (number, whole) = whole::<A>(rank, from == Source::Null, (memory, partitions, count, datatype))?;
    let receive = PartitionedReceive::new(&communicator.core, whole, number, from, tag_selector::<A>(tag))?;
    give::<A>(rank, &communicator.core, Partitioned::Receive(Rc::new(receive)), request)
}

/// MPI_Pready (MPI-5.0 section 4.2.1).
pub fn pready<A: Abi>(partition: c_int, request: A::Handle) -> Outcome {
    partitioned::<A>(rank()?, request)?.as_send()?.ready(partition)
}

/// MPI_Pready_range (MPI-5.0 section 4.2.1): both ends are partitions that are ready.
pub fn pready_range<A: Abi>(low: c_int, high: c_int, request: A::Handle) -> Outcome {
    let found = partitioned::<A>(rank()?, request)?;
    let send = found.as_send()?;
    if low > high {
        let what = format!("the range of partitions begins with {low} and ends with {high}, which is before that");
        return Err(Error::new(ErrorClass::Argument, what));
    }
    (low..=high).try_for_each(|partition| send.ready(partition))
}

/// MPI_Pready_list (MPI-5.0 section 4.2.1).
pub fn pready_list<A: Abi>(length: c_int, partitions: Array<c_int>, request: A::Handle) -> Outcome {
    let found = partitioned::<A>(rank()?, request)?;
    let send = found.as_send()?;
    let partitions = partitions.slice(count("the length of the list", length)?)?;
    partitions.iter().try_for_each(|&partition| send.ready(partition))
}

/// MPI_Parrived (MPI-5.0 section 4.2.2).
pub fn parrived<A: Abi>(request: A::Handle, partition: c_int, flag: Out<c_int>) -> Outcome {
    let rank = rank()?;
    if A::code(request) == A::REQUEST_NULL {
        return flag.set(1);
    }
    let found = partitioned::<A>(rank, request)?;
    let receive = found.as_receive()?;
    let mut arrived = receive.has_arrived(partition)?;
    if !arrived {
        rank.endpoint.progress()?;
        arrived = receive.has_arrived(partition)?;
    }
    if !arrived {
        rank.endpoint.found_nothing()?;
    }
    flag.set(arrived.into())
}
