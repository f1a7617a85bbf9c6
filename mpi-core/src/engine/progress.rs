//! Progress: dealing with what arrived, going on with what was blocked, and waiting.

use rwmpi_transport::{Backoff, Enqueue, Fabric, Queue, Signal};

use super::operation::Stage;
use super::{Body, Engine, Failure, Operation, OperationId, Outcome, Outgoing, SendMode};

/// Cells of one peer that are dealt with before the others get their turn.
const BURST: usize = 64;
/// Peers that are served in one call.
const PEERS: usize = 16;

impl<F: Fabric> Engine<F> {
    /// Deals with what has arrived and goes on with what was blocked; true if anything happened.
    pub(crate) fn progress(&mut self) -> Result<bool, Failure> {
        self.check_alive()?;
        self.make_progress().map_err(|failure| self.poisoned(failure))
    }

    fn make_progress(&mut self) -> Result<bool, Failure> {
        let mut any = false;
        if self.backlog > 0 {
            any |= self.flush()?;
        }
        for _ in 0..PEERS {
            let Some(source) = self.fabric.ready(Queue::Messages) else { break };
            any |= self.drain(source)?;
        }
        if self.answers_awaited > 0 {
            for _ in 0..PEERS {
                let Some(peer) = self.fabric.ready(Queue::Requests) else { break };
                any |= self.collect_requests(peer)?;
            }
        }
        Ok(any)
    }

    /// Deals with what has arrived from one source.
    pub(super) fn drain(&mut self, source: usize) -> Result<bool, Failure> {
        let mut dealt_with = 0;
        while dealt_with < BURST {
            let Some(arrival) = self.fabric.front(source, Queue::Messages).map_err(Failure::Fault)? else { break };
            let message = super::wire::kind(&arrival.header) <= super::wire::ANNOUNCE;
            self.arrival(source as u32, &arrival)?;
            dealt_with += 1;
            self.peers[source].refresh |= message;
        }
        if dealt_with > 0 && dealt_with < BURST && std::mem::take(&mut self.peers[source].refresh) {
            self.receiver.drained(source as u32);
        }
        self.advertise()?;
        Ok(dealt_with > 0)
    }

    fn flush(&mut self) -> Result<bool, Failure> {
        let mut any = false;
        for peer in 0..self.peers.len() as u32 {
            if !self.peers[peer as usize].queued.is_empty() {
                any |= self.flush_queued(peer)?;
            }
            if !self.peers[peer as usize].answers.is_empty() {
                self.flush_answers(peer)?;
            }
        }
        Ok(any)
    }

    /// Goes on with the messages queued for a peer, in order, until one finds no room.
    fn flush_queued(&mut self, peer: u32) -> Result<bool, Failure> {
        let mut any = false;
        while let Some(outgoing) = self.peers[peer as usize].queued.front() {
            let gone = match outgoing {
                Outgoing::Message(id) => {
                    let id = *id;
                    let before = self.stage(id);
                    self.advance_send(id, Enqueue::Retry)?;
                    let after = self.stage(id);
                    any |= before != after;
                    matches!(after, None | Some(Stage::Waiting))
                }
                Outgoing::Cell { header, payload, len } => {
                    let (header, payload, len) = (*header, *payload, *len);
                    self.try_push(peer, Enqueue::Retry, header, payload[..len].into())?
                }
            };
            if !gone {
                break;
            }
            any = true;
            let state = &mut self.peers[peer as usize];
            state.queued.pop_front();
            if state.queued.is_empty() {
                self.backlog -= 1;
            }
        }
        Ok(any)
    }

    /// How far a send has come; `None`: it is done.
    fn stage(&self, id: OperationId) -> Option<Stage> {
        match self.operations.get(id as usize) {
            Some(Operation::Send(send)) => Some(send.stage),
            _ => None,
        }
    }

    /// Makes progress until `done` has a result.
    pub(crate) fn wait_until<R>(&mut self, mut done: impl FnMut(&mut Self) -> Option<R>) -> Result<R, Failure> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(result) = done(self) {
                return Ok(result);
            }
            if self.progress()? {
                backoff.reset();
                continue;
            }
            self.fabric.idle(&mut backoff);
            if self.fabric.take_signals().contains(Signal::Abort) {
                return Err(self.poisoned(Failure::Aborted));
            }
        }
    }

    /// Waits for an operation and forgets it: whatever the outcome, nobody touches its buffer any more.
    pub(crate) fn wait(&mut self, id: OperationId) -> Outcome {
        self.detach_local(id);
        match self.wait_until(|engine| engine.collect(id)) {
            Ok(outcome) => outcome,
            Err(failure) => Err(self.give_up(id, failure)),
        }
    }

    /// The result of an operation if it has completed; then it is forgotten. On failure it stays, and still has to be waited for.
    pub(crate) fn test(&mut self, id: OperationId) -> Result<Option<Outcome>, Failure> {
        if let Some(outcome) = self.collect(id) {
            return Ok(Some(outcome));
        }
        self.detach_local(id);
        self.progress()?;
        Ok(self.collect(id))
    }

    /// A rank that waits for its own unmatched message would wait for ever: the library keeps a copy instead, so the send is
    /// done. (A synchronous send really has to wait.)
    fn detach_local(&mut self, id: OperationId) {
        let Operation::Send(send) = &self.operations[id as usize] else { return };
        if let (Stage::Local { key }, SendMode::Standard) = (send.stage, send.mode) {
            let mut data = vec![0; send.data.len()];
            send.data.copy_to(data.as_mut_slice().into());
            self.unexpected_bytes += data.len() as u64;
            self.unexpected[key].body = Body::Stored { data, answer: None };
            self.finish(id, Ok(super::Completion::SENT));
        }
    }

    /// Waits until everything this rank has sent has left it.
    pub(crate) fn flush_all(&mut self) -> Result<(), Failure> {
        self.wait_until(|engine| (engine.backlog == 0).then_some(()))
    }
}
