//! Requests for send: a receiver that is early tells senders where its buffer lies (thesis section 3.2).
//!
//! A request travels in the queue of requests and names a slot. Where peers share memory the slot has a claim word, and
//! who takes it completes the receive: the sender that answers, or the receiver for a message from the FIFO or to
//! cancel. Elsewhere the serial numbers of the protocol decide, and a receive is cancelled by asking the sender to
//! forget its request.

use rwmpi_protocol::{Choice, Envelope, Fifo, Pattern, RequestForSend, Rule};
use rwmpi_transport::{Enqueue, Fabric, Header, Queue, ReadSpan, WriteSpan};

use crate::operation::ReceiveOperation;
use crate::rendezvous::claim_word;
use crate::select::message;
use crate::slots::{claimed, open};
use crate::{Completion, Engine, Failure, Operation, OperationId, wire};

/// Messages remembered as unaccepted before the sender looks how far the receiver has come.
pub(crate) const LOOK_AT_ACCEPTED: usize = if cfg!(test) { 3 } else { 256 };

/// The receiver asks.
impl<F: Fabric> Engine<F> {
    /// Whether receives of up to `capacity` bytes may be advertised, so that it pays to post them before the message is
    /// sent.
    #[inline]
    pub fn advertises(&self, capacity: usize) -> bool {
        message::may_advertise(&self.tuning, self.rule, capacity as u64)
    }

    /// Whether it is worth it to advertise a receive that might be. If so, what has arrived is dealt with before it is
    /// posted, so that the request is fresh; if not, it is left in the queue, as it may be for this very receive, which
    /// can take it from there.
    pub(crate) fn prepare_to_post(&mut self, pattern: Pattern, buffer: WriteSpan<'static>) -> Result<bool, Failure> {
        if pattern.source == Some(self.me()) {
            return Ok(false);
        }
        let worth = !matches!(self.rule, Rule::Auto { .. })
            || match pattern.source {
                Some(source) => {
                    let way = self.fabric.way_from(source as usize, &self.fabric.address_of(buffer.as_read()));
                    let passable = self.fabric.passable_from(source as usize);
                    message::advertises(&self.tuning, buffer.len() as u64, way, passable) && self.policy.answers(source)
                }
                None => {
                    let group = self.groups.get(&pattern.context).filter(|_| self.claims_with_sources(&pattern));
                    group.is_some_and(|group| message::advertises_to_all(&self.tuning, group.len()))
                }
            };
        if worth {
            match pattern.source {
                Some(source) => self.drain(source as usize)?,
                None => self.progress()?,
            };
        }
        Ok(worth)
    }

    /// Sends the requests that the protocol has decided on.
    #[inline]
    pub(crate) fn advertise(&mut self) -> Result<(), Failure> {
        if self.receiver.has_advertisements() { self.send_advertisements() } else { Ok(()) }
    }

    pub(crate) fn send_advertisements(&mut self) -> Result<(), Failure> {
        while let Some(advertisement) = self.receiver.next_advertisement() {
            let id = advertisement.receive;
            let sent = match advertisement.source {
                Some(source) => self.request_from(id, source, advertisement.serial),
                None => self.request_from_all(id),
            };
            if !sent {
                self.receiver.not_advertised(id);
            }
        }
        Ok(())
    }

    /// Sends a request to one source; false if that can't be done.
    pub(crate) fn request_from(&mut self, id: OperationId, source: u32, serial: u32) -> bool {
        let Operation::Receive(receive) = &self.operations[id] else { return false };
        let (pattern, Some(buffer)) = (receive.pattern, receive.buffer.span()) else { return false };
        if receive.withdrawing {
            return false;
        }
        let address = self.fabric.address_of(buffer.as_read());
        if self.fabric.way_from(source as usize, &address).is_none() {
            return false;
        }
        let Some((slot, generation)) = self.slot_of(id) else { return false };
        let address = self.slots.handed_out_to(slot, source).unwrap_or_else(|| {
            let address = self.fabric.hand_out(source as usize, buffer);
            self.slots.hand_out_to(slot, source, address);
            address
        });
        let accepted = self.fabric.popped(source as usize);
        let request = RequestForSend {
            serial,
            accepted,
            context: pattern.context,
            tag: pattern.tag,
            slot,
            generation,
            target: wire::address_words(&address),
        };
        let (header, body) = wire::encode_request(&request);
        self.push(source, Queue::Requests, Enqueue::Retry, header, ReadSpan::from(&body[..])).is_ok()
    }

    pub(crate) fn request_from_all(&mut self, id: OperationId) -> bool {
        let Operation::Receive(receive) = &self.operations[id] else { return false };
        let Some(group) = self.groups.get(&receive.pattern.context).cloned() else { return false };
        let me = self.me();
        let mut sent_to_all = true;
        for &peer in group.iter().filter(|&&peer| peer != me) {
            sent_to_all &= self.request_from(id, peer, 0);
        }
        sent_to_all
    }

    /// The slot of a receive, taken on first use.
    pub(crate) fn slot_of(&mut self, id: OperationId) -> Option<(u32, u64)> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return None };
        if let Some(slot) = receive.slot {
            return Some((slot, self.slots.generation(slot)));
        }
        let (slot, generation) = self.slots.take(id)?;
        receive.slot = Some(slot);
        if self.claims() {
            self.prepare_transfer(slot, generation);
            self.fabric.set_claim(claim_word(slot), open(generation));
        }
        Some((slot, generation))
    }

    /// Gives a slot back: nobody may write to the buffer of its receive any more.
    pub(crate) fn give_back_slot(&mut self, slot: u32) {
        if let Some((source, address)) = self.slots.give_back(slot) {
            self.fabric.withdraw(source as usize, &address);
        }
    }

    /// A large message that came in one piece counts in favour of advertising.
    pub(crate) fn note_hit(&mut self, source: u32, len: u64) {
        if message::is_worth_a_request(&self.tuning, len) {
            self.policy.hit(source);
        }
    }
}

/// The sender looks for a request that it may answer.
impl<F: Fabric> Engine<F> {
    /// Asks the protocol for the way, and takes the claim word where there is one. What is about to be copied waits as
    /// long for a request as the copy would take.
    pub(crate) fn choose(
        &mut self,
        peer: u32,
        envelope: &Envelope,
        len: u64,
        wants_copy: bool,
    ) -> Result<Choice, Failure> {
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
    pub(crate) fn holds_answerable(&self, peer: u32, envelope: &Envelope) -> bool {
        !self.claims_with(peer) && self.peers[peer as usize].sender.holds_request_for(envelope)
    }

    /// Takes the claim word of a receive of `peer`.
    pub(crate) fn claim(&mut self, peer: u32, slot: u32, generation: u64) -> bool {
        (slot as usize) < Self::slots_with_claims(&self.fabric)
            && self.fabric.swap_claim(peer as usize, claim_word(slot), open(generation), claimed(generation)).is_ok()
    }

    /// Forgets messages that the receiver has dealt with. Where there are no claim words, not before the requests are
    /// known that came ahead of this news: one of them may be for a receive that such a message has completed.
    pub(crate) fn look_at_accepted(&mut self, peer: u32) -> Result<(), Failure> {
        if let Some(accepted) = self.fabric.accepted(peer as usize) {
            if !self.claims_with(peer) {
                self.collect_requests(peer as usize)?;
            }
            self.peers[peer as usize].sender.accepted(accepted);
        }
        Ok(())
    }
}

/// The receiver takes its receive back.
impl<F: Fabric> Engine<F> {
    /// Takes the claim word of an own receive, if it has one: false if a sender was faster.
    #[inline]
    pub(crate) fn take_own_claim(&mut self, id: OperationId) -> bool {
        match &self.operations[id] {
            Operation::Receive(ReceiveOperation { slot: Some(slot), .. }) => {
                let slot = *slot;
                self.take_claim(slot)
            }
            _ => true,
        }
    }

    pub(crate) fn take_claim(&mut self, slot: u32) -> bool {
        let me = self.fabric.me();
        let generation = self.slots.generation(slot);
        !self.claims() || self.fabric.swap_claim(me, claim_word(slot), open(generation), claimed(generation)).is_ok()
    }

    pub(crate) fn ask_to_forget(&mut self, id: OperationId, slot: u32, source: u32) -> Result<(), Failure> {
        let Operation::Receive(receive) = &mut self.operations[id] else { return Ok(()) };
        if std::mem::replace(&mut receive.withdrawing, true) {
            return Ok(());
        }
        let header = wire::withdrawal(wire::WITHDRAW, slot, self.slots.generation(slot));
        self.push_cell(source, header, &[], None)
    }

    /// A receiver is about to cancel a receive: forgets its request, which came before.
    pub(crate) fn forget_request(&mut self, source: u32, header: &Header) -> Result<(), Failure> {
        self.collect_requests(source as usize)?;
        let (slot, generation) = wire::withdrawn_slot(header);
        self.peers[source as usize].sender.withdraw(slot, generation);
        self.push_cell(source, wire::withdrawal(wire::WITHDRAWN, slot, generation), &[], None)
    }

    /// The sender has forgotten the request of a receive that is to be cancelled.
    pub(crate) fn forgotten(&mut self, slot: u32, generation: u64) {
        let Some(id) = self.slots.receive(slot, generation) else { return };
        if let Operation::Receive(ReceiveOperation { withdrawing: true, matched: false, .. }) = self.operations[id] {
            self.receiver.cancel(id);
            self.give_back_slot(slot);
            self.finish(id, Ok(Completion::CANCELLED));
        }
    }
}
