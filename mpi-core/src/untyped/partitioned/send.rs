//! The sending side.

use std::cell::{Cell, RefCell};

use super::checked_partition;
use rwmpi_rank::Stream;

use super::opening::Opening;
use super::parts::Parts;
use crate::activity::{Call, Target};
use crate::error::{Error, ErrorClass};
use crate::partner::send_target;
use crate::untyped::{Elements, Mode, Status};
use crate::waiting::Awaited;
use crate::{Communicator, Destination, Result};

/// A message that leaves in partitions.
pub struct PartitionedSend {
    communicator: Communicator,
    /// The first partition; the others lie behind it.
    first: Elements,
    partitions: usize,
    target: Target,
    /// The peer, and how partitions go there; `None`: to nobody.
    to: Option<(u32, Stream)>,
    parts: RefCell<Parts>,
    active: Cell<bool>,
}

impl PartitionedSend {
    /// Prepares the send of so many partitions, which lie one behind the other (MPI_Psend_init). Tells the receiver.
    ///
    /// # Errors
    /// A rank or tag that does not exist; partitions that do not fit into memory.
    pub fn new(
        communicator: &Communicator,
        first: Elements,
        partitions: usize,
        destination: Destination,
        tag: i32,
    ) -> Result<Self> {
        let bytes = first.packed_size()? as u64;
        let to = match communicator.checked_destination(Call::Send, destination, tag)? {
            Some(peer) => Some((peer, open(communicator, peer, tag, (partitions, bytes))?)),
            None => None,
        };
        let (communicator, target) = (communicator.clone(), send_target(destination, tag));
        Ok(PartitionedSend {
            communicator,
            first,
            partitions,
            target,
            to,
            parts: RefCell::default(),
            active: Cell::new(false),
        })
    }

    pub(super) fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    pub(crate) fn start(&self) -> Result<()> {
        let parts = if self.to.is_some() { self.partitions } else { 0 };
        self.parts.borrow_mut().reset(parts);
        self.active.set(true);
        Ok(())
    }

    /// That partition may leave (MPI_Pready).
    ///
    /// # Errors
    /// MPI_ERR_ARG if there is none, MPI_ERR_REQUEST if the request has not been started or was told before; whatever
    /// keeps the rank from sending.
    pub fn ready(&self, partition: i32) -> Result<()> {
        let place = checked_partition(partition, self.partitions)?;
        if !self.active.get() {
            let what = format!("partition {partition} can't be ready: the request has not been started");
            return Err(Error::new(ErrorClass::Request, what));
        }
        let Some((peer, stream)) = self.to else { return Ok(()) };
        let mut parts = self.parts.borrow_mut();
        if !parts.is_unready(place) {
            let what = format!("partition {partition} is ready already since the request was started");
            return Err(Error::new(ErrorClass::Request, what));
        }
        let (process, mode) = (self.communicator.process(), Mode::Standard);
        let elements = self.first.after(place);
        let tag = stream.first_tag + place as u32;
        let mut engine = process.enter(Call::Send, self.target, self.communicator.context(), elements.bytes());
        let started = match elements.read_span() {
            Some(span) => engine.start_send(peer, stream.context, tag, span, mode.in_engine()),
            None => engine.start_scattered_send(peer, stream.context, tag, Box::new(elements), mode.in_engine()),
        };
        drop(engine);
        match started {
            Ok(id) => parts.start(place, id.filter(|&id| !process.leaves_from_copy(id))),
            Err(failure) => {
                parts.fail(place, failure);
                return Err(self.communicator.failed(Call::Send)(failure));
            }
        }
        Ok(())
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.active.get() || self.parts.borrow_mut().are_done(self.communicator.process())
    }

    pub(crate) fn finish(&self) -> Result<Status> {
        self.active.set(false);
        let failure = self.parts.borrow().failure;
        failure.map_or(Ok(Status::EMPTY), |failure| Err(self.communicator.failed(Call::Send)(failure)))
    }

    pub(crate) fn awaited(&self) -> Awaited {
        self.parts.borrow().awaited()
    }

    pub(super) fn give_up(&self) {
        self.parts.borrow_mut().give_up(self.communicator.process());
        self.active.set(false);
    }
}

/// Tells the receiver how the partitions come.
fn open(communicator: &Communicator, peer: u32, tag: i32, (partitions, bytes): (usize, u64)) -> Result<Stream> {
    let process = communicator.process();
    let failed = communicator.failed(Call::Send);
    let stream = process.streams().take(peer, partitions as u32, || process.give_context()).map_err(&failed)?;
    let opening = Opening { stream, partitions: partitions as u64, bytes };
    let (context, tag) = Opening::envelope(communicator, tag);
    let message = bytemuck::bytes_of(&opening).into();
    let started = process.engine().start_buffered_send(peer, context, tag, message).map_err(&failed)?;
    if let Some(id) = started {
        process.detach(id);
    }
    Ok(stream)
}
