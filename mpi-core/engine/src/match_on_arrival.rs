//! Receives whose message is in the queue already: they take it from there, and are never posted.
//!
//! What is at the front of a source's queue came after all unexpected messages and is for the oldest receive that wants
//! it. So a new receive may take it if there are neither unexpected messages nor posted receives; and those that are
//! posted are completed first if it is for them (docs/decisions/0050).

use rwmpi_protocol::{Envelope, Pattern, Rule};
use rwmpi_transport::{Arrival, Fabric, Queue, ReadSpan, WriteSpan};

use super::operation::{ReceiveOperation, Received};
use super::pieces::Room;
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outcome, Unexpected, wire};
use crate::Mark;
use crate::select::message;

impl<F: Fabric> Engine<F> {
    /// Starts a receive, after looking up to `looks` times whether the message it wants is the next to arrive: then
    /// there is no operation.
    #[inline(always)]
    pub fn receive(&mut self, pattern: Pattern, buffer: WriteSpan<'static>, looks: u32) -> Result<Received, Failure> {
        if let Some(source) = pattern.source
            && source != self.me()
            && self.rule != Rule::Sr
            && self.comes_by_fifo(source, buffer.len() as u64)
            && let Some(outcome) = self.match_on_arrival(source, &pattern, move |_| Some(buffer), looks)?
        {
            return outcome.map(Received::Now);
        }
        if self.receiver.has_unexpected()
            && !self.is_disturbed
            && let Some(outcome) = self.receive_stored(&pattern, buffer)?
        {
            return outcome.map(Received::Now);
        }
        self.post_span_receive(pattern, buffer).map(Received::Later)
    }

    /// Whether `source` pushes what a receive of `capacity` bytes can take.
    #[inline(always)]
    fn comes_by_fifo(&self, source: u32, capacity: u64) -> bool {
        message::comes_by_fifo(&self.tuning, self.rule, capacity, || self.fabric.passable_from(source as usize))
    }

    /// Receives the message that has arrived before all others it wants, if that is here as a whole and nobody waits
    /// for an answer.
    #[inline(never)]
    fn receive_stored(&mut self, pattern: &Pattern, buffer: WriteSpan<'static>) -> Result<Option<Outcome>, Failure> {
        let Some((message, _)) = self.receiver.find(pattern) else { return Ok(None) };
        let key = self.key_of(message)?;
        let Unexpected { len, body: Body::Stored { data, answer: None }, .. } = &self.unexpected[key] else {
            return Ok(None);
        };
        let data = data.data();
        if (data.len() as u64) < *len {
            return Ok(None);
        }
        let taken = data.len().min(buffer.len());
        ReadSpan::from(&data[..taken]).copy_to(buffer);
        self.receiver.take(message);
        let Unexpected { source, tag, mark, len, body } = self.take_unexpected(key);
        if let Body::Stored { data, .. } = body {
            data.clear(&mut self.pool);
        }
        let outcome = ReceiveOperation::outcome(buffer.len(), source, tag, len);
        Ok(Some(outcome.map(|completion| Completion { mark, ..completion })))
    }

    /// Receives the message that is the next to arrive, if it is short and wanted, into `room`, after looking up to
    /// `looks` times.
    pub fn receive_next(
        &mut self,
        pattern: Pattern,
        room: &mut dyn Room,
        looks: u32,
    ) -> Result<Option<Outcome>, Failure> {
        match pattern.source {
            Some(source) if source != self.me() && self.rule != Rule::Sr => {
                self.match_on_arrival(source, &pattern, |len| room.make(len), looks)
            }
            _ => Ok(None),
        }
    }

    #[inline(always)]
    fn match_on_arrival(
        &mut self,
        source: u32,
        pattern: &Pattern,
        room: impl FnOnce(usize) -> Option<WriteSpan<'static>>,
        looks: u32,
    ) -> Result<Option<Outcome>, Failure> {
        if self.is_observed()? || !self.may_take(source) {
            return Ok(None);
        }
        for look in 0..looks {
            let Some(arrival) = self.next_message(source)? else {
                // The second line of a wide cell is asked for with the first.
                self.fabric.expect_more(source as usize, 1);
                std::hint::spin_loop();
                continue;
            };
            if look == 0 {
                // It was there already: so may be others.
                self.fabric.expect_more(source as usize, 2);
            }
            return Ok(self.take(source, pattern, &arrival, room));
        }
        Ok(None)
    }

    /// Whether the next message of `source` may be taken from its queue: nobody else wants it, and nothing comes before
    /// it.
    #[inline(always)]
    fn may_take(&self, source: u32) -> bool {
        self.receiver.is_idle() && self.peers[source as usize].stream.is_none() && self.backlog == 0
    }

    /// What is at the front of `source`'s queue.
    #[inline(always)]
    fn next_message(&mut self, source: u32) -> Result<Option<Arrival>, Failure> {
        self.fabric.front(source as usize, Queue::Messages).map_err(|fault| self.fail(Failure::Fault(fault)))
    }

    /// Receives the message at the front of `source`'s queue, if it is short and wanted and there is room for it.
    #[inline(always)]
    fn take(
        &mut self,
        source: u32,
        pattern: &Pattern,
        arrival: &Arrival,
        room: impl FnOnce(usize) -> Option<WriteSpan<'static>>,
    ) -> Option<Outcome> {
        let [_, context, tag, _] = arrival.header;
        if wire::kind(&arrival.header) != wire::EAGER || !pattern.matches(&Envelope { context, source, tag }) {
            return None;
        }
        let buffer = room(arrival.len)?;
        let taken = arrival.len.min(buffer.len());
        self.fabric.take(source as usize, Queue::Messages, arrival, buffer.part(0, taken));
        let outcome = ReceiveOperation::outcome(buffer.len(), source, tag, arrival.len as u64);
        let mark = Mark::heard(arrival.header[0]);
        Some(outcome.map(|completion| Completion { mark, ..completion }))
    }

    /// Starts a receive into a span. If its message is here, and short, the receive has completed. Only memory is
    /// looked at: a look at a connection takes a system call, and reads what would find its receive on arrival
    /// (docs/decisions/0021).
    #[inline(always)]
    pub fn begin_receive(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Result<Received, Failure> {
        if let Some(source) = pattern.source
            && source != self.me()
            && self.fabric.shares_memory_with(source as usize)
            && let Some(arrival) = self.next_message(source)?
            && let Some(outcome) = self.receive_arrived(source, arrival, &pattern, span)?
        {
            return Ok(match outcome {
                Ok(completion) => Received::Now(completion),
                // For whoever completes it.
                Err(_) => Received::Later(self.operations.insert(|| Operation::Done(outcome))),
            });
        }
        self.post_span_receive(pattern, span).map(Received::Later)
    }

    /// As [`Engine::begin_receive`], for whoever needs an operation.
    #[inline(always)]
    pub fn start_span_receive(&mut self, pattern: Pattern, span: WriteSpan<'static>) -> Result<OperationId, Failure> {
        Ok(match self.begin_receive(pattern, span)? {
            Received::Now(completion) => self.operations.insert(|| Operation::Done(Ok(completion))),
            Received::Later(id) => id,
        })
    }

    /// Receives the next message of `source`, which is here, if it is short and this receive's, after those that
    /// receives wait for.
    #[inline(always)]
    fn receive_arrived(
        &mut self,
        source: u32,
        mut arrival: Arrival,
        pattern: &Pattern,
        span: WriteSpan<'static>,
    ) -> Result<Option<Outcome>, Failure> {
        if self.is_observed()?
            || self.rule == Rule::Sr
            || self.receiver.has_unexpected()
            || !self.comes_by_fifo(source, span.len() as u64)
        {
            return Ok(None);
        }
        if !self.receiver.is_idle() {
            match self.complete_oldest(source, arrival)? {
                Some(next) => arrival = next,
                None => return Ok(None),
            }
        }
        if !self.may_take(source) {
            return Ok(None);
        }
        self.fabric.expect_more(source as usize, 2);
        Ok(self.take(source, pattern, &arrival, move |_| Some(span)))
    }

    /// Completes the receives that wait, oldest first, as long as the next message of `source` is theirs: the first
    /// that is not.
    #[inline(never)]
    fn complete_oldest(&mut self, source: u32, first: Arrival) -> Result<Option<Arrival>, Failure> {
        let mut next = Some(first);
        while let Some(arrival) = next {
            let [_, context, tag, _] = arrival.header;
            let is_short = wire::kind(&arrival.header) == wire::EAGER;
            if !is_short || !self.receiver.is_for_oldest(&Envelope { context, source, tag }) {
                break;
            }
            self.fabric.expect_more(source as usize, 2);
            self.arrival(source, &arrival).map_err(|failure| self.fail(failure))?;
            next = self.next_message(source)?;
        }
        self.advertise().map_err(|failure| self.fail(failure))?;
        Ok(next)
    }
}
