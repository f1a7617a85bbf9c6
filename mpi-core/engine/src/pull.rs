//! Pulls: how a large message reaches its receive where nobody can read another's memory.
//!
//! It was announced, and waits at its sender. Once its receive is known the receiver hands out the memory for it and
//! says so; the sender writes there, then says that it has. So it costs a round trip and no copy, and however early it
//! is it takes no memory of the receiver's.
//!
//! Diverted messages end alike: they were sent as a whole, but when they began to arrive their receive was known.

use rwmpi_protocol::Envelope;
use rwmpi_transport::{Arrival, Fabric, ReadSpan, RemoteAddress, WriteSpan};

use super::arrivals::fault;
use super::operation::{Notice, ReceiveOperation, Stage, Writing};
use super::{Engine, Failure, Operation, OperationId, wire};
use crate::Mark;
use crate::buffer::owned_span_mut;

/// A message that was asked for, or placed directly, and is being written.
#[derive(Debug)]
pub(super) struct Pull {
    receive: OperationId,
    source: u32,
    tag: u32,
    /// Length of the message, whether or not all of it has room.
    len: u64,
    address: RemoteAddress,
    /// Where it comes to first, if its buffer does not lie side by side.
    beside: Vec<u8>,
}

/// What a sender is told that waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// The message with that number is matched, and fetched if it was announced.
    Matched(u32),
    /// It is to be written where that pull says.
    Pull { number: u32, key: u32 },
}

impl<F: Fabric> Engine<F> {
    /// Asks `source` for the message that it has announced with that number.
    pub(super) fn pull(
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

    /// A message has begun to arrive as a whole: if its receive is known, it goes straight there. False if not.
    pub(super) fn place_directly(&mut self, source: u32, arrival: &Arrival) -> bool {
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

    /// Hands out memory for `taken` bytes of a message to a receive: its buffer's, or such as lies beside.
    fn make_room(&mut self, id: OperationId, source: u32, tag: u32, len: u64, taken: usize) -> u32 {
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
    pub(super) fn pull_address(&self, key: u32) -> RemoteAddress {
        self.pulls[key as usize].address
    }

    /// `peer` asks for a message that was announced to it.
    pub(super) fn pulled(
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

    /// `source` has written what a pull asked for.
    pub(super) fn pull_done(&mut self, source: u32, key: u32, space: u64) -> Result<(), Failure> {
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
    pub(super) fn take_back_pull(&mut self, id: OperationId) -> bool {
        let Some(key) = self.pulls.iter().find_map(|(key, pull)| (pull.receive == id).then_some(key)) else {
            return true;
        };
        let Pull { source, address, .. } = self.pulls.remove(key);
        self.fabric.withdraw(source as usize, &address)
    }
}
