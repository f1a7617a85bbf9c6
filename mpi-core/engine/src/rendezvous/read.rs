//! Rendezvous by remote read: the sender announces where its data lie, the receiver reads them once their receive is
//! known, and answers.
//!
//! The sender's half is the first cell of the message (`send`) and the answer (`matched`).

use rwmpi_protocol::Envelope;
use rwmpi_transport::{Arrival, Fabric, Queue, Reading, RemoteAddress, WriteSpan};

use crate::operation::ReceiveOperation;
use crate::rendezvous::Answer;
use crate::select::MessageWay;
use crate::select::message;
use crate::{Body, Engine, Failure, Operation, OperationId, wire};

impl<F: Fabric> Engine<F> {
    /// The receiver has been told where the data of a send are.
    pub(crate) fn expose(&mut self, id: OperationId) {
        if let Operation::Send(send) = &mut self.operations[id] {
            send.exposed = true;
        }
    }

    pub(crate) fn announced(
        &mut self,
        envelope: &Envelope,
        next_request: u32,
        arrival: &Arrival,
    ) -> Result<(), Failure> {
        let source = envelope.source;
        self.message_begins(source, next_request)?;
        let body: [u8; size_of::<wire::Announce>()] = self.body(source, Queue::Messages, arrival)?;
        let wire::Announce { address, answer, .. } = bytemuck::cast(body);
        let address = wire::address(address);
        match self.match_arrival(envelope, address.len) {
            Some(id) => self.fetch(id, source, envelope.tag, &address, answer),
            None => {
                self.account(source, 0)?;
                self.store(*envelope, address.len, Body::Announced { address, answer });
                Ok(())
            }
        }
    }

    /// Reads an announced message out of the sender's memory.
    pub(crate) fn fetch(
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
}
