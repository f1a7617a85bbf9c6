//! Receiving: posting, advertising, and what happens when a receive meets a message.

use rwmpi_protocol::{Envelope, Fifo, Pattern, Posting, RequestForSend, Rule};
use rwmpi_transport::{Enqueue, Fabric, Queue, ReadSpan, Reading, RemoteAddress, WriteSpan};

use super::operation::{ReceiveOperation, SendOperation, Stage};
use super::pieces::Sink;
use super::pull::Answer;
use super::slots::{claimed, open};
use super::transfer::{Transfer, claim_word};
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outgoing, Stream, Target, Unexpected, wire};
use crate::Mark;
use crate::event::EventKind;
use crate::select::{MessageWay, message};

impl<F: Fabric> Engine<F> {
    /// Starts a receive.
    pub fn start_receive(&mut self, pattern: Pattern, buffer: Sink) -> Result<OperationId, Failure> {
        match buffer {
            Sink::Span(span) => self.start_span_receive(pattern, span),
            _ => self.post_receive(pattern, buffer.span(), || buffer),
        }
    }

    /// Posts a receive into a span.
    #[inline(always)]
    pub(super) fn post_span_receive(
        &mut self,
        pattern: Pattern,
        span: WriteSpan<'static>,
    ) -> Result<OperationId, Failure> {
        self.post_receive(pattern, Some(span), || Sink::Span(span))
    }

    /// Posts a receive into what `buffer` gives: the span, if it is one.
    #[inline(always)]
    fn post_receive(
        &mut self,
        pattern: Pattern,
        span: Option<WriteSpan<'static>>,
        buffer: impl FnOnce() -> Sink,
    ) -> Result<OperationId, Failure> {
        if self.is_observed()? {
            return self.post_observed(pattern, span, buffer());
        }
        self.post(pattern, span, buffer)
    }

    /// The same where somebody wants to know. What has come before it is dealt with first, so that it is known which of
    /// the two was late.
    #[cold]
    #[inline(never)]
    fn post_observed(
        &mut self,
        pattern: Pattern,
        span: Option<WriteSpan<'static>>,
        buffer: Sink,
    ) -> Result<OperationId, Failure> {
        self.noted(pattern.context, |engine| {
            engine.progress()?;
            engine.post(pattern, span, || buffer)
        })
    }

    #[inline(always)]
    fn post(
        &mut self,
        pattern: Pattern,
        span: Option<WriteSpan<'static>>,
        buffer: impl FnOnce() -> Sink,
    ) -> Result<OperationId, Failure> {
        let worth = match span {
            Some(span) if self.advertises(span.len()) => {
                self.prepare_to_post(pattern, span).map_err(|failure| self.fail(failure))?
            }
            _ => false,
        };
        // By its parts: they have just been written, one by one.
        let Pattern { context, source, tag } = pattern;
        let id = self.operations.insert(|| {
            let (pattern, buffer) = (Pattern { context, source, tag }, buffer());
            let (slot, mark) = (None, Mark::NONE);
            Operation::Receive(ReceiveOperation { pattern, buffer, slot, matched: false, withdrawing: false, mark })
        });
        match self.receiver.post(id, pattern, worth) {
            Posting::Posted if !self.receiver.has_advertisements() => Ok(id),
            posting => self.posted(id, posting),
        }
    }

    /// Goes on with a receive that has been posted, or has met a message.
    fn posted(&mut self, id: OperationId, posting: Posting) -> Result<OperationId, Failure> {
        let begun = match posting {
            Posting::Posted => self.send_advertisements(),
            Posting::Matched(message, _) => self.key_of(message).and_then(|key| self.meet(id, key)),
        };
        begun.map(|()| id).map_err(|failure| self.give_up(id, failure))
    }

    /// Whether receives of up to `capacity` bytes may be advertised, so that it pays to post them before the message is
    /// sent.
    #[inline]
    pub fn advertises(&self, capacity: usize) -> bool {
        message::may_advertise(&self.tuning, self.rule, capacity as u64)
    }

    /// Whether it is worth it to advertise a receive that might be. If so, what has arrived is dealt with before it is
    /// posted, so that the request is fresh; if not, it is left in the queue, as it may be for this very receive, which
    /// can take it from there.
    fn prepare_to_post(&mut self, pattern: Pattern, buffer: WriteSpan<'static>) -> Result<bool, Failure> {
        if pattern.source == Some(self.me()) {
            return Ok(false);
        }
        let worth = !matches!(self.rule, Rule::Auto { .. })
            || match pattern.source {
                Some(source) => {
                    let way = self.fabric.way_from(source as usize, &self.fabric.address_of(buffer.as_read()));
                    let passable = self.fabric.passable_from(source as usize);
                    message::advertises(&self.tuning, buffer.len() as u64, way, passable) && self.policy.answers(source)
                }
                None => {
                    let group = self.groups.get(&pattern.context).filter(|_| self.claims_with_sources(&pattern));
                    group.is_some_and(|group| message::advertises_to_all(&self.tuning, group.len()))
                }
            };
        if worth {
            match pattern.source {
                Some(source) => self.drain(source as usize)?,
                None => self.progress()?,
            };
        }
        Ok(worth)
    }

    /// Sends the requests that the protocol has decided on.
    #[inline]
    pub(super) fn advertise(&mut self) -> Result<(), Failure> {
        if self.receiver.has_advertisements() { self.send_advertisements() } else { Ok(()) }
    }

    fn send_advertisements(&mut self) -> Result<(), Failure> {
        while let Some(advertisement) = self.receiver.next_advertisement() {
            let id = advertisement.receive;
            let sent = match advertisement.source {
                Some(source) => self.request_from(id, source, advertisement.serial),
                None => self.request_from_all(id),
            };
            if !sent {
                self.receiver.not_advertised(id);
            }
        }
        Ok(())
    }

    /// Sends a request to one source; false if that can't be done.
    fn request_from(&mut self, id: OperationId, source: u32, serial: u32) -> bool {
        let Operation::Receive(receive) = &self.operations[id] else { return false };
        let (pattern, Some(buffer)) = (receive.pattern, receive.buffer.span()) else { return false };
        if receive.withdrawing {
            return false;
        }
        let address = self.fabric.address_of(buffer.as_read());
        if self.fabric.way_from(source as usize, &address).is_none() {
            return false;
        }
        let Some((slot, generation)) = self.slot_of(id) else { return false };
        let address = self.slots.handed_out_to(slot, source).unwrap_or_else(|| {
            let address = self.fabric.hand_out(source as usize, buffer);
            self.slots.hand_out_to(slot, source, address);
            address
        });
        let accepted = self.fabric.popped(source as usize);
        let request = RequestForSend {
            serial,
            accepted,
            context: pattern.context,
            tag: pattern.tag,
            slot,
            generation,
            target: wire::address_words(&address),
        };
        let (header, body) = wire::encode_request(&request);
        self.push(source, Queue::Requests, Enqueue::Retry, header, ReadSpan::from(&body[..])).is_ok()
    }

    fn request_from_all(&mut self, id: OperationId) -> bool {
        let Operation::Receive(receive) = &self.operations[id] else { return false };
        let Some(group) = self.groups.get(&receive.pattern.context).cloned() else { return false };
        let me = self.me();
        let mut sent_to_all = true;
        for &peer in group.iter().filter(|&&peer| peer != me) {
            sent_to_all &= self.request_from(id, peer, 0);
        }
        sent_to_all
    }

    /// The slot of a receive, taken on first use.
    fn slot_of(&mut self, id: OperationId) -> Option<(u32, u64)> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return None };
        if let Some(slot) = receive.slot {
            return Some((slot, self.slots.generation(slot)));
        }
        let (slot, generation) = self.slots.take(id)?;
        receive.slot = Some(slot);
        if self.claims() {
            self.prepare_transfer(slot, generation);
            self.fabric.set_claim(claim_word(slot), open(generation));
        }
        Some((slot, generation))
    }

    /// Gives a slot back: nobody may write to the buffer of its receive any more.
    pub(super) fn give_back_slot(&mut self, slot: u32) {
        if let Some((source, address)) = self.slots.give_back(slot) {
            self.fabric.withdraw(source as usize, &address);
        }
    }

    /// The receive that a message of `len` bytes from the FIFO completes; it is no longer posted, and nobody else can
    /// complete it.
    pub(super) fn match_arrival(&mut self, envelope: &Envelope, len: u64) -> Option<OperationId> {
        let id = self.match_at_once(envelope)?;
        self.posted_receive(id).matched = true;
        self.tell_late_sender(envelope, len);
        Some(id)
    }

    /// As [`Engine::match_arrival`], where the message is here as a whole, so that the receive completes before
    /// anything else happens.
    #[inline(always)]
    pub(super) fn match_at_once(&mut self, envelope: &Envelope) -> Option<OperationId> {
        let id = loop {
            let id = self.receiver.candidate(envelope)?;
            let slot = self.posted_receive(id).slot;
            match slot {
                Some(slot) if !self.take_claim(slot) => self.receiver.reserve(id),
                Some(slot) => {
                    self.posted_receive(id).slot = None;
                    self.give_back_slot(slot);
                    self.policy.miss(envelope.source);
                    break id;
                }
                None => break id,
            }
        };
        self.hear(id, self.heard);
        self.receiver.deliver(id);
        Some(id)
    }

    #[inline]
    fn posted_receive(&mut self, id: OperationId) -> &mut ReceiveOperation {
        match &mut self.operations[id] {
            Operation::Receive(receive) => receive,
            _ => unreachable!("posted operations are receives"),
        }
    }

    /// Takes the claim word of an own receive, if it has one: false if a sender was faster.
    #[inline]
    pub(super) fn take_own_claim(&mut self, id: OperationId) -> bool {
        match &self.operations[id] {
            Operation::Receive(ReceiveOperation { slot: Some(slot), .. }) => {
                let slot = *slot;
                self.take_claim(slot)
            }
            _ => true,
        }
    }

    fn take_claim(&mut self, slot: u32) -> bool {
        let me = self.fabric.me();
        let generation = self.slots.generation(slot);
        !self.claims() || self.fabric.swap_claim(me, claim_word(slot), open(generation), claimed(generation)).is_ok()
    }

    /// Copies a whole message that lies in this rank's memory into a receive, which completes.
    pub(super) fn fill(&mut self, id: OperationId, data: ReadSpan<'_>, source: u32, tag: u32) {
        let Operation::Receive(receive) = &mut self.operations[id] else { return };
        receive.buffer.expect(data.len() as u64);
        let taken = data.len().min(receive.buffer.len());
        receive.buffer.put(0, taken, |into| data.part(0, taken).copy_to(into));
        let outcome = ReceiveOperation::outcome(receive.buffer.len(), source, tag, data.len() as u64);
        self.finish(id, outcome);
    }

    /// A receive meets a message that arrived before it, kept under `key`.
    pub(super) fn meet(&mut self, id: OperationId, key: usize) -> Result<(), Failure> {
        let Unexpected { source, tag, mark, len, body } = self.take_unexpected(key);
        self.hear(id, mark);
        if let Operation::Receive(receive) = &self.operations[id] {
            self.tell(EventKind::LateReceiver, source, receive.pattern.context, tag, len);
        }
        match body {
            Body::Stored { data, answer } => {
                if let Some(answer) = answer {
                    self.answer(source, Answer::Matched(answer))?;
                }
                if (data.data().len() as u64) < len {
                    self.take_over_stream(id, key, source, data.data(), len);
                } else {
                    self.fill(id, data.data().into(), source, tag);
                }
                data.clear(&mut self.pool);
            }
            Body::Announced { address, answer } => self.fetch(id, source, tag, &address, answer)?,
            Body::Waiting { answer } => self.pull(id, source, tag, len, answer)?,
            Body::Local(send) => {
                if let Operation::Send(operation) = &mut self.operations[send] {
                    let mut data = std::mem::take(&mut operation.data);
                    self.count_single_copy(len);
                    self.fill(id, data.part(0, data.len()), source, tag);
                }
                self.finish(send, Ok(Completion::SENT));
            }
            Body::Lost => self.finish(id, Err(Failure::Died { peer: source })),
        }
        Ok(())
    }

    /// The rest of a message that is arriving goes straight into the receive.
    fn take_over_stream(&mut self, id: OperationId, key: usize, source: u32, arrived: &[u8], total: u64) {
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

    /// Reads an announced message out of the sender's memory.
    pub(super) fn fetch(
        &mut self,
        id: OperationId,
        source: u32,
        tag: u32,
        address: &RemoteAddress,
        answer: u32,
    ) -> Result<(), Failure> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        receive.buffer.expect(address.len);
        let capacity = receive.buffer.len();
        receive.matched = true;
        let whole = receive.buffer.span().filter(|_| address.len <= capacity as u64);
        let can_share = whole.is_some() && self.claims_with(source);
        if let Some(buffer) = whole
            && message::announced(&self.tuning, address.len, can_share, self.answers_awaited > 0) == MessageWay::Both
        {
            return self.fetch_together(id, source, tag, address, answer, buffer);
        }
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        let taken = capacity.min(address.len as usize);
        let piece_len = receive.buffer.piece_len().max(1);
        for offset in (0..taken).step_by(piece_len) {
            let read = |into: WriteSpan<'_>| {
                // What comes in pieces is unpacked piece by piece.
                let reading = Reading::alone(2 * into.len() as u64);
                self.fabric.remote_read(source as usize, address, offset as u64, into, reading)
            };
            let read = receive.buffer.put(offset, piece_len.min(taken - offset), read);
            read.map_err(|error| Failure::Remote { peer: source, error })?;
        }
        self.finish(id, ReceiveOperation::outcome(capacity, source, tag, address.len));
        self.answer(source, Answer::Matched(answer))
    }

    /// Fetches an announced message, asking the sender for help.
    fn fetch_together(
        &mut self,
        id: OperationId,
        source: u32,
        tag: u32,
        from: &RemoteAddress,
        answer: u32,
        buffer: WriteSpan<'static>,
    ) -> Result<(), Failure> {
        let Some((slot, generation)) = self.slot_of(id) else {
            let part = buffer.part(0, from.len as usize);
            let read = self.fabric.remote_read(source as usize, from, 0, part, Reading::alone(2 * from.len));
            read.map_err(|error| Failure::Remote { peer: source, error })?;
            self.finish(id, ReceiveOperation::outcome(buffer.len(), source, tag, from.len));
            return self.answer(source, Answer::Matched(answer));
        };
        let address = self.fabric.address_of(buffer.as_read());
        if self.fabric.way_from(source as usize, &address).is_some() {
            let body = wire::Sharing { address: wire::address_words(&address), generation };
            let body = bytemuck::bytes_of(&body).into();
            let header = [wire::FETCHING, answer, slot, 0];
            // Without room for the invitation this side does it alone.
            let _ = self.push(source, Queue::Requests, Enqueue::Retry, header, body);
        }
        let transfer = Transfer { owner: self.me(), slot, generation, len: from.len };
        if self.read_chunks(&transfer, source, from, buffer)? {
            self.give_back_slot(slot);
            self.finish(id, ReceiveOperation::outcome(buffer.len(), source, tag, from.len));
            self.answer(source, Answer::Matched(answer))?;
        }
        Ok(())
    }

    /// Cancels a receive that no message has met, or a send that has not left; otherwise does nothing. Local, except
    /// that a sender without claim words to look at is asked first to forget the receive's request: then it is
    /// cancelled when the answer comes.
    pub fn cancel(&mut self, id: OperationId) -> Result<(), Failure> {
        self.check_alive()?;
        match &self.operations[id] {
            Operation::Receive(receive) if !receive.matched => {
                let (slot, source) = (receive.slot, receive.pattern.source);
                let is_local = slot.is_none() || self.claims_with_sources(&receive.pattern);
                if let (false, Some(slot), Some(source)) = (is_local, slot, source) {
                    self.ask_to_forget(id, slot, source).map_err(|failure| self.fail(failure))?;
                } else if self.take_own_claim(id) {
                    self.receiver.cancel(id);
                    slot.into_iter().for_each(|slot| self.give_back_slot(slot));
                    self.finish(id, Ok(Completion::CANCELLED));
                    self.advertise().map_err(|failure| self.fail(failure))?;
                }
            }
            Operation::Send(SendOperation { peer, stage: Stage::Queued { fifo: Fifo::Open }, .. }) => {
                let state = &mut self.peers[*peer as usize];
                state.queued.retain(|outgoing| !matches!(outgoing, Outgoing::Message(other) if *other == id));
                self.backlog -= usize::from(state.queued.is_empty());
                self.finish(id, Ok(Completion::CANCELLED));
            }
            _ => {}
        }
        Ok(())
    }

    fn ask_to_forget(&mut self, id: OperationId, slot: u32, source: u32) -> Result<(), Failure> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        if std::mem::replace(&mut receive.withdrawing, true) {
            return Ok(());
        }
        let header = wire::withdrawal(wire::WITHDRAW, slot, self.slots.generation(slot));
        self.push_cell(source, header, &[], None)
    }

    /// The sender has forgotten the request of a receive that is to be cancelled.
    pub(super) fn forgotten(&mut self, slot: u32, generation: u64) {
        let Some(id) = self.slots.receive(slot, generation) else { return };
        if let Operation::Receive(ReceiveOperation { withdrawing: true, matched: false, .. }) = self.operations[id] {
            self.receiver.cancel(id);
            self.give_back_slot(slot);
            self.finish(id, Ok(Completion::CANCELLED));
        }
    }

    /// A large message that came in one piece counts in favour of advertising.
    pub(super) fn note_hit(&mut self, source: u32, len: u64) {
        if message::is_worth_a_request(&self.tuning, len) {
            self.policy.hit(source);
        }
    }
}
