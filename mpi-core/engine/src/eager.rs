//! Messages that go through the FIFO: whole in one cell (eager), or cell after cell (a pipeline), with their receive or
//! before it.
//!
//! The sender pushes; the receiver copies from the cells into the receive, or keeps what has come until there is one.
//! Read from top to bottom: the first half is the sender's, the second the receiver's.

use rwmpi_protocol::{Envelope, Fifo, Rule};
use rwmpi_transport::{Arrival, Enqueue, Fabric, PushError, Queue, ReadSpan, WriteSpan};

use crate::arrivals::fault;
use crate::buffer_pool::Kept;
use crate::operation::{Progress, ReceiveOperation, Stage};
use crate::pieces::{Sink, Source};
use crate::rendezvous::{Answer, LOOK_AT_ACCEPTED};
use crate::{Body, Engine, Failure, Mark, Operation, OperationId, SendMode, Stream, Target, wire};

impl<F: Fabric> Engine<F> {
    /// Pushes a small message, if nothing is in its way; its data are not needed any more then.
    #[inline(always)]
    pub(crate) fn push_small(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'_>,
        mark: Mark,
    ) -> Result<bool, Failure> {
        if peer == self.me() || data.len() >= self.small_end {
            return Ok(false);
        }
        let state = &mut self.peers[peer as usize];
        if !state.queued.is_empty() || self.rule == Rule::Sr || state.sender.holds_requests() {
            return Ok(false);
        }
        let envelope = Envelope { context, source: 0, tag };
        let position = self.fabric.pushed(peer as usize);
        let header = [wire::EAGER | mark.word(), context, tag, 0];
        match self.fabric.try_push(peer as usize, Queue::Messages, Enqueue::Next, header, data) {
            Ok(()) => {
                state.sender.on_fifo(&envelope, position, Fifo::Open);
                if state.sender.unaccepted() >= LOOK_AT_ACCEPTED {
                    self.look_at_accepted(peer).map_err(|failure| self.fail(failure))?;
                }
                Ok(true)
            }
            Err(PushError::Full) => Ok(false),
            Err(error) => Err(self.fail(Failure::Push(error))),
        }
    }

    /// How much the next cell of a message carries at most, after so many bytes of it. Where payloads are passed, each
    /// cell costs as much as several KiB, so they are long, but for the first, which the receiver waits for idly.
    pub(crate) fn longest_piece(&self, peer: u32, sent: usize) -> usize {
        let most = self.fabric.max_payload(peer as usize);
        if sent == 0 && self.fabric.passable(peer as usize).most > 0 { most / 2 } else { most }
    }

    /// Pushes the data of a message that has begun.
    pub(crate) fn stream(
        &mut self,
        peer: u32,
        data: &mut Source,
        mut sent: usize,
        mode: SendMode,
        mut enqueue: Enqueue,
    ) -> Result<Progress, Failure> {
        while sent < data.len() {
            let len = (data.len() - sent).min(self.longest_piece(peer, sent));
            if !self.try_push(peer, enqueue, [wire::CONTINUE, 0, 0, 0], data.part(sent, len))? {
                return Ok(Progress::Blocked(Stage::Streaming { sent }));
            }
            enqueue = Enqueue::Next;
            sent += len;
        }
        Ok(if mode == SendMode::Synchronous { Progress::Waiting } else { Progress::Done })
    }

    #[inline(always)]
    pub(crate) fn eager(&mut self, envelope: &Envelope, next_request: u32, arrival: &Arrival) -> Result<(), Failure> {
        let source = envelope.source;
        self.message_begins(source, next_request)?;
        match self.match_at_once(envelope) {
            Some(id) => {
                self.tell_late_sender(envelope, arrival.len as u64);
                let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
                let mut read = |into: WriteSpan<'_>| {
                    self.fabric.read(source as usize, Queue::Messages, arrival, 0, into);
                };
                let capacity = match &mut receive.buffer {
                    // What most receives have.
                    Sink::Span(span) => {
                        read(span.part(0, arrival.len.min(span.len())));
                        span.len()
                    }
                    buffer => {
                        buffer.expect(arrival.len as u64);
                        let capacity = buffer.len();
                        buffer.put(0, arrival.len.min(capacity), read);
                        capacity
                    }
                };
                let outcome = ReceiveOperation::outcome(capacity, source, envelope.tag, arrival.len as u64);
                self.finish(id, outcome);
            }
            None => self.eager_unexpected(envelope, arrival)?,
        }
        Ok(())
    }

    pub(crate) fn eager_unexpected(&mut self, envelope: &Envelope, arrival: &Arrival) -> Result<(), Failure> {
        let source = envelope.source;
        let mut data = Kept::with_room(arrival.len, &mut self.pool);
        self.fabric.read(source as usize, Queue::Messages, arrival, 0, data.arrive(arrival.len).into());
        self.account(source, arrival.len as u64)?;
        self.store(*envelope, arrival.len as u64, Body::Stored { data, answer: None });
        Ok(())
    }

    pub(crate) fn begin(&mut self, envelope: &Envelope, next_request: u32, arrival: &Arrival) -> Result<(), Failure> {
        let source = envelope.source;
        self.message_begins(source, next_request)?;
        let body: [u8; size_of::<wire::Begin>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Begin { total, answer, waits } = bytemuck::cast(body);
        if waits == 1 {
            return self.offered(envelope, total, answer);
        }
        let answer = (answer != wire::NO_ANSWER).then_some(answer);
        let target = match self.match_arrival(envelope, total) {
            Some(id) => {
                if let Some(answer) = answer {
                    self.answer(source, Answer::Matched(answer))?;
                }
                if let Operation::Receive(receive) = &mut self.operations[id] {
                    receive.buffer.expect(total);
                }
                Target::Receive(id)
            }
            None => {
                self.account(source, total)?;
                let data = Kept::with_room(total as usize, &mut self.pool);
                Target::Unexpected(self.store(*envelope, total, Body::Stored { data, answer }))
            }
        };
        let stream = Stream { target, arrived: 0, total, tag: envelope.tag };
        self.peers[source as usize].stream = Some(stream);
        if total == 0 {
            self.stream_ended(source, stream);
        }
        Ok(())
    }

    pub(crate) fn continued(&mut self, source: u32, arrival: &Arrival) -> Result<(), Failure> {
        let Some(mut stream) = self.peers[source as usize].stream else {
            return Err(fault(source, "data without a message"));
        };
        let (arrived, len) = (stream.arrived as usize, arrival.len);
        if len as u64 > stream.total - stream.arrived {
            return Err(fault(source, "more data than announced"));
        }
        match stream.target {
            Target::Receive(id) => {
                if let Operation::Receive(receive) = &mut self.operations[id] {
                    let capacity = receive.buffer.len();
                    let taken = len.min(capacity.saturating_sub(arrived));
                    if taken > 0 {
                        let read =
                            |into: WriteSpan<'_>| self.fabric.read(source as usize, Queue::Messages, arrival, 0, into);
                        receive.buffer.put(arrived, taken, read);
                    }
                }
            }
            Target::Unexpected(key) => {
                if let Body::Stored { data, .. } = &mut self.unexpected[key].body {
                    self.fabric.read(source as usize, Queue::Messages, arrival, 0, data.arrive(len).into());
                }
            }
        }
        stream.arrived += len as u64;
        self.peers[source as usize].stream = Some(stream);
        if stream.arrived == stream.total {
            self.stream_ended(source, stream);
        }
        Ok(())
    }

    pub(crate) fn stream_ended(&mut self, source: u32, stream: Stream) {
        self.peers[source as usize].stream = None;
        if let Target::Receive(id) = stream.target
            && let Operation::Receive(receive) = &self.operations[id]
        {
            let outcome = ReceiveOperation::outcome(receive.buffer.len(), source, stream.tag, stream.total);
            self.finish(id, outcome);
        }
    }

    /// The rest of a message that is arriving goes straight into the receive.
    pub(crate) fn take_over_stream(&mut self, id: OperationId, key: usize, source: u32, arrived: &[u8], total: u64) {
        let Operation::Receive(receive) = &mut self.operations[id] else { return };
        receive.matched = true;
        receive.buffer.expect(total);
        let taken = arrived.len().min(receive.buffer.len());
        receive.buffer.put(0, taken, |into| ReadSpan::from(&arrived[..taken]).copy_to(into));
        if let Some(Stream { target, .. }) = &mut self.peers[source as usize].stream {
            debug_assert!(matches!(target, Target::Unexpected(other) if *other == key));
            *target = Target::Receive(id);
        }
    }
}
