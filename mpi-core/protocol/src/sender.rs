//! The sending half of the protocol, for one destination: may this message be written straight into the receiver's
//! buffer?

use std::collections::VecDeque;

use crate::{Counters, Envelope, RequestForSend, Rule};

/// The way a message is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Answer this request by remote write. Where requests have claim words the word must be taken first; if somebody
    /// else has it, [`Sender::claim_lost`] and choose again.
    Write(RequestForSend),
    /// Through the FIFO; then [`Sender::on_fifo`].
    Fifo(Fifo),
}

/// How firm the choice of the FIFO is, should the message have to wait for room there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fifo {
    /// It may choose again, or be withdrawn.
    Open,
    /// A request was declined for this message, which is now the one that completes that receive: it has to go, and
    /// this way.
    Declined,
    /// As [`Fifo::Declined`]; and the receiver pairs the two as well, so that the message need not be remembered.
    Settled,
}

const FIFO: Choice = Choice::Fifo(Fifo::Open);

/// What became of a request that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// Kept until a message answers it.
    Held,
    /// A message on its way through the FIFO completes that receive.
    Paired,
}

/// A message that the receiver may not have dealt with yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unaccepted {
    position: u64,
    context: u32,
    tag: u32,
}

impl Unaccepted {
    fn matches(&self, request: &RequestForSend) -> bool {
        self.position >= request.accepted
            && self.context == request.context
            && request.tag.is_none_or(|tag| tag == self.tag)
    }
}

/// What a sender knows about one destination.
#[derive(Clone, Debug)]
pub struct Sender {
    rule: Rule,
    /// Requests that arrived and were neither answered nor discarded, in the order of posting.
    requests: VecDeque<RequestForSend>,
    /// SR: the request number that may be answered next.
    next_request: u32,
    /// SR: where in the FIFO the cell after the latest message stands.
    sent_up_to: u64,
    /// AUTO: messages in the FIFO whose receive is not known, in order. Every short message is added here, and they
    /// leave by the hundred.
    unaccepted: Vec<Unaccepted>,
    counters: Counters,
}

impl Sender {
    /// Nothing sent, no request seen.
    pub fn new(rule: Rule) -> Self {
        Sender {
            rule,
            requests: VecDeque::new(),
            next_request: 0,
            sent_up_to: 0,
            unaccepted: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a request is held that a message might answer.
    pub fn holds_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Whether one of them is for such a message.
    pub fn holds_request_for(&self, envelope: &Envelope) -> bool {
        self.requests.iter().any(|request| request.matches(envelope))
    }

    /// How many messages are remembered until the receiver is known to have dealt with them.
    pub fn unaccepted(&self) -> usize {
        self.unaccepted.len()
    }

    /// The *next request number* that every message through the FIFO carries (SR).
    pub fn next_request(&self) -> u32 {
        self.next_request
    }

    /// The receiver has dealt with the first `accepted` cells of the FIFO.
    pub fn accepted(&mut self, accepted: u64) {
        let dealt_with = self.unaccepted.partition_point(|message| message.position < accepted);
        self.unaccepted.drain(..dealt_with);
    }

    /// A request has arrived.
    pub fn on_request(&mut self, request: RequestForSend) -> RequestFate {
        if let Rule::Auto { claims } = self.rule {
            self.accepted(request.accepted);
            if !claims && let Some(crossed) = self.unaccepted.iter().position(|message| message.matches(&request)) {
                // Both sides compute the same pairs: that message completes that receive.
                self.unaccepted.remove(crossed);
                self.counters.stale += 1;
                return RequestFate::Paired;
            }
        }
        self.requests.push_back(request);
        RequestFate::Held
    }

    /// Decides the way of a message of `len` bytes. `worth`: a remote write is wanted if it is possible (ignored in SR,
    /// where it always is).
    pub fn choose(&mut self, envelope: &Envelope, len: u64, worth: bool) -> Choice {
        match self.rule {
            Rule::Nsr => FIFO,
            Rule::Sr => self.choose_by_serial(envelope, len),
            Rule::Auto { claims } => self.choose_by_pairing(envelope, len, worth, claims),
        }
    }

    /// The thesis's test: a request is answered if it is fresh and successive; all others are discarded as they are
    /// met.
    fn choose_by_serial(&mut self, envelope: &Envelope, len: u64) -> Choice {
        while let Some(request) = self.requests.pop_front() {
            let fresh = request.accepted >= self.sent_up_to;
            let successive = request.serial == self.next_request;
            if !fresh {
                self.counters.stale += 1;
            } else if !successive {
                self.counters.skipped += 1;
            } else if !request.matches(envelope) || len > request.capacity() {
                self.counters.dropped += 1;
            } else {
                self.next_request = request.serial.wrapping_add(1);
                self.counters.used += 1;
                return Choice::Write(request);
            }
        }
        FIFO
    }

    fn choose_by_pairing(&mut self, envelope: &Envelope, len: u64, worth: bool, claims: bool) -> Choice {
        let Some(place) = self.requests.iter().position(|request| request.matches(envelope)) else {
            return FIFO;
        };
        let request = self.requests[place];
        // Without claim words no message that could take this receive is on its way: it would have been paired with it.
        if claims && self.unaccepted.iter().any(|message| message.matches(&request)) {
            return FIFO;
        }
        self.requests.remove(place);
        if worth && len <= request.capacity() {
            self.counters.used += 1;
            Choice::Write(request)
        } else {
            self.counters.dropped += 1;
            Choice::Fifo(if claims { Fifo::Declined } else { Fifo::Settled })
        }
    }

    /// The request that was just chosen belongs to somebody else by now.
    pub fn claim_lost(&mut self, request: &RequestForSend) {
        self.counters.used -= 1;
        self.counters.stale += 1;
        if self.rule == Rule::Sr {
            // Never answered, so the receiver has to post it, and all after it, again.
            self.next_request = request.serial;
        }
    }

    /// The receive of that request is about to be cancelled: from now on it is not answered.
    pub fn withdraw(&mut self, slot: u32, generation: u64) {
        self.requests.retain(|request| (request.slot, request.generation) != (slot, generation));
    }

    /// The message was put into the FIFO; its first cell stands at `position` there. `fifo` as [`Sender::choose`] said.
    #[inline]
    pub fn on_fifo(&mut self, envelope: &Envelope, position: u64, fifo: Fifo) {
        match self.rule {
            Rule::Nsr => {}
            Rule::Sr => self.sent_up_to = position + 1,
            Rule::Auto { .. } if fifo == Fifo::Settled => {}
            Rule::Auto { .. } => {
                let Envelope { context, tag, .. } = *envelope;
                self.unaccepted.push(Unaccepted { position, context, tag });
            }
        }
    }
}
