//! Sending and receiving (MPI-5.0 sections 3.2, 3.4, 3.7 and 3.10).

use rwmpi_core::untyped::{Mode, Request, Status};
use rwmpi_core::{Destination, Error, ErrorClass, Result, Source, TagSelector};

use crate::argument::{Memory, Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::value_of;

/// Where a message goes.
#[inline]
pub(crate) fn destination<A: Abi>(number: c_int) -> Result<Destination> {
    match usize::try_from(number) {
        Ok(rank) => Ok(Destination::Rank(rank)),
        Err(_) if number == A::PROC_NULL => Ok(Destination::Null),
        Err(_) => Err(no_rank("destination", number)),
    }
}

/// Where a message comes from.
#[inline]
pub(crate) fn source<A: Abi>(number: c_int) -> Result<Source> {
    match usize::try_from(number) {
        Ok(rank) => Ok(Source::Rank(rank)),
        Err(_) if number == A::PROC_NULL => Ok(Source::Null),
        Err(_) if number == A::ANY_SOURCE => Ok(Source::Any),
        Err(_) => Err(no_rank("source", number)),
    }
}

/// Which tag is wanted.
#[inline]
pub(crate) fn tag_selector<A: Abi>(tag: c_int) -> TagSelector {
    if tag == A::ANY_TAG { TagSelector::Any } else { TagSelector::Tag(tag) }
}

#[cold]
fn no_rank(role: &str, number: c_int) -> Error {
    Error::new(ErrorClass::Rank, format!("{role} {number} is no rank"))
}

impl Rank {
    /// Gives the program a handle of a request.
    pub(crate) fn give<A: Abi>(&self, request: Request, handle: Out<A::Handle>) -> Outcome {
        if handle.is_null() {
            return Err(Error::new(ErrorClass::Argument, "the place for the request is a null pointer"));
        }
        handle.set(A::handle(self.requests.insert(request)))
    }
}

/// What a buffered send counts for besides its data.
pub(crate) fn overhead<A: Abi>() -> u64 {
    A::BSEND_OVERHEAD as u64
}

fn send_in_mode<A: Abi>(
    (memory, count, datatype): (Memory, i64, A::Handle),
    (to, tag): (c_int, c_int),
    communicator: A::Handle,
    mode: Mode,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    communicator.core.send_elements(&elements, destination::<A>(to)?, tag, mode)
}

/// MPI_Send (MPI-5.0 section 3.2.1).
pub fn send<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard)
}

/// MPI_Rsend (MPI-5.0 section 3.4): knowing that the receive is posted saves nothing.
pub fn rsend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard)
}

/// MPI_Ssend (MPI-5.0 section 3.4).
pub fn ssend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
) -> Outcome {
    send_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Synchronous)
}

/// MPI_Bsend (MPI-5.0 section 3.4).
pub fn bsend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    rank.endpoint.buffered_send(&communicator.core, &elements, destination::<A>(to)?, tag, overhead::<A>())
}

/// MPI_Recv (MPI-5.0 section 3.2.4).
pub fn recv<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let received = communicator.core.receive_elements(&elements, source::<A>(from)?, tag_selector::<A>(tag))?;
    status.set(&value_of::<A>(&received));
    Ok(())
}

/// MPI_Sendrecv (MPI-5.0 section 3.10).
pub fn sendrecv<A: Abi>(
    sent: Memory,
    sent_count: i64,
    sent_datatype: A::Handle,
    to: c_int,
    send_tag: c_int,
    received: Memory,
    received_count: i64,
    received_datatype: A::Handle,
    from: c_int,
    receive_tag: c_int,
    communicator: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let sent = rank.elements::<A>(sent, sent_count, sent_datatype)?;
    let received = rank.elements::<A>(received, received_count, received_datatype)?;
    let outgoing = (&sent, destination::<A>(to)?, send_tag);
    let incoming = (received, source::<A>(from)?, tag_selector::<A>(receive_tag));
    let result = communicator.core.send_and_receive(&rank.endpoint, outgoing, incoming)?;
    status.set(&value_of::<A>(&result));
    Ok(())
}

/// MPI_Sendrecv_replace (MPI-5.0 section 3.10).
pub fn sendrecv_replace<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    receive_tag: c_int,
    communicator: A::Handle,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let outgoing = (destination::<A>(to)?, send_tag);
    let incoming = (source::<A>(from)?, tag_selector::<A>(receive_tag));
    let result = communicator.core.start_replace(elements, outgoing, incoming)?.wait(&rank.endpoint)?;
    status.set(&value_of::<A>(&result));
    Ok(())
}

fn isend_in_mode<A: Abi>(
    (memory, count, datatype): (Memory, i64, A::Handle),
    (to, tag): (c_int, c_int),
    communicator: A::Handle,
    mode: Mode,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let started = communicator.core.start_send_elements(&elements, destination::<A>(to)?, tag, mode)?;
    rank.give::<A>(started, request)
}

/// MPI_Isend (MPI-5.0 section 3.7.2).
pub fn isend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    isend_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard, request)
}

/// MPI_Irsend (MPI-5.0 section 3.7.2).
pub fn irsend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    isend_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Standard, request)
}

/// MPI_Issend (MPI-5.0 section 3.7.2).
pub fn issend<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    isend_in_mode::<A>((memory, count, datatype), (to, tag), communicator, Mode::Synchronous, request)
}

/// MPI_Ibsend (MPI-5.0 section 3.7.2).
pub fn ibsend<A: Abi>(
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
    rank.endpoint.buffered_send(&communicator.core, &elements, destination::<A>(to)?, tag, overhead::<A>())?;
    rank.give::<A>(Request::done(&communicator.core, Status::EMPTY), request)
}

/// MPI_Irecv (MPI-5.0 section 3.7.2).
pub fn irecv<A: Abi>(
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
    let started = communicator.core.start_receive_elements(elements, source::<A>(from)?, tag_selector::<A>(tag))?;
    rank.give::<A>(started, request)
}

/// MPI_Isendrecv (MPI-5.0 section 3.10).
pub fn isendrecv<A: Abi>(
    sent: Memory,
    sent_count: i64,
    sent_datatype: A::Handle,
    to: c_int,
    send_tag: c_int,
    received: Memory,
    received_count: i64,
    received_datatype: A::Handle,
    from: c_int,
    receive_tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let sent = rank.elements::<A>(sent, sent_count, sent_datatype)?;
    let received = rank.elements::<A>(received, received_count, received_datatype)?;
    let outgoing = (&sent, destination::<A>(to)?, send_tag);
    let incoming = (received, source::<A>(from)?, tag_selector::<A>(receive_tag));
    rank.give::<A>(communicator.core.start_send_and_receive(outgoing, incoming)?, request)
}

/// MPI_Isendrecv_replace (MPI-5.0 section 3.10).
pub fn isendrecv_replace<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    to: c_int,
    send_tag: c_int,
    from: c_int,
    receive_tag: c_int,
    communicator: A::Handle,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let elements = rank.elements::<A>(memory, count, datatype)?;
    let outgoing = (destination::<A>(to)?, send_tag);
    let incoming = (source::<A>(from)?, tag_selector::<A>(receive_tag));
    rank.give::<A>(communicator.core.start_replace(elements, outgoing, incoming)?, request)
}
