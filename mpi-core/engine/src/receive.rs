//! Receiving: posting, advertising, and what happens when a receive meets a message.

use rwmpi_protocol::{Envelope, Fifo, Pattern, Posting};
use rwmpi_transport::{Fabric, ReadSpan, WriteSpan};

use super::operation::{ReceiveOperation, SendOperation, Stage};
use super::pieces::Sink;
use super::rendezvous::Answer;
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outgoing, Unexpected};
use crate::Mark;
use crate::event::EventKind;

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
}
