//! What arrives: cells of the message queues and of the queues for requests, dealt with one by one.

use rwmpi_protocol::{Envelope, Pattern};
use rwmpi_transport::{Arrival, Fabric, Header, PeerFault, Queue, ReadSpan, WriteSpan};

use super::buffer_pool::Kept;
use super::operation::{ReceiveOperation, Stage};
use super::pieces::Sink;
use super::pull::Answer;
use super::transfer::Transfer;
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Stream, Target, wire};
use crate::Mark;

pub(super) fn fault(source: u32, what: &'static str) -> Failure {
    Failure::Fault(PeerFault { peer: source as usize, what })
}

impl<F: Fabric> Engine<F> {
    /// Deals with one cell of `source`'s message queue and pops it.
    #[inline(always)]
    pub(super) fn arrival(&mut self, source: u32, arrival: &Arrival) -> Result<(), Failure> {
        let [_, context, tag, extra] = arrival.header;
        let envelope = Envelope { context, source, tag };
        self.heard = Mark::heard(arrival.header[0]);
        match wire::kind(&arrival.header) {
            wire::EAGER => self.eager(&envelope, extra, arrival)?,
            _ => self.not_eager(&envelope, extra, arrival)?,
        }
        self.fabric.pop(source as usize, Queue::Messages);
        Ok(())
    }

    fn not_eager(&mut self, envelope: &Envelope, extra: u32, arrival: &Arrival) -> Result<(), Failure> {
        let Envelope { context, source, tag } = *envelope;
        match wire::kind(&arrival.header) {
            wire::BEGIN => self.begin(envelope, extra, arrival)?,
            wire::CONTINUE => self.continued(source, arrival)?,
            wire::ANNOUNCE => self.announced(envelope, extra, arrival)?,
            wire::WRITTEN => self.written(source, tag, context, arrival)?,
            wire::WRITING => self.writing(source, tag, context, extra, arrival)?,
            wire::BARRIER => self.rounds.arrived([context, extra, tag]),
            wire::WITHDRAW => self.forget_request(source, &arrival.header)?,
            wire::PULLED => {
                let space: [u8; 8] = self.body(source, Queue::Messages, arrival)?;
                self.pull_done(source, context, bytemuck::cast(space))?;
            }
            wire::PLACED_DIRECTLY => self.pull_done(source, context, u64::from(extra) << 32 | u64::from(tag))?,
            wire::WITHDRAWN => {
                let (slot, generation) = wire::withdrawn_slot(&arrival.header);
                self.forgotten(slot, generation);
            }
            _ => return Err(fault(source, "a cell of unknown kind")),
        }
        Ok(())
    }

    /// A message begins to arrive, with its sender's *next request number*.
    #[inline]
    fn message_begins(&mut self, source: u32, next_request: u32) -> Result<(), Failure> {
        if self.peers[source as usize].stream.is_some() {
            return Err(fault(source, "a message begins inside another"));
        }
        self.receiver.next_request(source, next_request);
        Ok(())
    }

    /// A receiver is about to cancel a receive: forgets its request, which came before.
    fn forget_request(&mut self, source: u32, header: &Header) -> Result<(), Failure> {
        self.collect_requests(source as usize)?;
        let (slot, generation) = wire::withdrawn_slot(header);
        self.peers[source as usize].sender.withdraw(slot, generation);
        self.push_cell(source, wire::withdrawal(wire::WITHDRAWN, slot, generation), &[], None)
    }

    /// Reads a payload of exactly `N` bytes.
    fn body<const N: usize>(&mut self, source: u32, queue: Queue, arrival: &Arrival) -> Result<[u8; N], Failure> {
        if arrival.len != N {
            return Err(fault(source, "a cell of wrong length"));
        }
        let mut body = [0; N];
        self.fabric.read(source as usize, queue, arrival, 0, body.as_mut_slice().into());
        Ok(body)
    }

    #[inline(always)]
    fn eager(&mut self, envelope: &Envelope, next_request: u32, arrival: &Arrival) -> Result<(), Failure> {
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

    fn eager_unexpected(&mut self, envelope: &Envelope, arrival: &Arrival) -> Result<(), Failure> {
        let source = envelope.source;
        let mut data = Kept::with_room(arrival.len, &mut self.pool);
        self.fabric.read(source as usize, Queue::Messages, arrival, 0, data.arrive(arrival.len).into());
        self.account(source, arrival.len as u64)?;
        self.store(*envelope, arrival.len as u64, Body::Stored { data, answer: None });
        Ok(())
    }

    fn begin(&mut self, envelope: &Envelope, next_request: u32, arrival: &Arrival) -> Result<(), Failure> {
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

    /// A message whose data wait at the sender until they are asked for.
    fn offered(&mut self, envelope: &Envelope, len: u64, answer: u32) -> Result<(), Failure> {
        match self.match_arrival(envelope, len) {
            Some(id) => self.pull(id, envelope.source, envelope.tag, len, answer),
            None => {
                self.account(envelope.source, 0)?;
                self.store(*envelope, len, Body::Waiting { answer });
                Ok(())
            }
        }
    }

    fn continued(&mut self, source: u32, arrival: &Arrival) -> Result<(), Failure> {
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

    fn stream_ended(&mut self, source: u32, stream: Stream) {
        self.peers[source as usize].stream = None;
        if let Target::Receive(id) = stream.target
            && let Operation::Receive(receive) = &self.operations[id]
        {
            let outcome = ReceiveOperation::outcome(receive.buffer.len(), source, stream.tag, stream.total);
            self.finish(id, outcome);
        }
    }

    fn announced(&mut self, envelope: &Envelope, next_request: u32, arrival: &Arrival) -> Result<(), Failure> {
        let source = envelope.source;
        self.message_begins(source, next_request)?;
        let body: [u8; size_of::<wire::Announce>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Announce { address, answer, .. } = bytemuck::cast(body);
        let address = wire::address(address);
        match self.match_arrival(envelope, address.len) {
            Some(id) => self.fetch(id, source, envelope.tag, &address, answer),
            None => {
                self.account(source, 0)?;
                self.store(*envelope, address.len, Body::Announced { address, answer });
                Ok(())
            }
        }
    }

    fn written(&mut self, source: u32, tag: u32, slot: u32, arrival: &Arrival) -> Result<(), Failure> {
        let body: [u8; size_of::<wire::Written>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Written { len, generation } = bytemuck::cast(body);
        let Some(id) = self.slots.receive(slot, generation) else {
            return Err(fault(source, "a notice for a receive that is not advertised"));
        };
        self.completed_by_sender(source, tag, slot, id, len);
        Ok(())
    }

    /// A sender is writing into a receive, and this rank can help.
    fn writing(&mut self, source: u32, tag: u32, slot: u32, answer: u32, arrival: &Arrival) -> Result<(), Failure> {
        let body: [u8; size_of::<wire::Sharing>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Sharing { address, generation } = bytemuck::cast(body);
        let address = wire::address(address);
        let Some(id) = self.slots.receive(slot, generation) else {
            return Err(fault(source, "a transfer to a receive that is not advertised"));
        };
        let Operation::Receive(receive) = &self.operations[id] else { return Ok(()) };
        let Some(buffer) = receive.buffer.span() else { return Ok(()) };
        if address.len > buffer.len() as u64 {
            return Err(fault(source, "a transfer longer than the receive"));
        }
        let transfer = Transfer { owner: self.me(), slot, generation, len: address.len };
        if self.read_chunks(&transfer, source, &address, buffer)? {
            self.completed_by_sender(source, tag, slot, id, address.len);
            self.answer(source, Answer::Matched(answer))?;
        }
        Ok(())
    }

    /// A receive whose request a sender has answered is complete.
    fn completed_by_sender(&mut self, source: u32, tag: u32, slot: u32, id: OperationId, len: u64) {
        let Operation::Receive(receive) = &mut self.operations[id] else { return };
        if !receive.matched {
            receive.mark = self.heard;
        }
        let outcome = ReceiveOperation::outcome(receive.buffer.len(), source, tag, len);
        // A receive that met an announced message left the posted ones then.
        if !receive.matched {
            let Pattern { context, .. } = receive.pattern;
            self.tell_late_sender(&Envelope { context, source, tag }, len);
            self.receiver.written(id, source);
            self.note_hit(source, len);
        }
        self.give_back_slot(slot);
        self.finish(id, outcome);
    }

    /// Tells the sender that its message has been matched (and fetched).
    pub(super) fn answer(&mut self, source: u32, answer: Answer) -> Result<(), Failure> {
        let state = &mut self.peers[source as usize];
        if state.answers.is_empty() {
            self.backlog += 1;
        }
        state.answers.push_back(answer);
        self.flush_answers(source)
    }

    /// Sends what answers find room. Returns with `answers` empty or the queue full.
    pub(super) fn flush_answers(&mut self, peer: u32) -> Result<(), Failure> {
        use rwmpi_transport::{Enqueue, PushError};
        while let Some(&answer) = self.peers[peer as usize].answers.front() {
            let target;
            let (header, body) = match answer {
                Answer::Matched(number) => ([wire::MATCHED, number, 0, 0], ReadSpan::EMPTY),
                Answer::Pull { number, key } => {
                    target = wire::address_words(&self.pull_address(key));
                    ([wire::PULL, number, key, 0], bytemuck::bytes_of(&target).into())
                }
            };
            match self.push(peer, Queue::Requests, Enqueue::Retry, header, body) {
                Ok(()) => {
                    let state = &mut self.peers[peer as usize];
                    state.answers.pop_front();
                    if state.answers.is_empty() {
                        self.backlog -= 1;
                    }
                }
                Err(PushError::Full) if self.is_dead(peer) => {
                    self.peers[peer as usize].answers.clear();
                    self.backlog -= 1;
                }
                Err(PushError::Full) => {
                    self.fabric.miss_room();
                    break;
                }
                Err(error) => return Err(Failure::Push(error)),
            }
        }
        Ok(())
    }

    /// Deals with everything in `peer`'s queue for requests.
    pub(super) fn collect_requests(&mut self, peer: usize) -> Result<bool, Failure> {
        let mut any = false;
        while let Some(arrival) = self.fabric.front(peer, Queue::Requests).map_err(Failure::Fault)? {
            any = true;
            match wire::kind(&arrival.header) {
                wire::REQUEST => {
                    let body = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let request = wire::decode_request(&arrival.header, body);
                    self.peers[peer].sender.on_request(request);
                }
                wire::MATCHED => self.matched(peer as u32, arrival.header[1])?,
                wire::FETCHING => {
                    let body: [u8; size_of::<wire::Sharing>()] = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let [_, id, slot, _] = arrival.header;
                    self.fetching(peer as u32, id, slot, bytemuck::cast(body))?;
                }
                wire::PULL => {
                    let target: [u8; 24] = self.body(peer as u32, Queue::Requests, &arrival)?;
                    let [_, id, key, _] = arrival.header;
                    self.pulled(peer as u32, id, key, wire::address(bytemuck::cast(target)))?;
                }
                _ => return Err(fault(peer as u32, "a request of unknown kind")),
            }
            self.fabric.pop(peer, Queue::Requests);
        }
        Ok(any)
    }

    /// A receiver is fetching a message, and this rank can help.
    fn fetching(&mut self, peer: u32, id: OperationId, slot: u32, sharing: wire::Sharing) -> Result<(), Failure> {
        let len = match self.operations.get_mut(id) {
            Some(Operation::Send(send)) if send.peer == peer => {
                if send.stage == Stage::Announced {
                    send.stage = Stage::Waiting;
                }
                send.data.len() as u64
            }
            _ => return Err(fault(peer, "a transfer of a message that was not sent")),
        };
        let target = wire::address(sharing.address);
        if target.len < len || !self.claims_with(peer) || slot as usize >= Self::slots_with_claims(&self.fabric) {
            return Err(fault(peer, "a transfer to a receive that does not fit"));
        }
        if self.policy.leaves(peer, len) {
            return Ok(());
        }
        self.help(peer, id, &Transfer { owner: peer, slot, generation: sharing.generation, len }, &target)
    }

    /// The receiver has matched this send.
    pub(super) fn matched(&mut self, peer: u32, id: OperationId) -> Result<(), Failure> {
        match self.operations.get(id) {
            Some(Operation::Send(send)) if send.peer == peer && send.stage.is_with_receiver() => {
                if matches!(send.stage, Stage::Left(_)) {
                    self.is_fetched(id);
                }
                self.answers_awaited -= 1;
                self.looks_in_vain = 0;
                self.finish(id, Ok(Completion::SENT));
                Ok(())
            }
            // A synchronous message is matched by its first cell; its data may still be leaving.
            Some(Operation::Send(send)) if send.peer == peer => {
                self.matched_early(id);
                Ok(())
            }
            None if self.deaths.goes_on => self.answered(id).map_or(Ok(()), |id| self.matched(peer, id)),
            _ => Err(fault(peer, "an answer to a message that was not sent")),
        }
    }

    fn matched_early(&mut self, id: OperationId) {
        if let Operation::Send(send) = &mut self.operations[id] {
            send.mode = super::SendMode::InPlace;
        }
    }
}
