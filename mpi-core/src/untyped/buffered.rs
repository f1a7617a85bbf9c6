//! Buffered sends, and the buffers that programs attach for them (MPI-5.0 section 3.6).
//!
//! The copies are kept by the library, in memory of its own; the attached buffer says how much they may be together. A
//! message counts with its packed size and a word from the call until it has left this rank: where copies lie in the
//! buffer, each takes that much at least, so a buffer that suffices there suffices here.

use std::cell::Cell;
use std::rc::Rc;

use super::{Elements, Endpoint, Request};
use crate::activity::Call;
use crate::engine::OperationId;
use crate::error::{Error, ErrorClass};
use crate::partner::send_target;
use crate::process::Process;
use crate::{Communicator, Destination, Result};

/// Whose sends a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOwner {
    /// All communicators' that have none of their own, nor of their session's.
    Process,
    /// Those of the session's communicators that have none of their own, by its number ([`Group::session`]).
    ///
    /// [`Group::session`]: crate::Group::session
    Session(u32),
    /// The communicator's, by its context.
    Communicator(u32),
}

impl BufferOwner {
    /// That communicator.
    pub fn communicator(communicator: &Communicator) -> Self {
        BufferOwner::Communicator(communicator.context())
    }
}

/// A buffer for buffered sends.
pub struct AttachedBuffer {
    /// Its address, which only the program uses.
    pub address: usize,
    /// Its size in bytes; `None`: as much as is needed (MPI_BUFFER_AUTOMATIC).
    pub size: Option<u64>,
    /// What has not left yet, as far as is known.
    in_flight: Vec<Rc<BufferedSend>>,
}

/// A message that was copied.
pub(super) struct BufferedSend {
    /// Whose engine it is in: a buffer is for all lanes.
    process: Rc<Process>,
    id: OperationId,
    /// How many bytes of the buffer it counts for.
    bytes: u64,
    /// Its result has been collected: `id` may mean another operation.
    collected: Cell<bool>,
}

impl BufferedSend {
    pub(super) fn has_left(&self) -> bool {
        if self.collected.get() {
            return true;
        }
        let mut engine = self.process.engine();
        engine.detach_local(self.id);
        engine.outcome(self.id).is_some()
    }

    /// Collects it if it has left.
    fn collect(&self) -> bool {
        if !self.collected.get() && self.process.engine().collect(self.id).is_some() {
            self.collected.set(true);
        }
        self.collected.get()
    }
}

/// What a message counts besides its data, so that there is an end of empty ones, too, in bytes.
const WORD: u64 = size_of::<usize>() as u64;

/// So many messages may have left without having been collected.
const COLLECT_FROM: usize = 64;

impl AttachedBuffer {
    /// A buffer at `address` of `size` bytes.
    pub fn new(address: usize, size: Option<u64>) -> Self {
        AttachedBuffer { address, size, in_flight: Vec::new() }
    }
}

impl Endpoint {
    /// Attaches a buffer (MPI_Buffer_attach).
    ///
    /// # Errors
    /// MPI_ERR_BUFFER if there is one already.
    pub fn attach_buffer(&self, owner: BufferOwner, buffer: AttachedBuffer) -> Result<()> {
        let mut buffers = self.buffers.borrow_mut();
        if buffers.iter().any(|(other, _)| *other == owner) {
            return Err(Error::new(ErrorClass::Buffer, "a buffer is attached already: detach it first"));
        }
        buffers.push((owner, buffer));
        Ok(())
    }

    /// Gives a buffer back once everything in it has left (MPI_Buffer_detach); `None` if there is none.
    ///
    /// # Errors
    /// Whatever keeps the messages from leaving.
    pub fn detach_buffer(&self, owner: BufferOwner) -> Result<Option<AttachedBuffer>> {
        self.flush_buffer(owner)?;
        let mut buffers = self.buffers.borrow_mut();
        let place = buffers.iter().position(|(other, _)| *other == owner);
        Ok(place.map(|place| buffers.swap_remove(place).1))
    }

    /// Waits until everything in a buffer has left (MPI_Buffer_flush).
    ///
    /// # Errors
    /// Whatever keeps the messages from leaving.
    pub fn flush_buffer(&self, owner: BufferOwner) -> Result<()> {
        for sent in self.in_flight(owner) {
            self.wait_for(|| sent.has_left().then_some(()))?;
            sent.collect();
        }
        Ok(())
    }

    /// A request that completes when everything that is now in a buffer has left (MPI_Buffer_iflush).
    pub fn start_flush(&self, communicator: &Communicator, owner: BufferOwner) -> Request {
        Request::flushing(communicator, self.in_flight(owner))
    }

    fn in_flight(&self, owner: BufferOwner) -> Vec<Rc<BufferedSend>> {
        let buffers = self.buffers.borrow();
        buffers.iter().find(|(other, _)| *other == owner).map_or(Vec::new(), |(_, buffer)| buffer.in_flight.clone())
    }

    /// Sends a copy and returns at once (MPI_Bsend).
    ///
    /// # Errors
    /// A rank or tag that does not exist; MPI_ERR_BUFFER if no attached buffer has room for it.
    pub fn buffered_send(
        &self,
        communicator: &Communicator,
        elements: &Elements,
        destination: Destination,
        tag: i32,
    ) -> Result<()> {
        let call = Call::BufferedSend;
        let Some(peer) = communicator.checked_destination(call, destination, tag)? else { return Ok(()) };
        let packed = elements.packed()?;
        let needed = packed.len() as u64 + WORD;
        let owner = self.owner_with_room(communicator, needed)?;
        let target = send_target(destination, tag);
        let mut engine = communicator.process().enter(call, target, communicator.context(), packed.len());
        let span = packed.as_slice().into();
        let started = engine.start_buffered_send(peer, communicator.context(), tag as u32, span);
        drop(engine);
        if let Some(id) = started.map_err(communicator.failed(call))?
            && let Some((_, buffer)) = self.buffers.borrow_mut().iter_mut().find(|(other, _)| *other == owner)
        {
            let process = communicator.process().clone();
            buffer.in_flight.push(Rc::new(BufferedSend { process, id, bytes: needed, collected: Cell::new(false) }));
        }
        Ok(())
    }

    /// The owner of the buffer that a send on that communicator uses, if it has room for it.
    fn owner_with_room(&self, communicator: &Communicator, needed: u64) -> Result<BufferOwner> {
        let own = BufferOwner::communicator(communicator);
        let owners = [own, BufferOwner::Session(communicator.group().session()), BufferOwner::Process];
        let mut buffers = self.buffers.borrow_mut();
        let place = owners.into_iter().find_map(|owner| buffers.iter().position(|one| one.0 == owner));
        let Some(place) = place else {
            let what = "no buffer is attached: call MPI_Buffer_attach before buffered sends";
            return Err(Error::new(ErrorClass::Buffer, what));
        };
        let (owner, buffer) = &mut buffers[place];
        let used = |buffer: &AttachedBuffer| buffer.in_flight.iter().map(|sent| sent.bytes).sum::<u64>();
        let is_full = |buffer: &AttachedBuffer| buffer.size.is_some_and(|size| used(buffer) + needed > size);
        if is_full(buffer) || buffer.in_flight.len() >= COLLECT_FROM {
            // What has left meanwhile no longer counts.
            communicator.process().engine().progress().map_err(|failure| self.failed(failure))?;
            buffer.in_flight.retain(|sent| !sent.collect());
        }
        if !is_full(buffer) {
            return Ok(*owner);
        }
        let (used, size) = (used(buffer), buffer.size.unwrap_or(u64::MAX));
        let what = format!(
            "the attached buffer of {size} bytes has no room: {used} are in use, and the message needs {needed}. Attach a larger one"
        );
        Err(Error::new(ErrorClass::Buffer, what))
    }
}
