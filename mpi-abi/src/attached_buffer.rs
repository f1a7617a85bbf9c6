//! Buffers for buffered sends (MPI-5.0 section 3.6). The first lane keeps them for all.

use rwmpi_core::untyped::{AttachedBuffer, BufferOwner};
use rwmpi_core::{Communicator, Error, ErrorClass, Result};

use crate::argument::{IntegerOut, Memory, Out, c_void};
use crate::error::Outcome;
use crate::interface::Abi;
use crate::rank::{Rank, rank};

fn attach<A: Abi>(rank: &Rank, owner: BufferOwner, memory: Memory, size: i64) -> Outcome {
    let bytes = u64::try_from(size);
    let bytes = bytes.map_err(|_| Error::new(ErrorClass::Argument, format!("the size {size} is negative")))?;
    let automatic = memory.is(A::BUFFER_AUTOMATIC);
    let buffer = AttachedBuffer::new(memory.address() as usize, (!automatic).then_some(bytes));
    rank.lane(0).endpoint.attach_buffer(owner, buffer)
}

fn detach(rank: &Rank, owner: BufferOwner, address: Out<*mut c_void>, size: IntegerOut) -> Outcome {
    let nothing = || Error::new(ErrorClass::Buffer, "no buffer is attached");
    let buffer = rank.lane(0).endpoint.detach_buffer(owner)?.ok_or_else(nothing)?;
    address.set(buffer.address as *mut c_void)?;
    size.set(buffer.size.unwrap_or(0) as i64)
}

/// MPI_Buffer_attach (MPI-5.0 section 3.6).
pub fn buffer_attach<A: Abi>(memory: Memory, size: i64) -> Outcome {
    attach::<A>(rank()?, BufferOwner::Process, memory, size)
}

/// MPI_Buffer_detach (MPI-5.0 section 3.6): waits until everything in it has left.
pub fn buffer_detach<A: Abi>(address: Out<*mut c_void>, size: IntegerOut) -> Outcome {
    detach(rank()?, BufferOwner::Process, address, size)
}

/// MPI_Buffer_flush (MPI-5.0 section 3.6).
pub fn buffer_flush<A: Abi>() -> Outcome {
    rank()?.lane(0).endpoint.flush_buffer(BufferOwner::Process)
}

/// MPI_Buffer_iflush (MPI-5.0 section 3.6).
pub fn buffer_iflush<A: Abi>(request: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let world = rank.communicator::<A>(A::handle(A::COMM_WORLD))?;
    rank.give::<A>(rank.lane(0).endpoint.start_flush(&world.core, BufferOwner::Process), request)
}

fn owner(communicator: &Communicator) -> BufferOwner {
    BufferOwner::communicator(communicator)
}

/// MPI_Comm_attach_buffer (MPI-5.0 section 3.6).
pub fn comm_attach_buffer<A: Abi>(communicator: A::Handle, memory: Memory, size: i64) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    attach::<A>(rank, owner(&communicator.core), memory, size)
}

/// MPI_Comm_detach_buffer (MPI-5.0 section 3.6).
pub fn comm_detach_buffer<A: Abi>(communicator: A::Handle, address: Out<*mut c_void>, size: IntegerOut) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    detach(rank, owner(&communicator.core), address, size)
}

/// MPI_Comm_flush_buffer (MPI-5.0 section 3.6).
pub fn comm_flush_buffer<A: Abi>(communicator: A::Handle) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    rank.lane(0).endpoint.flush_buffer(owner(&communicator.core))
}

/// MPI_Comm_iflush_buffer (MPI-5.0 section 3.6).
pub fn comm_iflush_buffer<A: Abi>(communicator: A::Handle, request: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let communicator = rank.communicator::<A>(communicator)?;
    let flushing = rank.lane(0).endpoint.start_flush(&communicator.core, owner(&communicator.core));
    rank.give::<A>(flushing, request)
}

/// That of a session. Errors of the call go to its error handler.
fn owner_in_session<A: Abi>(rank: &Rank, session: A::Handle) -> Result<BufferOwner> {
    rank.session::<A>(session).map(|_| BufferOwner::Session(A::code(session)))
}

/// MPI_Session_attach_buffer (MPI-5.0 section 3.6).
pub fn session_attach_buffer<A: Abi>(session: A::Handle, memory: Memory, size: i64) -> Outcome {
    let rank = rank()?;
    attach::<A>(rank, owner_in_session::<A>(rank, session)?, memory, size)
}

/// MPI_Session_detach_buffer (MPI-5.0 section 3.6).
pub fn session_detach_buffer<A: Abi>(session: A::Handle, address: Out<*mut c_void>, size: IntegerOut) -> Outcome {
    let rank = rank()?;
    detach(rank, owner_in_session::<A>(rank, session)?, address, size)
}

/// MPI_Session_flush_buffer (MPI-5.0 section 3.6).
pub fn session_flush_buffer<A: Abi>(session: A::Handle) -> Outcome {
    let rank = rank()?;
    rank.lane(0).endpoint.flush_buffer(owner_in_session::<A>(rank, session)?)
}

/// MPI_Session_iflush_buffer (MPI-5.0 section 3.6).
pub fn session_iflush_buffer<A: Abi>(session: A::Handle, request: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let (owner, endpoint) = (owner_in_session::<A>(rank, session)?, &rank.lane(0).endpoint);
    rank.give::<A>(endpoint.start_flush(endpoint.communicator(), owner), request)
}
