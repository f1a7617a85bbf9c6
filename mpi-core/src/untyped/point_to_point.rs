//! Blocking point-to-point calls and probes (MPI-5.0 sections 3.2, 3.4, 3.8 and 3.10).

use rwmpi_collective::Scratch;
use rwmpi_protocol::Pattern;
use rwmpi_transport::{ReadSpan, WriteSpan};

use super::elements::{lasting, read_span_of, write_span_of};
use super::{Elements, Endpoint, Request, Runs, SimpleRequest, Started, Status};
use crate::activity::{Call, Target};
use crate::engine::{Completion, MatchedMessage, OperationId, Scattered, SendMode};
use crate::partner::{receive_target, send_target};
use crate::waiting::Awaited;
use crate::{Communicator, Destination, Mark, Result, Source, TagSelector};

/// How a send relates to its receive (MPI-5.0 section 3.4). A *ready* send is a standard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Returns when the buffer may be used again.
    Standard,
    /// Returns when the receive has been matched.
    Synchronous,
}

impl Mode {
    pub(super) fn call(self) -> Call {
        match self {
            Mode::Standard => Call::Send,
            Mode::Synchronous => Call::SynchronousSend,
        }
    }

    pub(super) fn in_engine(self) -> SendMode {
        match self {
            Mode::Standard => SendMode::Standard,
            Mode::Synchronous => SendMode::Synchronous,
        }
    }
}

/// A message that a matched probe has taken: nobody but its holder can receive it (MPI-5.0 section 3.8.2).
#[derive(Debug)]
pub struct TakenMessage {
    message: MatchedMessage,
}

impl Communicator {
    /// Sends elements (MPI_Send, MPI_Ssend, MPI_Rsend).
    ///
    /// # Errors
    /// A rank or tag that does not exist; whatever keeps the message from being sent.
    pub fn send_elements(&self, elements: &Elements, destination: Destination, tag: i32, mode: Mode) -> Result<()> {
        if let Some(span) = elements.read_span() {
            return self.send_block(span, destination, tag, mode);
        }
        if !elements.go_in_pieces(self.process().tuning())? {
            let packed = elements.packed()?;
            return self.send_block(read_span_of(&packed), destination, tag, mode);
        }
        let (call, process) = (mode.call(), self.process());
        let Some(peer) = self.checked_destination(call, destination, tag)? else { return Ok(()) };
        let started = self.start_scattered_send(elements, peer, send_target(destination, tag), tag, mode)?;
        let Some(id) = started.filter(|&id| !process.leaves_from_copy(id)) else { return Ok(()) };
        process.wait(id).map(drop).map_err(self.failed(call))
    }

    /// As [`Communicator::send_elements`], of elements that lie side by side: the first block.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn send_runs(&self, data: Runs, destination: Destination, tag: i32, mode: Mode) -> Result<()> {
        self.send_block(data.block(0).as_read(), destination, tag, mode)
    }

    #[inline(always)]
    fn send_block(&self, block: ReadSpan<'static>, destination: Destination, tag: i32, mode: Mode) -> Result<()> {
        self.send_span(mode.call(), block, destination, tag, mode.in_engine(), Mark::NONE)
    }

    /// Receives elements (MPI_Recv).
    ///
    /// # Errors
    /// A rank or tag that does not exist; a message that is longer than the elements, or whose last element is not
    /// whole; whatever keeps it from being received.
    pub fn receive_elements(&self, elements: &Elements, source: Source, tag: TagSelector) -> Result<Status> {
        let received = match elements.write_span() {
            Some(span) => self.receive_block(span, source, tag)?,
            None => match self.checked_pattern(Call::Receive, source, tag, self.context())? {
                Some(pattern) => self.receive_and_unpack(elements, receive_target(source, tag), pattern)?,
                None => Status::NOBODY,
            },
        };
        received.of_whole_elements(self, elements.datatype())
    }

    /// As [`Communicator::receive_elements`], of elements that lie side by side: the first block.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn receive_runs(&self, data: Runs, source: Source, tag: TagSelector) -> Result<Status> {
        self.receive_block(data.block(0), source, tag)
    }

    #[inline(always)]
    fn receive_block(&self, block: WriteSpan<'static>, source: Source, tag: TagSelector) -> Result<Status> {
        match self.receive_span(block, source, tag)? {
            Some(completion) => Ok(Status::new(self, completion)),
            None => Ok(Status::NOBODY),
        }
    }

    fn receive_and_unpack(&self, elements: &Elements, target: Target, pattern: Pattern) -> Result<Status> {
        let (call, process) = (Call::Receive, self.process());
        let mut engine = process.enter(call, target, pattern.context, elements.packed_size()?);
        let outcome = if elements.go_in_pieces(self.process().tuning())? {
            let started = engine.start_receive(pattern, elements.sink()?);
            drop(engine);
            started.and_then(|id| process.wait(id))
        } else {
            let mut room = elements.room()?;
            let outcome = process.receive(engine, pattern, write_span_of(&mut room));
            let arrived = outcome.as_ref().map_or(room.len(), |completion| completion.bytes as usize);
            elements.unpack(0, &room[..arrived]);
            outcome
        };
        outcome.map(|completion| Status::new(self, completion)).map_err(self.failed(call))
    }

    /// Starts a send of elements that go in pieces.
    pub(super) fn start_scattered_send(
        &self,
        elements: &Elements,
        peer: u32,
        target: Target,
        tag: i32,
        mode: Mode,
    ) -> Result<Option<OperationId>> {
        let (call, len) = (mode.call(), elements.packed_size()?);
        let mut engine = self.process().enter(call, target, self.context(), len);
        let data = Box::new(elements.clone());
        let started = engine.start_scattered_send(peer, self.context(), tag as u32, data, mode.in_engine());
        drop(engine);
        started.map_err(self.failed(call))
    }

    /// Waits for a message that a receive with these arguments would get (MPI_Probe).
    ///
    /// # Errors
    /// A rank or tag that does not exist; whatever keeps the rank from waiting.
    pub fn probe_status(&self, source: Source, tag: TagSelector) -> Result<Status> {
        let call = Call::Probe;
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(Status::NOBODY) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found =
            self.process().wait_for_awaited(Awaited::Message(pattern), || self.process().engine().probe(&pattern));
        found.map(|completion| Status::new(self, completion)).map_err(self.failed(call))
    }

    /// As [`Communicator::probe_status`], without waiting (MPI_Iprobe).
    ///
    /// # Errors
    /// As [`Communicator::probe_status`].
    pub fn probe_status_now(&self, source: Source, tag: TagSelector) -> Result<Option<Status>> {
        let Some(pattern) = self.looking(source, tag)? else { return Ok(Some(Status::NOBODY)) };
        let found = self
            .process()
            .look_for(Awaited::Message(pattern), |engine| engine.probe(&pattern))
            .map_err(self.failed(Call::Probe))?;
        Ok(found.map(|completion| Status::new(self, completion)))
    }

    /// What a probe without waiting does first.
    fn looking(&self, source: Source, tag: TagSelector) -> Result<Option<Pattern>> {
        let call = Call::Probe;
        let Some(pattern) = self.checked_pattern(call, source, tag, self.context())? else { return Ok(None) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        Ok(Some(pattern))
    }

    fn taken(&self, found: (MatchedMessage, Completion)) -> (Option<TakenMessage>, Status) {
        (Some(TakenMessage { message: found.0 }), Status::new(self, found.1))
    }

    /// Waits for a message and takes it; none from nobody (MPI_Mprobe).
    ///
    /// # Errors
    /// As [`Communicator::probe_status`].
    pub fn take_message(&self, source: Source, tag: TagSelector) -> Result<(Option<TakenMessage>, Status)> {
        let call = Call::Probe;
        let pattern = self.checked_pattern(call, source, tag, self.context())?;
        let Some(pattern) = pattern else { return Ok((None, Status::NOBODY)) };
        drop(self.process().enter(call, receive_target(source, tag), pattern.context, 0));
        let found = self
            .process()
            .wait_for_awaited(Awaited::Message(pattern), || self.process().engine().matched_probe(&pattern));
        found.map(|found| self.taken(found)).map_err(self.failed(call))
    }

    /// As [`Communicator::take_message`], without waiting (MPI_Improbe).
    ///
    /// # Errors
    /// As [`Communicator::probe_status`].
    pub fn take_message_now(&self, source: Source, tag: TagSelector) -> Result<Option<(Option<TakenMessage>, Status)>> {
        let Some(pattern) = self.looking(source, tag)? else { return Ok(Some((None, Status::NOBODY))) };
        let found = self
            .process()
            .look_for(Awaited::Message(pattern), |engine| engine.matched_probe(&pattern))
            .map_err(self.failed(Call::Probe))?;
        Ok(found.map(|found| self.taken(found)))
    }

    /// Starts receiving a message that was taken (MPI_Imrecv).
    ///
    /// # Errors
    /// Whatever keeps it from being received.
    pub fn start_receive_taken(&self, elements: Elements, message: TakenMessage) -> Result<Request> {
        let started = self.process().engine().start_matched_receive(message.message, elements.sink()?);
        let id = started.map_err(self.failed(Call::Receive))?;
        Ok(SimpleRequest::new(self, Started::receive(id)).into())
    }

    /// Sends to one and receives from another at the same time (MPI_Sendrecv).
    ///
    /// # Errors
    /// As [`Communicator::send_elements`] and [`Communicator::receive_elements`].
    pub fn send_and_receive(
        &self,
        endpoint: &Endpoint,
        (sent, destination, send_tag): (&Elements, Destination, i32),
        (received, source, receive_tag): (&Elements, Source, TagSelector),
    ) -> Result<Status> {
        self.checked_pattern(Call::Receive, source, receive_tag, self.context())?;
        // The send first (docs/decisions/0034): what it announces the other side reads, and a receive that waits needs
        // no request.
        let outgoing = self.start_send_elements(sent, destination, send_tag, Mode::Standard)?;
        let status = self.receive_elements(received, source, receive_tag);
        outgoing.map_or(Ok(()), |mut outgoing| outgoing.wait(endpoint).map(drop)).and(status)
    }

    /// As [`Communicator::send_and_receive`], of elements that lie side by side: the first block of each.
    ///
    /// # Errors
    /// As there.
    pub fn send_and_receive_runs(
        &self,
        endpoint: &Endpoint,
        (sent, destination, send_tag): (Runs, Destination, i32),
        (received, source, receive_tag): (Runs, Source, TagSelector),
    ) -> Result<Status> {
        self.checked_pattern(Call::Receive, source, receive_tag, self.context())?;
        let outgoing = self.start_send_runs(sent, destination, send_tag, Mode::Standard)?;
        self.receive_after_send(endpoint, outgoing, (received, source, receive_tag))
    }

    /// As [`Communicator::send_and_receive_runs`], the received message taking the place of the sent one
    /// (MPI_Sendrecv_replace).
    ///
    /// # Errors
    /// As there.
    pub fn replace_runs(
        &self,
        endpoint: &Endpoint,
        data: Runs,
        (destination, send_tag): (Destination, i32),
        (source, receive_tag): (Source, TagSelector),
    ) -> Result<Status> {
        self.checked_pattern(Call::Receive, source, receive_tag, self.context())?;
        // Where the other rank can read it, as it could the program's own.
        let mut copy = Scratch::of(self.process(), data.block_len());
        let copy = copy.span();
        data.block(0).as_read().copy_long_to(copy);
        let outgoing = self.start_send_block(lasting(copy.as_read()), destination, send_tag, Mode::Standard)?;
        self.receive_after_send(endpoint, outgoing, (data, source, receive_tag))
    }

    fn receive_after_send(
        &self,
        endpoint: &Endpoint,
        outgoing: Option<Started>,
        (received, source, receive_tag): (Runs, Source, TagSelector),
    ) -> Result<Status> {
        let status = self.receive_runs(received, source, receive_tag);
        let Some(outgoing) = outgoing else { return status };
        Request::from(SimpleRequest::new(self, outgoing)).wait(endpoint).and(status)
    }
}
