//! Receives whose message is in the queue already: they take it from there, and are never posted.
//!
//! What is at the front of a source's queue came after all unexpected messages and is for the oldest receive that wants it. So a new receive may take
//! it if there are neither unexpected messages nor posted receives; and those that are posted are completed first if it is for them
//! (docs/decisions/0050).

use rwmpi_protocol::{Envelope, Pattern, Rule};
use rwmpi_transport::{Fabric, Queue, ReadSpan, WriteSpan};

use super::operation::{ReceiveOperation, Received};
use super::pieces::Room;
use super::policy::{WRITE_MIN, is_passed};
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outcome, Unexpected, wire};
use crate::Mark;

impl<F: Fabric> Engine<F> {
    /// Starts a receive, after looking up to `looks` times whether the message it wants is the next to arrive: then there is no
    /// operation.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        pattern: Pattern,
        buffer: WriteSpan<'static>,
        looks: u32,
    ) -> Result<Received, Failure> {
        if let Some(source) = pattern.source
            && source != self.me()
            && self.rule != Rule::Sr
            && self.comes_by_fifo(source, buffer.len() as u64)
            && let Some(outcome) = self.receive_directly(source, &pattern, move |_| Some(buffer), looks)?
        {
            return outcome.map(Received::Now);
        }
        if self.receiver.has_unexpected()
            && let Some(outcome) = self.receive_stored(&pattern, buffer)?
        {
            return outcome.map(Received::Now);
        }
        self.post_span_receive(pattern, buffer).map(Received::Later)
    }

    /// Whether `source` pushes what a receive of `capacity` bytes can take.
    fn comes_by_fifo(&self, source: u32, capacity: u64) -> bool {
        capacity < WRITE_MIN
            || self.rule == Rule::Nsr
            || is_passed(capacity, None, self.fabric.passable_from(source as usize))
    }

    /// Receives the message that has arrived before all others it wants, if that is here as a whole and nobody waits for an answer.
    #[inline(never)]
    fn receive_stored(&mut self, pattern: &Pattern, buffer: WriteSpan<'static>) -> Result<Option<Outcome>, Failure> {
        self.check_alive()?;
        let Some((message, _)) = self.receiver.find(pattern) else { return Ok(None) };
        let key = self.bodies[message as usize];
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
        let Unexpected { source, tag, mark, len, body } = self.unexpected.remove(key);
        self.unexpected_bytes -= len;
        if let Body::Stored { data, .. } = body {
            data.clear(&mut self.spare);
        }
        let outcome = ReceiveOperation::outcome(buffer.len(), source, tag, len);
        Ok(Some(outcome.map(|completion| Completion { mark, ..completion })))
    }

    /// Receives the message that is the next to arrive, if it is short and wanted, into `room`, after looking up to `looks` times.
    pub(crate) fn receive_next(
        &mut self,
        pattern: Pattern,
        room: &mut dyn Room,
        looks: u32,
    ) -> Result<Option<Outcome>, Failure> {
        match pattern.source {
            Some(source) if source != self.me() && self.rule != Rule::Sr => {
                self.receive_directly(source, &pattern, |len| room.make(len), looks)
            }
            _ => Ok(None),
        }
    }

    #[inline(always)]
    fn receive_directly(
        &mut self,
        source: u32,
        pattern: &Pattern,
        room: impl FnOnce(usize) -> Option<WriteSpan<'static>>,
        looks: u32,
    ) -> Result<Option<Outcome>, Failure> {
        self.check_alive()?;
        if !self.receiver.is_idle() || self.peers[source as usize].stream.is_some() || self.backlog > 0 {
            return Ok(None);
        }
        for look in 0..looks {
            let arrival = match self.fabric.front(source as usize, Queue::Messages) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => {
                    // The second line of a wide cell is asked for with the first.
                    self.fabric.expect_more(source as usize, 1);
                    std::hint::spin_loop();
                    continue;
                }
                Err(fault) => return Err(self.poisoned(Failure::Fault(fault))),
            };
            let [_, context, tag, _] = arrival.header;
            if wire::kind(&arrival.header) != wire::EAGER || !pattern.matches(&Envelope { context, source, tag }) {
                break;
            }
            if look == 0 {
                // It was there already: so may be others.
                self.fabric.expect_more(source as usize, 2);
            }
            let Some(buffer) = room(arrival.len) else { break };
            let taken = arrival.len.min(buffer.len());
            self.fabric.read(source as usize, Queue::Messages, &arrival, 0, buffer.part(0, taken));
            self.fabric.pop(source as usize, Queue::Messages);
            let outcome = ReceiveOperation::outcome(buffer.len(), source, tag, arrival.len as u64);
            let mark = Mark::heard(arrival.header[0]);
            return Ok(Some(outcome.map(|completion| Completion { mark, ..completion })));
        }
        Ok(None)
    }

    /// As [`Engine::start_receive`], into a span. If its message is here, and short, the receive has completed. Only memory is looked at: a look at
    /// a connection takes a system call, and reads what would find its receive on arrival (docs/decisions/0021).
    #[inline(always)]
    pub(crate) fn start_span_receive(
        &mut self,
        pattern: Pattern,
        span: WriteSpan<'static>,
    ) -> Result<OperationId, Failure> {
        if let Some(source) = pattern.source
            && source != self.me()
            && self.fabric.shares_memory_with(source as usize)
            && self.has_cell(source)
            && let Some(outcome) = self.receive_at_once(source, &pattern, span)?
        {
            return Ok(self.operations.insert(|| Operation::Done(outcome)));
        }
        self.post_span_receive(pattern, span)
    }

    /// Whether there is a cell of `source`'s, be it a correct one or not.
    #[inline(always)]
    fn has_cell(&mut self, source: u32) -> bool {
        !matches!(self.fabric.front(source as usize, Queue::Messages), Ok(None))
    }

    /// Receives the message whose cell is here, if it is short and this receive's, after those that receives wait for.
    #[inline(always)]
    fn receive_at_once(
        &mut self,
        source: u32,
        pattern: &Pattern,
        span: WriteSpan<'static>,
    ) -> Result<Option<Outcome>, Failure> {
        if self.rule == Rule::Sr || self.receiver.has_unexpected() || !self.comes_by_fifo(source, span.len() as u64) {
            return Ok(None);
        }
        if !self.receiver.is_idle() {
            self.complete_oldest(source)?;
        }
        self.receive_directly(source, pattern, move |_| Some(span), 1)
    }

    /// Completes the receives that wait, oldest first, as long as the next message of `source` is theirs.
    fn complete_oldest(&mut self, source: u32) -> Result<(), Failure> {
        self.check_alive()?;
        self.complete_while_oldest(source).map_err(|failure| self.poisoned(failure))
    }

    fn complete_while_oldest(&mut self, source: u32) -> Result<(), Failure> {
        while let Some(arrival) = self.fabric.front(source as usize, Queue::Messages).map_err(Failure::Fault)? {
            let [_, context, tag, _] = arrival.header;
            let is_short = wire::kind(&arrival.header) == wire::EAGER;
            if !is_short || !self.receiver.is_for_oldest(&Envelope { context, source, tag }) {
                break;
            }
            self.fabric.expect_more(source as usize, 2);
            self.arrival(source, &arrival)?;
        }
        self.advertise()
    }
}
