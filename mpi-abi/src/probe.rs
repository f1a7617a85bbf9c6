//! Probes, and receiving what matched probes took (MPI-5.0 section 3.8).

use rwmpi_core::untyped::{Status, TakenMessage};
use rwmpi_core::{Communicator, Error, ErrorClass, Result};

use crate::argument::{Memory, Out, StatusOut, c_int};
use crate::entry::MessageEntry;
use crate::error::Outcome;
use crate::interface::Abi;
use crate::point_to_point::{source, tag_selector};
use crate::rank::{Rank, rank};
use crate::status::{self, value_of};

/// MPI_Probe (MPI-5.0 section 3.8.1).
pub fn probe<A: Abi>(from: c_int, tag: c_int, communicator: A::Handle, status: StatusOut<A>) -> Outcome {
    let communicator = rank()?.communicator::<A>(communicator)?;
    let found = communicator.core.probe_status(source::<A>(from)?, tag_selector::<A>(tag))?;
    status.set(&value_of::<A>(&found));
    Ok(())
}

/// MPI_Iprobe (MPI-5.0 section 3.8.1).
pub fn iprobe<A: Abi>(
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    flag: Out<c_int>,
    status: StatusOut<A>,
) -> Outcome {
    let communicator = rank()?.communicator::<A>(communicator)?;
    let found = communicator.core.probe_status_now(source::<A>(from)?, tag_selector::<A>(tag))?;
    flag.set(found.is_some().into())?;
    if let Some(found) = found {
        status.set(&value_of::<A>(&found));
    }
    Ok(())
}

/// Gives the program a handle of a message.
fn give<A: Abi>(
    rank: &Rank,
    communicator: &Communicator,
    (message, found): (Option<TakenMessage>, Status),
    handle: Out<A::Handle>,
    status: StatusOut<A>,
) -> Outcome {
    let code = match message {
        Some(message) => rank.messages.insert(MessageEntry { communicator: communicator.clone(), message })?,
        None => A::MESSAGE_NO_PROC,
    };
    status.set(&value_of::<A>(&found));
    handle.set(A::handle(code))
}

/// MPI_Mprobe (MPI-5.0 section 3.8.2).
pub fn mprobe<A: Abi>(
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    message: Out<A::Handle>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let found = communicator.core.take_message(source::<A>(from)?, tag_selector::<A>(tag))?;
    give::<A>(rank, &communicator.core, found, message, status)
}

/// MPI_Improbe (MPI-5.0 section 3.8.2).
pub fn improbe<A: Abi>(
    from: c_int,
    tag: c_int,
    communicator: A::Handle,
    flag: Out<c_int>,
    message: Out<A::Handle>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let found = communicator.core.take_message_now(source::<A>(from)?, tag_selector::<A>(tag))?;
    flag.set(found.is_some().into())?;
    found.map_or(Ok(()), |found| give::<A>(rank, &communicator.core, found, message, status))
}

/// Whether that is MPI_MESSAGE_NO_PROC.
fn is_from_nobody<A: Abi>(handle: Out<A::Handle>) -> Result<bool> {
    Ok(A::code(handle.get()?) == A::MESSAGE_NO_PROC)
}

/// The message with a handle, which the program thereby loses. `None`: from nobody.
fn take<A: Abi>(rank: &Rank, handle: Out<A::Handle>) -> Result<Option<MessageEntry>> {
    let code = A::code(handle.get()?);
    let taken = if is_from_nobody::<A>(handle)? {
        None
    } else {
        let gone = || Error::new(ErrorClass::Request, "the message was received before, or never was one");
        Some(rank.messages.remove(code).ok_or_else(gone)?)
    };
    if let Some(taken) = &taken {
        rank.blame(&taken.communicator);
    }
    handle.set(A::handle(A::MESSAGE_NULL))?;
    Ok(taken)
}

/// MPI_Mrecv (MPI-5.0 section 3.8.3).
pub fn mrecv<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    message: Out<A::Handle>,
    status: StatusOut<A>,
) -> Outcome {
    let rank = rank()?;
    let elements = rank.elements_unless::<A>(is_from_nobody::<A>(message)?, memory, count, datatype)?;
    let received = match take::<A>(rank, message)? {
        None => Ok(Status::NOBODY),
        Some(MessageEntry { communicator, message }) => {
            let datatype = elements.datatype().clone();
            let received = communicator.start_receive_taken(elements, message)?.wait(&rank.endpoint);
            received.and_then(|received| received.of_whole_elements(&communicator, &datatype))
        }
    };
    status::give(received, status)
}

/// MPI_Imrecv (MPI-5.0 section 3.8.3).
pub fn imrecv<A: Abi>(
    memory: Memory,
    count: i64,
    datatype: A::Handle,
    message: Out<A::Handle>,
    request: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let elements = rank.elements_unless::<A>(is_from_nobody::<A>(message)?, memory, count, datatype)?;
    let started = match take::<A>(rank, message)? {
        None => rank.request_done(Status::NOBODY)?,
        Some(MessageEntry { communicator, message }) => communicator.start_receive_taken(elements, message)?,
    };
    rank.give::<A>(started, request)
}
