//! Sending: which way a message takes, and pushing it there.

use rwmpi_protocol::{Choice, Envelope, Fifo, Rule};
use rwmpi_transport::{Enqueue, Fabric, Header, PushError, Queue, ReadSpan};

use super::operation::{First, Progress, SendOperation, Stage};
use super::pieces::{Scattered, Source};
use super::rendezvous::LOOK_AT_ACCEPTED;
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outgoing, SendMode, wire};
use crate::Mark;
use crate::select::MessageWay;
use crate::select::message::{self, Unrequested};

impl<F: Fabric> Engine<F> {
    /// Starts a send; `None`: it has completed already. The common small message makes no operation.
    #[inline(always)]
    pub fn start_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: ReadSpan<'static>,
        mode: SendMode,
    ) -> Result<Option<OperationId>, Failure> {
        self.count_message(peer, data.len() as u64);
        let mark = std::mem::take(&mut self.mark);
        if mode != SendMode::Synchronous && self.push_small(peer, context, tag, data, mark)? {
            return Ok(None);
        }
        self.start_general_send(peer, context, tag, Source::Span(data), mode, mark)
    }

    /// As [`Engine::start_send`], of bytes that do not lie side by side.
    pub fn start_scattered_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: Box<dyn Scattered>,
        mode: SendMode,
    ) -> Result<Option<OperationId>, Failure> {
        self.count_message(peer, data.len() as u64);
        let mark = std::mem::take(&mut self.mark);
        self.start_general_send(peer, context, tag, Source::scattered(data), mode, mark)
    }

    #[cold]
    fn start_general_send(
        &mut self,
        peer: u32,
        context: u32,
        tag: u32,
        data: Source,
        mode: SendMode,
        mark: Mark,
    ) -> Result<Option<OperationId>, Failure> {
        let stage = Stage::Queued { fifo: Fifo::Open };
        let operation = SendOperation { peer, context, tag, data, mode, mark, stage, exposed: false, owned: None };
        self.noted(context, |engine| {
            engine.note_sent(peer, context, tag, operation.data.len() as u64);
            engine.start_operation(operation)
        })
    }

    fn start_operation(&mut self, operation: SendOperation) -> Result<Option<OperationId>, Failure> {
        self.check_alive()?;
        let peer = operation.peer;
        if peer == self.me() {
            return self.send_to_self(operation);
        }
        self.refuse_dead(peer)?;
        let id = self.add_operation(Operation::Send(operation));
        if self.peers[peer as usize].queued.is_empty() {
            if let Err(failure) = self.advance_send(id, Enqueue::Next) {
                return Err(self.give_up(id, failure));
            }
            if let Some(outcome) = self.collect(id) {
                return outcome.map(|_| None);
            }
            if matches!(&self.operations[id], Operation::Send(send) if send.stage.is_with_receiver()) {
                return Ok(Some(id));
            }
        }
        self.queue(peer, Outgoing::Message(id));
        self.copy_queued(id);
        Ok(Some(id))
    }

    /// Goes on with a send from wherever it stands. Afterwards it is done, waiting, or still to be gone on with.
    pub(super) fn advance_send(&mut self, id: OperationId, enqueue: Enqueue) -> Result<(), Failure> {
        let Operation::Send(send) = &mut self.operations[id] else { return Ok(()) };
        let (peer, mode, stage) = (send.peer, send.mode, send.stage.clone());
        if stage.is_with_receiver() || matches!(stage, Stage::Local { .. }) {
            return Ok(());
        }
        let envelope = Envelope { context: send.context, source: 0, tag: send.tag };
        let mut data = std::mem::take(&mut send.data);
        let progress = match stage {
            Stage::Streaming { sent } => self.stream(peer, &mut data, sent, mode, enqueue),
            Stage::Writing(writing) => self.go_on_writing(id, peer, *writing, &mut data),
            Stage::Queued { fifo } => self.dispatch(id, peer, &envelope, &mut data, mode, fifo, enqueue),
            Stage::Waiting | Stage::Announced | Stage::Left(_) | Stage::Local { .. } => return Ok(()),
        };
        if let Operation::Send(send) = &mut self.operations[id] {
            send.data = data;
        }
        let stage = match progress? {
            Progress::Done => {
                self.finish(id, Ok(Completion::SENT));
                return Ok(());
            }
            Progress::Waiting => {
                self.answers_awaited += 1;
                Stage::Waiting
            }
            Progress::Announced => {
                self.answers_awaited += 1;
                self.looks_in_vain = 0;
                Stage::Announced
            }
            Progress::Left(left) => {
                self.answers_awaited += 1;
                self.left.push_back(id);
                Stage::Left(Box::new(left))
            }
            Progress::Blocked(stage) => stage,
        };
        if let Operation::Send(send) = &mut self.operations[id] {
            send.stage = stage;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn dispatch(
        &mut self,
        id: OperationId,
        peer: u32,
        envelope: &Envelope,
        data: &mut Source,
        mode: SendMode,
        mut fifo: Fifo,
        enqueue: Enqueue,
    ) -> Result<Progress, Failure> {
        // Not once the message is on its way: its own answer may be among what is looked at, and is for one that waits.
        if self.peers[peer as usize].sender.unaccepted() >= LOOK_AT_ACCEPTED {
            self.look_at_accepted(peer)?;
        }
        let wants_copy = enqueue == Enqueue::Next && self.wants_copy(id, peer, mode);
        if fifo == Fifo::Open && self.rule != Rule::Nsr {
            match self.choose(peer, envelope, data.len() as u64, wants_copy)? {
                Choice::Write(request) => return self.write(id, peer, envelope, &request, data),
                Choice::Fifo(chosen) => fifo = chosen,
            }
        }
        let position = self.fabric.pushed(peer as usize);
        let (mut header, mut payload) = self.first_cell(id, peer, envelope, data, mode);
        let pays = match payload {
            First::Whole => false,
            // Its data leave piece by piece, which somebody has to see to.
            First::Begin(_) => self.copies_all,
            First::Announce(_) => true,
        };
        // Asked now, as what was looked at may have told that earlier copies are fetched.
        if wants_copy && pays && self.buffer.has_room(data.len()) {
            self.copy_to_buffer(id, data);
            self.policy.copied(peer);
            (header, payload) = self.first_cell(id, peer, envelope, data, mode);
        }
        let pushed = match &payload {
            First::Whole => self.try_push(peer, enqueue, header, data.part(0, data.len())),
            First::Begin(body) => self.try_push(peer, enqueue, header, bytemuck::bytes_of(body).into()),
            First::Announce(body) => self.try_push(peer, enqueue, header, bytemuck::bytes_of(body).into()),
        };
        if !pushed? {
            return Ok(Progress::Blocked(Stage::Queued { fifo }));
        }
        self.peers[peer as usize].sender.on_fifo(envelope, position, fifo);
        self.tell_way(payload.way(), peer, envelope, data.len() as u64);
        match payload {
            First::Whole => Ok(Progress::Done),
            First::Begin(wire::Begin { waits: 1, .. }) => Ok(Progress::Waiting),
            First::Begin(_) => self.stream(peer, data, 0, mode, Enqueue::Next),
            First::Announce(_) => {
                self.expose(id);
                self.count_single_copy(data.len() as u64);
                Ok(Progress::Announced)
            }
        }
    }

    /// The first cell of a message that goes through the FIFO.
    fn first_cell(
        &mut self,
        id: OperationId,
        peer: u32,
        envelope: &Envelope,
        data: &Source,
        mode: SendMode,
    ) -> (Header, First) {
        let next_request = self.peers[peer as usize].sender.next_request();
        let mark = self.mark_of(id).word();
        let header = |kind: u32| [kind | mark, envelope.context, envelope.tag, next_request];
        let (len, is_synchronous) = (data.len() as u64, mode == SendMode::Synchronous);
        let span = data.span().filter(|_| matches!(self.rule, Rule::Auto { .. }));
        let address = || self.fabric.address_of(span.unwrap_or(ReadSpan::EMPTY));
        let cell = self.longest_piece(peer, 0) as u64;
        let way = message::unrequested(
            &self.tuning,
            Unrequested { len, may_wait: span.is_some(), is_synchronous, cell },
            || self.fabric.way_from(peer as usize, &address()),
            || self.fabric.passable(peer as usize),
        );
        match way {
            MessageWay::Eager => (header(wire::EAGER), First::Whole),
            MessageWay::RendezvousRead => {
                let address = wire::address_words(&address());
                (header(wire::ANNOUNCE), First::Announce(wire::Announce { address, answer: id, reserved: 0 }))
            }
            MessageWay::RendezvousWrite => {
                (header(wire::BEGIN), First::Begin(wire::Begin { total: len, answer: id, waits: 1 }))
            }
            _ => {
                let answer = if is_synchronous { self.answer_number(id) } else { wire::NO_ANSWER };
                (header(wire::BEGIN), First::Begin(wire::Begin { total: len, answer, waits: 0 }))
            }
        }
    }

    /// Pushes a cell. All but the common small message go through here: the fabric's own push is inlined.
    #[inline(never)]
    pub(super) fn push(
        &mut self,
        peer: u32,
        queue: Queue,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan<'_>,
    ) -> Result<(), PushError> {
        self.fabric.try_push(peer as usize, queue, enqueue, header, payload)
    }

    /// Pushes a cell of the queue of messages; false if there is no room.
    pub(super) fn try_push(
        &mut self,
        peer: u32,
        enqueue: Enqueue,
        header: Header,
        payload: ReadSpan<'_>,
    ) -> Result<bool, Failure> {
        match self.push(peer, Queue::Messages, enqueue, header, payload) {
            Ok(()) => Ok(true),
            Err(PushError::Full) => Ok(false),
            Err(error) => Err(Failure::Push(error)),
        }
    }

    /// Sends a cell with at most 16 bytes, behind whatever is queued; or, if the first in the queue is the message
    /// `after` that the cell speaks of, behind that alone: the receiver must not see a later message first.
    pub(super) fn push_cell(
        &mut self,
        peer: u32,
        header: Header,
        body: &[u8],
        after: Option<OperationId>,
    ) -> Result<(), Failure> {
        if self.peers[peer as usize].queued.is_empty() && self.try_push(peer, Enqueue::Next, header, body.into())? {
            return Ok(());
        }
        let mut payload = [0; 16];
        payload[..body.len()].copy_from_slice(body);
        let cell = Outgoing::Cell { header, payload, len: body.len() };
        match self.peers[peer as usize].queued.front() {
            Some(Outgoing::Message(first)) if Some(*first) == after => self.peers[peer as usize].queued.insert(1, cell),
            _ => self.queue(peer, cell),
        }
        Ok(())
    }

    /// A message to this rank: one copy if its receive waits, otherwise it waits for its receive where it is.
    fn send_to_self(&mut self, mut send: SendOperation) -> Result<Option<OperationId>, Failure> {
        let envelope = Envelope { context: send.context, source: self.me(), tag: send.tag };
        self.heard = send.mark;
        if let Some(receive) = self.match_arrival(&envelope, send.data.len() as u64) {
            self.count_single_copy(send.data.len() as u64);
            if self.rule != Rule::Nsr {
                // Its receive came first, and is written to: what a request from oneself would bring about.
                self.count_remote_write(send.data.len() as u64);
            }
            self.fill(receive, send.data.part(0, send.data.len()), envelope.source, envelope.tag);
            return Ok(None);
        }
        let len = send.data.len() as u64;
        self.account(envelope.source, 0)?;
        let id = self.add_operation(Operation::Send(send));
        let key = self.store(envelope, len, Body::Local(id));
        if let Operation::Send(send) = &mut self.operations[id] {
            send.stage = Stage::Local { key };
        }
        Ok(Some(id))
    }
}
