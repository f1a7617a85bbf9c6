//! Receiving, and sending and receiving at once (MPI-5.0 sections 3.2, 3.7 and 3.10); what point-to-point calls share.

use rwmpi_core::untyped::{Request, Runs, Status};
use rwmpi_core::{Communicator, Destination, Error, ErrorClass, Result, Source, TagSelector};

use crate::argument::{Memory, Out, StatusOut, c_int};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};
use crate::status::give;

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
        handle.check_place("the request")?;
        handle.set(A::handle(self.keep(request)?))
    }
}

/// What has been received as elements of that datatype; an error if the last is not whole.
#[inline(always)]
fn whole<A: Abi>(
    rank: &Rank,
    communicator: &Communicator,
    (runs, datatype): (Runs, A::Handle),
    outcome: Result<Status>,
) -> Result<Status> {
    let received = outcome?;
    // As a rule the message has the length that is expected.
    if runs.are_filled_by(received.bytes) {
        return Ok(received);
    }
    received.of_whole_elements(communicator, &rank.datatype::<A>(datatype)?)
}

/// MPI_Recv (MPI-5.0 section 3.2.4).
#[inline(always)]
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
    let (core, source, tag) = (&communicator.core, source::<A>(from)?, tag_selector::<A>(tag));
    let received = match rank.runs::<A>(memory, count, datatype) {
        Some(runs) => whole::<A>(rank, core, (runs, datatype), core.receive_runs(runs, source, tag)),
        None => {
            let elements = rank.elements_unless::<A>(source == Source::Null, memory, count, datatype)?;
            core.receive_elements(&elements, source, tag)
        }
    };
    give(received, status)
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
    let (to, from, receive_tag) = (destination::<A>(to)?, source::<A>(from)?, tag_selector::<A>(receive_tag));
    let runs =
        (rank.runs::<A>(sent, sent_count, sent_datatype), rank.runs::<A>(received, received_count, received_datatype));
    let core = &communicator.core;
    let result = if let (Some(sent), Some(received)) = runs {
        let (outgoing, incoming) = ((sent, to, send_tag), (received, from, receive_tag));
        let result = core.send_and_receive_runs(&rank.endpoint, outgoing, incoming);
        whole::<A>(rank, core, (received, received_datatype), result)
    } else {
        let sent = rank.elements_unless::<A>(to == Destination::Null, sent, sent_count, sent_datatype)?;
        let from_nobody = from == Source::Null;
        let received = rank.elements_unless::<A>(from_nobody, received, received_count, received_datatype)?;
        let (outgoing, incoming) = ((&sent, to, send_tag), (&received, from, receive_tag));
        core.send_and_receive(&rank.endpoint, outgoing, incoming)
    };
    give(result, status)
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
    let outgoing = (destination::<A>(to)?, send_tag);
    let incoming = (source::<A>(from)?, tag_selector::<A>(receive_tag));
    let core = &communicator.core;
    let result = match rank.runs::<A>(memory, count, datatype) {
        Some(runs) => {
            let result = core.replace_runs(&rank.endpoint, runs, outgoing, incoming);
            whole::<A>(rank, core, (runs, datatype), result)
        }
        None => {
            let nobody = outgoing.0 == Destination::Null && incoming.0 == Source::Null;
            let elements = rank.elements_unless::<A>(nobody, memory, count, datatype)?;
            let datatype = elements.datatype().clone();
            let result = core.start_replace(elements, outgoing, incoming)?.wait(&rank.endpoint);
            result.and_then(|received| received.of_whole_elements(core, &datatype))
        }
    };
    give(result, status)
}

/// MPI_Irecv (MPI-5.0 section 3.7.2).
#[inline(always)]
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
    let (core, source, tag) = (&communicator.core, source::<A>(from)?, tag_selector::<A>(tag));
    request.check_place("the request")?;
    let code = match rank.runs::<A>(memory, count, datatype) {
        Some(runs) => rank.keep_receive(core, core.start_receive_runs(runs, source, tag)?)?,
        None => {
            let elements = rank.elements_unless::<A>(source == Source::Null, memory, count, datatype)?;
            rank.keep_receive(core, core.start_receive(&elements, source, tag)?)?
        }
    };
    request.set(A::handle(code))
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
    let (to, from) = (destination::<A>(to)?, source::<A>(from)?);
    let sent = rank.elements_unless::<A>(to == Destination::Null, sent, sent_count, sent_datatype)?;
    let received = rank.elements_unless::<A>(from == Source::Null, received, received_count, received_datatype)?;
    let (outgoing, incoming) = ((&sent, to, send_tag), (received, from, tag_selector::<A>(receive_tag)));
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
    let outgoing = (destination::<A>(to)?, send_tag);
    let incoming = (source::<A>(from)?, tag_selector::<A>(receive_tag));
    let nobody = outgoing.0 == Destination::Null && incoming.0 == Source::Null;
    let elements = rank.elements_unless::<A>(nobody, memory, count, datatype)?;
    rank.give::<A>(communicator.core.start_replace(elements, outgoing, incoming)?, request)
}
