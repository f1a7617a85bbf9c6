//! Sending: which way a message takes, and pushing it there.

use rwmpi_protocol::{Choice, Envelope, Fifo, RequestForSend, Rule};
use rwmpi_transport::{Enqueue, Fabric, Header, PushError, Queue, ReadSpan};

use super::operation::{First, Left, Notice, SendOperation, Stage, Writing};
use super::pieces::{Scattered, Source};
use super::slots::{claimed, open};
use super::transfer::{Transfer, claim_word};
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Outgoing, SendMode, wire};
use crate::Mark;
use crate::select::MessageWay;
use crate::select::message::{self, Requested, Unrequested};

/// What became of an attempt to send.
enum Progress {
    /// The buffer may be used again.
    Done,
    /// The receiver will answer.
    Waiting,
    /// The same, once it has fetched the data.
    Announced,
    /// The same, unless it is long in coming.
    Left(Left),
    /// No room; go on later from this stage.
    Blocked(Stage),
}

/// Messages remembered as unaccepted before the sender looks how far the receiver has come.
const LOOK_AT_ACCEPTED: usize = if cfg!(test) { 3 } else { 256 };

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

    /// Pushes a small message, if nothing is in its way; its data are not needed any more then.
    #[inline(always)]
    pub(super) fn push_small(
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

    /// How much the next cell of a message carries at most, after so many bytes of it. Where payloads are passed, each
    /// cell costs as much as several KiB, so they are long, but for the first, which the receiver waits for idly.
    fn longest_piece(&self, peer: u32, sent: usize) -> usize {
        let most = self.fabric.max_payload(peer as usize);
        if sent == 0 && self.fabric.passable(peer as usize).most > 0 { most / 2 } else { most }
    }

    /// Pushes the data of a message that has begun.
    fn stream(
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

    /// Asks the protocol for the way, and takes the claim word where there is one. What is about to be copied waits as
    /// long for a request as the copy would take.
    fn choose(&mut self, peer: u32, envelope: &Envelope, len: u64, wants_copy: bool) -> Result<Choice, Failure> {
        let passable = || self.fabric.passable(peer as usize);
        let worth = message::looks_for_request(&self.tuning, self.rule, len, self.claims_with(peer), passable);
        if self.rule == Rule::Sr || (worth && !self.holds_answerable(peer, envelope)) {
            self.collect_requests(peer as usize)?;
        }
        if worth && (wants_copy || self.rule == Rule::Sr) && self.claims_with(peer) {
            self.await_request(peer, len)?;
        }
        if !self.peers[peer as usize].sender.holds_requests() {
            return Ok(Choice::Fifo(Fifo::Open));
        }
        if self.claims_with(peer) {
            self.look_at_accepted(peer)?;
        }
        loop {
            let choice = self.peers[peer as usize].sender.choose(envelope, len, worth);
            let Choice::Write(request) = choice else { return Ok(choice) };
            if !self.claims_with(peer) || self.claim(peer, request.slot, request.generation) {
                return Ok(choice);
            }
            self.peers[peer as usize].sender.claim_lost(&request);
        }
    }

    /// Whether a request is held that this message would answer whatever a look would find. Where there are claim
    /// words, looks are cheap, and what was accepted meanwhile counts.
    fn holds_answerable(&self, peer: u32, envelope: &Envelope) -> bool {
        !self.claims_with(peer) && self.peers[peer as usize].sender.holds_request_for(envelope)
    }

    /// Takes the claim word of a receive of `peer`.
    pub(super) fn claim(&mut self, peer: u32, slot: u32, generation: u64) -> bool {
        (slot as usize) < Self::slots_with_claims(&self.fabric)
            && self.fabric.swap_claim(peer as usize, claim_word(slot), open(generation), claimed(generation)).is_ok()
    }

    /// Forgets messages that the receiver has dealt with. Where there are no claim words, not before the requests are
    /// known that came ahead of this news: one of them may be for a receive that such a message has completed.
    fn look_at_accepted(&mut self, peer: u32) -> Result<(), Failure> {
        if let Some(accepted) = self.fabric.accepted(peer as usize) {
            if !self.claims_with(peer) {
                self.collect_requests(peer as usize)?;
            }
            self.peers[peer as usize].sender.accepted(accepted);
        }
        Ok(())
    }

    /// Answers a request: writes the data into the receiver's buffer, with its help if they are many, then tells it so.
    fn write(
        &mut self,
        id: OperationId,
        peer: u32,
        envelope: &Envelope,
        request: &RequestForSend,
        data: &mut Source,
    ) -> Result<Progress, Failure> {
        let len = data.len() as u64;
        self.count_remote_write(len);
        self.count_single_copy(len);
        let RequestForSend { slot, generation, .. } = *request;
        let transfer = Transfer { owner: peer, slot, generation, len };
        let target = wire::address(request.target);
        let way = self.way_of_requested(peer, data);
        if way != MessageWay::Write
            && let Some(data) = data.span()
            && self.invite(id, peer, &transfer, data)?
        {
            let is_left =
                way == MessageWay::Left || (!self.fabric.is_oversubscribed() && self.policy.leaves(peer, len));
            self.tell_way(if is_left { MessageWay::Left } else { MessageWay::Both }, peer, envelope, len);
            if is_left {
                return Ok(Progress::Left(Left { transfer, target }));
            }
            if !self.write_chunks(&transfer, &target, data)? {
                return Ok(Progress::Waiting);
            }
            self.notify_written(&transfer, id, Some(id))?;
            return Ok(Progress::Done);
        }
        self.tell_way(MessageWay::Write, peer, envelope, len);
        let writing = Writing { target, written: 0, len: data.len(), notice: Notice::Request(transfer) };
        self.go_on_writing(id, peer, writing, data)
    }

    /// Goes on with a remote write by this rank alone, as far as there is room; says so when it is done.
    fn go_on_writing(
        &mut self,
        id: OperationId,
        peer: u32,
        mut writing: Writing,
        data: &mut Source,
    ) -> Result<Progress, Failure> {
        let (piece_len, target) = (data.piece_len().max(1), writing.target);
        // This is the first in the queue, or a pull, and pulls end in any order: nothing queued has to come before it.
        let (header, payload, len) = self.notice_cell(id, &writing);
        while writing.written < writing.len {
            let offset = writing.written;
            let piece = data.part(offset, piece_len.min(writing.len - offset));
            let notice = rwmpi_transport::Notice { header, payload: payload[..len].into() };
            let notice = Some(notice).filter(|_| offset + piece.len() == writing.len);
            let written = self.fabric.remote_write(peer as usize, &target, offset as u64, piece, notice);
            let written = written.map_err(|error| Failure::Remote { peer, error })?;
            writing.written += written.len;
            if written.len < piece.len() {
                return Ok(Progress::Blocked(Stage::Writing(Box::new(writing))));
            }
            if written.told {
                return Ok(Progress::Done);
            }
        }
        self.push_cell(peer, header, &payload[..len], Some(id))?;
        Ok(Progress::Done)
    }

    /// What tells the receiver that a write is complete.
    fn notice_cell(&self, id: OperationId, writing: &Writing) -> (Header, [u8; 16], usize) {
        match &writing.notice {
            Notice::Request(transfer) => {
                let (header, written) = self.written_cell(transfer, id);
                (header, bytemuck::cast(written), size_of::<wire::Written>())
            }
            Notice::Pull(key) => {
                let space = [writing.target.space, 0];
                ([wire::PULLED, *key, 0, 0], bytemuck::cast(space), size_of::<u64>())
            }
        }
    }

    /// Goes on with what `peer` has asked for, one message after the other: what one has begun to write another cannot
    /// go on with.
    pub(super) fn flush_asked_for(&mut self, peer: u32) -> Result<bool, Failure> {
        let mut any = false;
        while let Some(&id) = self.peers[peer as usize].asked_for.front() {
            let before = self.stage(id);
            self.advance_send(id, Enqueue::Retry)?;
            let after = self.stage(id);
            any |= before != after;
            if after.is_some() {
                break;
            }
            let asked_for = &mut self.peers[peer as usize].asked_for;
            asked_for.pop_front();
            self.backlog -= usize::from(asked_for.is_empty());
        }
        Ok(any)
    }

    /// The way of a message that `peer` has asked for.
    fn way_of_requested(&self, peer: u32, data: &Source) -> MessageWay {
        let span = data.span().filter(|_| self.claims_with(peer));
        let oversubscribed = self.fabric.is_oversubscribed();
        let message = Requested { len: data.len() as u64, can_share: span.is_some(), oversubscribed };
        let reach = || self.fabric.way_from(peer as usize, &self.fabric.address_of(span.unwrap_or(ReadSpan::EMPTY)));
        message::requested(&self.tuning, message, reach)
    }

    /// Tells the receiver that it may help to write into its buffer; false if it can't.
    fn invite(
        &mut self,
        id: OperationId,
        peer: u32,
        transfer: &Transfer,
        data: ReadSpan<'static>,
    ) -> Result<bool, Failure> {
        let address = self.fabric.address_of(data);
        if self.fabric.way_from(peer as usize, &address).is_none() {
            return Ok(false);
        }
        let body = wire::Sharing { address: wire::address_words(&address), generation: transfer.generation };
        let header = [wire::WRITING | self.mark_of(id).word(), transfer.slot, self.tag_of(id), id];
        let invited = self.try_push(peer, Enqueue::Next, header, bytemuck::bytes_of(&body).into())?;
        if invited {
            self.expose(id);
        }
        Ok(invited)
    }

    /// The receiver has been told where the data of a send are.
    fn expose(&mut self, id: OperationId) {
        if let Operation::Send(send) = &mut self.operations[id] {
            send.exposed = true;
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
