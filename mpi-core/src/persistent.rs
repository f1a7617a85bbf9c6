//! Persistent requests: the same exchange again and again (MPI-5.0 section 3.9).
//!
//! A persistent request owns its buffer and lends it out only while it is inactive, so it needs no scope. The buffer is
//! on the heap: forgetting the request leaks it, and nothing dangles.
#![allow(unsafe_code)]

use std::ops::DerefMut;

use crate::activity::Call;
use crate::buffer::{read_span, write_span};
use crate::communicator::Communicator;
use crate::engine::{Failure, OperationId, Outcome, SendMode};
use crate::error::{Error, ErrorClass};
use crate::partner::{receive_target, send_target};
use crate::plain::{direct, direct_mut, packed, unpack};
use crate::staged::checked;
use crate::{Buffer, Datatype, Destination, Mark, Result, Source, Status, TagSelector};

/// Owned memory that stays where it is when its owner is moved.
#[doc = example!(1
    "// A vector, or memory from the shared heap."
    "let universe_buffer = universe.alloc::<f64>(8);"
    "let mut sends = (world.persistent_send(vec![0.0; 8], 0, 0)?, world.persistent_send(universe_buffer, 0, 0)?);"
    "assert_eq!((sends.0.buffer()?.len(), sends.1.buffer()?.len()), (8, 8));"
)]
pub trait OwnedBuffer<T>: DerefMut<Target = [T]> + sealed::Stable {}
impl<T, B: DerefMut<Target = [T]> + sealed::Stable> OwnedBuffer<T> for B {}

mod sealed {
    #[doc(hidden)]
    pub trait Stable {}
    impl<T> Stable for Vec<T> {}
    impl<T> Stable for crate::Buffer<T> {}
}

/// A send that can be started any number of times (MPI_Send_init).
#[doc = example!(2
    "// Each step sends what the buffer holds by then."
    "let other = 1 - rank;"
    "let mut outgoing = world.persistent_send(vec![0; 4], other, 0)?;"
    "let mut incoming = world.persistent_receive(vec![0; 4], other, 0)?;"
    "for step in 0..3 {"
    "    outgoing.buffer()?.fill(step);"
    "    incoming.start()?;"
    "    outgoing.start()?;"
    "    while outgoing.test()?.is_none() {}"
    "    incoming.wait()?;"
    "    assert_eq!(incoming.buffer()?, &[step; 4]);"
    "}"
)]
#[doc(alias = "MPI_Send_init")]
pub struct PersistentSend<T: Datatype, B: OwnedBuffer<T> = Buffer<T>> {
    exchange: Exchange<T, B>,
    destination: Destination,
    tag: i32,
    mode: SendMode,
}

/// A receive that can be started any number of times (MPI_Recv_init).
#[doc = example!(1
    "let mut incoming = world.persistent_receive(vec![0.0; 2], rwmpi::ANY_SOURCE, 0)?;"
    "incoming.start()?;"
    "world.send(&[0.5, 1.5], 0, 0)?;"
    "assert_eq!(incoming.wait()?.source(), Some(0));"
    "assert_eq!(incoming.buffer()?, &[0.5, 1.5]);"
)]
#[doc(alias = "MPI_Recv_init")]
pub struct PersistentReceive<T: Datatype, B: OwnedBuffer<T> = Buffer<T>> {
    exchange: Exchange<T, B>,
    source: Source,
    tag: TagSelector,
}

/// What both kinds share.
struct Exchange<T: Datatype, B: OwnedBuffer<T>> {
    communicator: Communicator,
    call: Call,
    /// `None` only after drop has had to leak it.
    buffer: Option<B>,
    /// Its elements' bytes, if they do not travel directly. Lives as long as the buffer.
    packed: Vec<u8>,
    active: Option<OperationId>,
    elements: std::marker::PhantomData<T>,
}

impl<T: Datatype, B: OwnedBuffer<T>> Exchange<T, B> {
    fn new(communicator: &Communicator, call: Call, buffer: B) -> Self {
        let (communicator, elements) = (communicator.clone(), std::marker::PhantomData);
        Exchange { communicator, call, buffer: Some(buffer), packed: Vec::new(), active: None, elements }
    }

    fn inactive(&self) -> Result<()> {
        match self.active {
            None => Ok(()),
            Some(_) => {
                let what = "the persistent request is active: wait for it first".to_string();
                Err(Error::argument(ErrorClass::Request, &self.communicator, self.call, what))
            }
        }
    }

    fn buffer(&mut self) -> Result<&mut B> {
        self.inactive()?;
        Ok(self.buffer.as_mut().expect("the buffer stays until drop"))
    }

    fn wait(&mut self) -> Result<Status> {
        let Some(id) = self.active.take() else { return Ok(Status::EMPTY) };
        let told = (self.call, self.communicator.context());
        let outcome = self.communicator.process().wait_for_started(id, told);
        self.completed(outcome)
    }

    fn test(&mut self) -> Result<Option<Status>> {
        let Some(id) = self.active else { return Ok(Some(Status::EMPTY)) };
        let outcome = self.communicator.process().test(id).map_err(self.communicator.failed(self.call))?;
        let Some(outcome) = outcome else { return Ok(None) };
        self.active = None;
        self.completed(outcome).map(Some)
    }

    /// The bytes to be sent.
    fn outgoing(&mut self) -> Result<&[u8]> {
        if !T::DIRECT {
            self.packed = packed(self.buffer()?);
        }
        self.inactive()?;
        Ok(self.buffer.as_ref().and_then(|buffer| direct(buffer)).unwrap_or(&self.packed))
    }

    /// The bytes to be received into.
    fn incoming(&mut self) -> Result<&mut [u8]> {
        if !T::DIRECT {
            self.packed = vec![0; self.buffer()?.len() * T::SIZE];
        }
        self.inactive()?;
        Ok(self.buffer.as_mut().and_then(|buffer| direct_mut(buffer)).unwrap_or(&mut self.packed))
    }

    fn completed(&mut self, outcome: Outcome) -> Result<Status> {
        let completion = outcome.map_err(self.communicator.failed(self.call))?;
        checked::<T>(&completion).map_err(self.communicator.failed(self.call))?;
        if !T::DIRECT
            && let Some(buffer) = &mut self.buffer
        {
            let arrived = &self.packed[..self.packed.len().min(completion.bytes as usize)];
            let failed = |place| Failure::NoValue { place: Some(place), of: std::any::type_name::<T>() };
            unpack(arrived, buffer).map_err(failed).map_err(self.communicator.failed(self.call))?;
        }
        Ok(self.communicator.status_of(completion))
    }
}

impl<T: Datatype, B: OwnedBuffer<T>> Drop for Exchange<T, B> {
    fn drop(&mut self) {
        let Some(id) = self.active else { return };
        let process = self.communicator.process();
        let _ = process.engine().cancel(id);
        if process.wait(id).is_err() {
            // The transport has failed: whether a peer may still write is not known.
            std::mem::forget((self.buffer.take(), std::mem::take(&mut self.packed)));
        }
    }
}

impl<T: Datatype, B: OwnedBuffer<T>> PersistentSend<T, B> {
    /// The data of the next start. An error while the request is active.
    pub fn buffer(&mut self) -> Result<&mut B> {
        self.exchange.buffer()
    }

    /// Starts it (MPI_Start).
    #[doc(alias = "MPI_Start")]
    pub fn start(&mut self) -> Result<()> {
        let Exchange { communicator, call, .. } = &self.exchange;
        let (communicator, call) = (communicator.clone(), *call);
        let Some(peer) = communicator.checked_destination(call, self.destination, self.tag)? else { return Ok(()) };
        // SAFETY: the buffer is not lent out while the request is active, and `Exchange` keeps it until the send has
        // completed.
        let span = unsafe { read_span(self.exchange.outgoing()?) };
        if call == Call::BufferedSend {
            return communicator.buffered_send(&self.exchange.buffer()?[..], self.destination, self.tag);
        }
        let target = send_target(self.destination, self.tag);
        let mut engine = communicator.process().enter(call, target, communicator.context(), span.len());
        engine.mark(Mark::of(T::SIGNATURE));
        let started = engine.start_send(peer, communicator.context(), self.tag as u32, span, self.mode);
        drop(engine);
        let started = started.map_err(communicator.failed(call))?;
        self.exchange.active = started.filter(|&id| !communicator.process().leaves_from_copy(id));
        Ok(())
    }

    /// Waits until it has completed; then it is inactive.
    pub fn wait(&mut self) -> Result<Status> {
        self.exchange.wait()
    }

    /// Whether it has completed; then it is inactive.
    pub fn test(&mut self) -> Result<Option<Status>> {
        self.exchange.test()
    }
}

impl<T: Datatype, B: OwnedBuffer<T>> PersistentReceive<T, B> {
    /// The data of the last message. An error while the request is active.
    pub fn buffer(&mut self) -> Result<&mut B> {
        self.exchange.buffer()
    }

    /// Starts it (MPI_Start).
    #[doc(alias = "MPI_Start")]
    pub fn start(&mut self) -> Result<()> {
        let Exchange { communicator, call, .. } = &self.exchange;
        let (communicator, call) = (communicator.clone(), *call);
        let pattern = communicator.checked_pattern(call, self.source, self.tag, communicator.context())?;
        let Some(pattern) = pattern else { return Ok(()) };
        // SAFETY: the buffer is not lent out while the request is active, and `Exchange` keeps it until the receive has
        // completed.
        let span = unsafe { write_span(self.exchange.incoming()?) };
        let target = receive_target(self.source, self.tag);
        let mut engine = communicator.process().enter(call, target, communicator.context(), span.len());
        let started = engine.start_span_receive(pattern, span);
        drop(engine);
        self.exchange.active = Some(started.map_err(communicator.failed(call))?);
        Ok(())
    }

    /// Waits until it has completed; then it is inactive.
    pub fn wait(&mut self) -> Result<Status> {
        self.exchange.wait()
    }

    /// Whether it has completed; then it is inactive.
    pub fn test(&mut self) -> Result<Option<Status>> {
        self.exchange.test()
    }
}

impl Communicator {
    /// A send of `buffer` that can be started again and again (MPI_Send_init).
    #[doc = example!(2
        "let other = 1 - rank;"
        "let mut outgoing = world.persistent_send(vec![0; 4], other, 0)?;"
        "let mut incoming = world.persistent_receive(vec![0; 4], other, 0)?;"
        "for round in 0..3 {"
        "    outgoing.buffer()?.fill(round);"
        "    incoming.start()?;"
        "    outgoing.start()?;"
        "    outgoing.wait()?;"
        "    incoming.wait()?;"
        "    assert_eq!(incoming.buffer()?[..], [round; 4]);"
        "}"
    )]
    #[doc(alias = "MPI_Send_init")]
    pub fn persistent_send<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        buffer: B,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<PersistentSend<T, B>> {
        self.persistent_send_in_mode(Call::Send, buffer, destination.into(), tag, SendMode::Standard)
    }

    /// As [`Communicator::persistent_send`], synchronous (MPI_Ssend_init).
    #[doc = example!(1
        "let mut incoming = world.persistent_receive(vec![0], 0, 0)?;"
        "let mut outgoing = world.persistent_synchronous_send(vec![7], 0, 0)?;"
        "incoming.start()?;"
        "outgoing.start()?;"
        "incoming.wait()?;"
        "outgoing.wait()?;"
        "assert_eq!(incoming.buffer()?, &[7]);"
    )]
    #[doc(alias = "MPI_Ssend_init")]
    pub fn persistent_synchronous_send<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        buffer: B,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<PersistentSend<T, B>> {
        self.persistent_send_in_mode(Call::SynchronousSend, buffer, destination.into(), tag, SendMode::Synchronous)
    }

    /// As [`Communicator::persistent_send`], buffered: each start has completed when it returns (MPI_Bsend_init).
    #[doc = example!(1
        "let mut incoming = world.persistent_receive(vec![0], 0, 0)?;"
        "let mut outgoing = world.persistent_buffered_send(vec![7], 0, 0)?;"
        "incoming.start()?;"
        "outgoing.start()?;"
        "incoming.wait()?;"
        "outgoing.wait()?;"
        "assert_eq!(incoming.buffer()?, &[7]);"
    )]
    #[doc(alias = "MPI_Bsend_init")]
    pub fn persistent_buffered_send<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        buffer: B,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<PersistentSend<T, B>> {
        self.persistent_send_in_mode(Call::BufferedSend, buffer, destination.into(), tag, SendMode::Standard)
    }

    /// As [`Communicator::persistent_send`], where the caller knows that the receive has been posted (MPI_Rsend_init).
    #[doc = example!(1
        "let mut incoming = world.persistent_receive(vec![0], 0, 0)?;"
        "let mut outgoing = world.persistent_ready_send(vec![7], 0, 0)?;"
        "incoming.start()?;"
        "outgoing.start()?;"
        "incoming.wait()?;"
        "outgoing.wait()?;"
        "assert_eq!(incoming.buffer()?, &[7]);"
    )]
    #[doc(alias = "MPI_Rsend_init")]
    pub fn persistent_ready_send<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        buffer: B,
        destination: impl Into<Destination>,
        tag: i32,
    ) -> Result<PersistentSend<T, B>> {
        self.persistent_send(buffer, destination, tag)
    }

    fn persistent_send_in_mode<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        call: Call,
        buffer: B,
        destination: Destination,
        tag: i32,
        mode: SendMode,
    ) -> Result<PersistentSend<T, B>> {
        self.checked_destination(call, destination, tag)?;
        Ok(PersistentSend { exchange: Exchange::new(self, call, buffer), destination, tag, mode })
    }

    /// A receive into `buffer` that can be started again and again (MPI_Recv_init).
    #[doc(alias = "MPI_Recv_init")]
    pub fn persistent_receive<T: Datatype, B: OwnedBuffer<T>>(
        &self,
        buffer: B,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<PersistentReceive<T, B>> {
        let (source, tag) = (source.into(), tag.into());
        self.checked_pattern(Call::Receive, source, tag, self.context())?;
        Ok(PersistentReceive { exchange: Exchange::new(self, Call::Receive, buffer), source, tag })
    }
}
