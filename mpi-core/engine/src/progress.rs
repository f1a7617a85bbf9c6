//! Progress: dealing with what arrived, and going on with what was blocked.

use rwmpi_transport::{Enqueue, Fabric, Queue};

use super::buffer_pool::Kept;
use super::buffered_send::LATE;
use super::operation::Stage;
use super::{Body, Engine, Failure, Operation, OperationId, Outgoing, SendMode};

/// Cells of one peer that are dealt with before the others get their turn.
const BURST: usize = 64;
/// How far ahead cells are fetched, once some have followed each other: what a line takes from core to core is several
/// times what a message takes to be dealt with.
const AHEAD: usize = 4;
/// Peers that are served in one call.
const PEERS: usize = 16;

impl<F: Fabric> Engine<F> {
    /// Deals with what has arrived and goes on with what was blocked; true if anything happened.
    pub fn progress(&mut self) -> Result<bool, Failure> {
        let moved = if self.is_observed()? { self.noted_progress() } else { self.make_progress() };
        moved.map_err(|failure| self.fail(failure))
    }

    pub(super) fn make_progress(&mut self) -> Result<bool, Failure> {
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
        if !any && !self.left.is_empty() {
            any = self.take_over()?;
        }
        if !any && self.answers_awaited > 0 {
            self.looks_in_vain += 1;
            if self.looks_in_vain == LATE {
                self.note_late_receivers();
            }
        }
        Ok(any)
    }

    /// Deals with what has arrived from one source.
    pub(super) fn drain(&mut self, source: usize) -> Result<bool, Failure> {
        let mut dealt_with = 0;
        while dealt_with < BURST {
            let Some(arrival) = self.fabric.front(source, Queue::Messages).map_err(Failure::Fault)? else {
                let Some(coming) = self.fabric.coming(source) else { break };
                if self.place_directly(source as u32, &coming) {
                    dealt_with += 1;
                    self.peers[source].refresh = true;
                }
                continue;
            };
            if dealt_with > 0 {
                self.fabric.expect_more(source, dealt_with.min(AHEAD));
            }
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

    /// What finds no room for that peer waits, and nothing overtakes it.
    pub(super) fn queue(&mut self, peer: u32, outgoing: Outgoing) {
        let state = &mut self.peers[peer as usize];
        if state.queued.is_empty() {
            self.backlog += 1;
        }
        state.queued.push_back(outgoing);
        self.fabric.miss_room();
    }

    fn flush(&mut self) -> Result<bool, Failure> {
        let mut any = false;
        for peer in 0..self.peers.len() as u32 {
            if !self.peers[peer as usize].asked_for.is_empty() {
                any |= self.flush_asked_for(peer)?;
            }
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
                    after.is_none_or(|stage| stage.is_with_receiver())
                }
                Outgoing::Cell { header, payload, len } => {
                    let (header, payload, len) = (*header, *payload, *len);
                    self.try_push(peer, Enqueue::Retry, header, payload[..len].into())?
                }
                Outgoing::ToNobody => false,
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
    pub(super) fn stage(&self, id: OperationId) -> Option<Stage> {
        match self.operations.get(id) {
            Some(Operation::Send(send)) => Some(send.stage.clone()),
            _ => None,
        }
    }

    /// Whether it is a send that goes on.
    pub fn is_send(&self, id: OperationId) -> bool {
        self.stage(id).is_some()
    }

    /// Whether it is a send with which only its receiver can go on.
    pub fn is_with_receiver(&self, id: OperationId) -> bool {
        self.stage(id).is_some_and(|stage| stage.is_with_receiver())
    }

    /// A rank that waits for its own unmatched message would wait for ever: the library keeps a copy instead, so the
    /// send is done. (A synchronous send really has to wait.)
    pub fn detach_local(&mut self, id: OperationId) {
        let Operation::Send(send) = &mut self.operations[id] else { return };
        if let (&Stage::Local { key }, SendMode::Standard | SendMode::InPlace) = (&send.stage, send.mode) {
            let len = send.data.len();
            let mut data = Kept::with_room(len, &mut self.pool);
            send.data.part(0, len).copy_to(data.arrive(len).into());
            self.unexpected_bytes += len as u64;
            self.unexpected[key].body = Body::Stored { data, answer: None };
            self.finish(id, Ok(super::Completion::SENT));
        }
    }

    /// Whether sends wait for answers of their receivers.
    pub fn awaits_answers(&self) -> bool {
        self.answers_awaited > 0
    }

    /// Whether everything this rank has sent has left it.
    pub fn is_flushed(&self) -> bool {
        self.backlog == 0
    }
}
