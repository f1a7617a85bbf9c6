//! Rendezvous by remote write: the sender writes into the receive, and says so by a cell.
//!
//! Two things tell it where. A request for send came before the message (`request`): then the slot of the receive is
//! the sender's, by its claim word or by the serial numbers. Or the message was announced where nobody can read
//! another's memory, and waits at its sender: once its receive is known the receiver hands out the memory for it and
//! says so, a *pull*. That costs a round trip and no copy, and however early the message is it takes no memory of the
//! receiver's.
//!
//! Messages that are placed directly end as pulls do: they were sent as a whole, but when they began to arrive their
//! receive was known.

use rwmpi_protocol::{Envelope, Pattern, RequestForSend};
use rwmpi_transport::{Arrival, Enqueue, Fabric, Header, Queue, ReadSpan, RemoteAddress, WriteSpan};

use crate::arrivals::fault;
use crate::buffer::owned_span_mut;
use crate::operation::{Left, Notice, Progress, ReceiveOperation, Stage, Transfer, Writing};
use crate::pieces::Source;
use crate::rendezvous::Answer;
use crate::select::MessageWay;
use crate::select::message::{self, Requested};
use crate::{Body, Engine, Failure, Mark, Operation, OperationId, wire};

/// A message that was asked for, or placed directly, and is being written.
#[derive(Debug)]
pub(crate) struct Pull {
    receive: OperationId,
    source: u32,
    tag: u32,
    /// Length of the message, whether or not all of it has room.
    len: u64,
    address: RemoteAddress,
    /// Where it comes to first, if its buffer does not lie side by side.
    beside: Vec<u8>,
}

/// By a request for send.
impl<F: Fabric> Engine<F> {
    /// Answers a request: writes the data into the receiver's buffer, with its help if they are many, then tells it so.
    pub(crate) fn write(
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

    /// The way of a message that `peer` has asked for.
    pub(crate) fn way_of_requested(&self, peer: u32, data: &Source) -> MessageWay {
        let span = data.span().filter(|_| self.claims_with(peer));
        let oversubscribed = self.fabric.is_oversubscribed();
        let message = Requested { len: data.len() as u64, can_share: span.is_some(), oversubscribed };
        let reach = || self.fabric.way_from(peer as usize, &self.fabric.address_of(span.unwrap_or(ReadSpan::EMPTY)));
        message::requested(&self.tuning, message, reach)
    }

    /// Goes on with a remote write by this rank alone, as far as there is room; says so when it is done.
    pub(crate) fn go_on_writing(
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
    pub(crate) fn notice_cell(&self, id: OperationId, writing: &Writing) -> (Header, [u8; 16], usize) {
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

    pub(crate) fn written(&mut self, source: u32, tag: u32, slot: u32, arrival: &Arrival) -> Result<(), Failure> {
        let body: [u8; size_of::<wire::Written>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Written { len, generation } = bytemuck::cast(body);
        let Some(id) = self.slots.receive(slot, generation) else {
            return Err(fault(source, "a notice for a receive that is not advertised"));
        };
        self.completed_by_sender(source, tag, slot, id, len);
        Ok(())
    }

    /// A receive whose request a sender has answered is complete.
    pub(crate) fn completed_by_sender(&mut self, source: u32, tag: u32, slot: u32, id: OperationId, len: u64) {
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
}

/// By a pull.
impl<F: Fabric> Engine<F> {
    /// A message whose data wait at the sender until they are asked for.
    pub(crate) fn offered(&mut self, envelope: &Envelope, len: u64, answer: u32) -> Result<(), Failure> {
        match self.match_arrival(envelope, len) {
            Some(id) => self.pull(id, envelope.source, envelope.tag, len, answer),
            None => {
                self.account(envelope.source, 0)?;
                self.store(*envelope, len, Body::Waiting { answer });
                Ok(())
            }
        }
    }

    /// Asks `source` for the message that it has announced with that number.
    pub(crate) fn pull(
        &mut self,
        id: OperationId,
        source: u32,
        tag: u32,
        len: u64,
        number: u32,
    ) -> Result<(), Failure> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        receive.buffer.expect(len);
        let taken = (receive.buffer.len() as u64).min(len) as usize;
        let key = self.make_room(id, source, tag, len, taken);
        self.answer(source, Answer::Pull { number, key })
    }

    /// Hands out memory for `taken` bytes of a message to a receive: its buffer's, or such as lies beside.
    pub(crate) fn make_room(&mut self, id: OperationId, source: u32, tag: u32, len: u64, taken: usize) -> u32 {
        let mut beside = Vec::new();
        let span = match &mut self.operations[id] {
            Operation::Receive(receive) => {
                receive.matched = true;
                receive.buffer.span().filter(|span| span.len() >= taken)
            }
            _ => None,
        };
        let into = span.map_or_else(
            || {
                beside.resize(taken, 0);
                owned_span_mut(&mut beside)
            },
            |span| span.part(0, taken),
        );
        let address = self.fabric.hand_out(source as usize, into);
        self.pulls.insert(Pull { receive: id, source, tag, len, address, beside }) as u32
    }

    /// Where the message of a pull is to be written.
    pub(crate) fn pull_address(&self, key: u32) -> RemoteAddress {
        self.pulls[key as usize].address
    }

    /// `peer` asks for a message that was announced to it.
    pub(crate) fn pulled(
        &mut self,
        peer: u32,
        id: OperationId,
        key: u32,
        target: RemoteAddress,
    ) -> Result<(), Failure> {
        let send = match self.operations.get_mut(id) {
            Some(Operation::Send(send)) if send.peer == peer && send.stage == Stage::Waiting && !send.exposed => send,
            _ => return Err(fault(peer, "asks for a message that was not announced")),
        };
        let whole = send.data.len();
        let len = whole.min(usize::try_from(target.len).unwrap_or(usize::MAX));
        send.stage = Stage::Writing(Box::new(Writing { target, written: 0, len, notice: Notice::Pull(key) }));
        self.answers_awaited -= 1;
        self.count_remote_write(whole as u64);
        self.count_single_copy(whole as u64);
        let asked_for = &mut self.peers[peer as usize].asked_for;
        asked_for.push_back(id);
        if asked_for.len() == 1 {
            self.backlog += 1;
            self.flush_asked_for(peer)?;
        }
        Ok(())
    }

    /// Goes on with what `peer` has asked for, one message after the other: what one has begun to write another cannot
    /// go on with.
    pub(crate) fn flush_asked_for(&mut self, peer: u32) -> Result<bool, Failure> {
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

    /// `source` has written what a pull asked for.
    pub(crate) fn pull_done(&mut self, source: u32, key: u32, space: u64) -> Result<(), Failure> {
        match self.pulls.get(key as usize) {
            Some(pull) if pull.source == source && pull.address.space == space => {}
            _ => return Err(fault(source, "wrote a message that nobody has asked for")),
        }
        let Pull { receive: id, tag, len, address, beside, .. } = self.pulls.remove(key as usize);
        self.fabric.withdraw(source as usize, &address);
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        let piece_len = receive.buffer.piece_len();
        let taken = beside.len().min(receive.buffer.len());
        for (number, piece) in beside[..taken].chunks(piece_len.max(1)).enumerate() {
            let read = |into: WriteSpan<'_>| ReadSpan::from(piece).copy_to(into);
            receive.buffer.put(number * piece_len, piece.len(), read);
        }
        let outcome = ReceiveOperation::outcome(receive.buffer.len(), source, tag, len);
        self.finish(id, outcome);
        Ok(())
    }

    /// The buffer of a receive is to be given back: nothing more may be written there. False if that can't be had.
    pub(crate) fn take_back_pull(&mut self, id: OperationId) -> bool {
        let Some(key) = self.pulls.iter().find_map(|(key, pull)| (pull.receive == id).then_some(key)) else {
            return true;
        };
        let Pull { source, address, .. } = self.pulls.remove(key);
        self.fabric.withdraw(source as usize, &address)
    }
}

/// By a message that has begun to arrive when its receive is known.
impl<F: Fabric> Engine<F> {
    /// A message has begun to arrive as a whole: if its receive is known, it goes straight there. False if not.
    pub(crate) fn place_directly(&mut self, source: u32, arrival: &Arrival) -> bool {
        let [_, context, tag, extra] = arrival.header;
        if wire::kind(&arrival.header) != wire::EAGER || self.peers[source as usize].stream.is_some() {
            return false;
        }
        self.heard = Mark::heard(arrival.header[0]);
        self.receiver.next_request(source, extra);
        let len = arrival.len as u64;
        let Some(id) = self.match_arrival(&Envelope { context, source, tag }, len) else { return false };
        if let Operation::Receive(receive) = &mut self.operations[id] {
            receive.buffer.expect(len);
        }
        let key = self.make_room(id, source, tag, len, arrival.len);
        let address = self.pull_address(key);
        let [low, high] = [address.space as u32, (address.space >> 32) as u32];
        self.fabric.place_directly(source as usize, &address, [wire::PLACED_DIRECTLY, key, low, high]);
        true
    }
}
