//! The state of all ranks, and the steps that lead from one to the next.

use std::collections::VecDeque;

use rwmpi_protocol::{
    Choice, Counters, Envelope, Fifo, Pattern, Posting, ReceiveId, Receiver, RequestForSend, Rule, Sender,
};

use super::oracle::MessageName;
use super::{Fault, Program};

/// Cells in a queue for messages, and in a queue for requests.
const MESSAGES: usize = 2;
const REQUESTS: usize = 2;
/// Cells by which a sender's knowledge of what was accepted lags behind, at the most.
const CONTEXT: u32 = 0;
/// No rank notes this.
const END_OF_HISTORY: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
enum Cell {
    Message {
        number: usize,
        tag: u32,
        next_request: u32,
    },
    Written {
        receive: ReceiveId,
        number: usize,
    },
    /// The sender has forgotten the request of that receive.
    Withdrawn {
        receive: ReceiveId,
    },
}

/// A sender in the middle of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// It has decided to write; the bytes have not moved.
    Writing(RequestForSend),
    /// The bytes have moved; the notice has not left.
    Notifying(RequestForSend),
}

#[derive(Clone, Debug)]
struct SenderState {
    protocol: Sender,
    /// The next message.
    next: usize,
    stage: Stage,
    /// Cells that were pushed and popped so far.
    pushed: u64,
    popped: u64,
    messages: VecDeque<Cell>,
    requests: VecDeque<RequestForSend>,
    /// Receives whose requests it is asked to forget. They travel with the messages of the other direction, behind
    /// those requests.
    withdrawals: VecDeque<ReceiveId>,
    history: Vec<u8>,
}

/// One step of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The sender looks at its requests and sends the next message, or decides to write it.
    Send { sender: usize },
    /// The bytes of a remote write move.
    Write { sender: usize },
    /// The notice of a remote write leaves.
    Notify { sender: usize },
    /// The receiver posts its next receive.
    Post,
    /// The receiver deals with the oldest cell from a sender.
    Arrive { sender: usize },
    /// The receiver cancels a receive, or asks its sender to forget it.
    Cancel { receive: usize },
    /// The sender forgets the request of a receive that is to be cancelled, and says so.
    Forget { sender: usize },
}

/// What has become of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffer {
    NotPosted,
    Waiting,
    /// Bytes were written; the notice is on its way.
    Written(MessageName),
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct World<'a> {
    program: &'a Program,
    senders: Vec<SenderState>,
    receiver: Receiver,
    posted: usize,
    buffers: Vec<Buffer>,
    /// Claim word of each receive: taken or not.
    claimed: Vec<bool>,
    /// Whether a request was ever sent for the receive.
    advertised: Vec<bool>,
    /// Whether the sender was asked to forget it.
    withdrawing: Vec<bool>,
    /// Unexpected messages by the protocol's number.
    unexpected: Vec<Option<MessageName>>,
    /// Messages came out of that sender's FIFO since requests were last posted again.
    refresh: Vec<bool>,
    history: Vec<u8>,
    pub(super) matches: Vec<Option<MessageName>>,
    pub(super) cancelled: Vec<bool>,
    pub(super) lost_claims: u64,
    pub(super) steps: Vec<Step>,
}

impl<'a> World<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let count = program.receives.len();
        let sender = |_| SenderState {
            protocol: Sender::new(program.rule),
            next: 0,
            stage: Stage::Idle,
            pushed: 0,
            popped: 0,
            messages: VecDeque::new(),
            requests: VecDeque::new(),
            withdrawals: VecDeque::new(),
            history: Vec::new(),
        };
        World {
            senders: (0..program.sends.len()).map(sender).collect(),
            receiver: Receiver::new(program.rule, program.sends.len()),
            posted: 0,
            buffers: vec![Buffer::NotPosted; count],
            claimed: vec![false; count],
            advertised: vec![false; count],
            withdrawing: vec![false; count],
            unexpected: Vec::new(),
            refresh: vec![false; program.sends.len()],
            history: Vec::new(),
            matches: vec![None; count],
            cancelled: vec![false; count],
            lost_claims: 0,
            steps: Vec::new(),
            program,
        }
    }

    /// What distinguishes this state from all others.
    pub(super) fn name(&self) -> Vec<u8> {
        let histories = self.senders.iter().map(|sender| &sender.history[..]).chain([&self.history[..]]);
        histories.collect::<Vec<_>>().join(&END_OF_HISTORY)
    }

    pub(super) fn totals(&self) -> Counters {
        let mut totals = self.receiver.counters();
        self.senders.iter().for_each(|sender| totals += sender.protocol.counters());
        totals
    }

    fn claims(&self) -> bool {
        matches!(self.program.rule, Rule::Auto { claims: true })
    }

    fn fault(&self, fault: Fault) -> bool {
        self.program.fault == Some(fault)
    }

    pub(super) fn enabled(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (sender, state) in self.senders.iter().enumerate() {
            let room = state.messages.len() < MESSAGES;
            match state.stage {
                // A message that finds no room stays where it is; nothing overtakes it.
                Stage::Idle if state.next < self.program.sends[sender].len() && room => {
                    steps.push(Step::Send { sender })
                }
                Stage::Idle => {}
                Stage::Writing(_) => steps.push(Step::Write { sender }),
                Stage::Notifying(_) if room => steps.push(Step::Notify { sender }),
                Stage::Notifying(_) => {}
            }
            if !state.messages.is_empty() {
                steps.push(Step::Arrive { sender });
            }
            if !state.withdrawals.is_empty() && state.stage == Stage::Idle && room {
                steps.push(Step::Forget { sender });
            }
        }
        if self.posted < self.program.receives.len() {
            steps.push(Step::Post);
        }
        for (receive, script) in self.program.receives.iter().enumerate() {
            if script.cancel
                && !self.cancelled[receive]
                && !self.withdrawing[receive]
                && self.buffers[receive] == Buffer::Waiting
                && !self.taken(receive)
            {
                steps.push(Step::Cancel { receive });
            }
        }
        steps
    }

    /// Whether a sender has claimed the receive.
    fn taken(&self, receive: usize) -> bool {
        self.claims() && self.claimed[receive]
    }

    pub(super) fn take(&mut self, step: Step) -> Result<(), String> {
        self.steps.push(step);
        match step {
            Step::Send { sender } => self.send(sender),
            Step::Write { sender } => self.write(sender),
            Step::Notify { sender } => self.notify(sender),
            Step::Post => self.post(),
            Step::Arrive { sender } => self.arrive(sender),
            Step::Cancel { receive } => self.cancel(receive),
            Step::Forget { sender } => self.forget(sender),
        }
    }

    fn send(&mut self, sender: usize) -> Result<(), String> {
        let send = self.program.sends[sender][self.senders[sender].next];
        let envelope = Envelope { context: CONTEXT, source: 0, tag: send.tag };
        if send.large || self.program.rule == Rule::Sr {
            self.collect_requests(sender);
        }
        let state = &mut self.senders[sender];
        state.history.push(10 + state.requests.len() as u8);
        if self.program.rule == (Rule::Auto { claims: true }) {
            state.protocol.accepted(state.popped);
            state.history.push(20 + state.popped as u8);
        }
        let choice = loop {
            match self.senders[sender].protocol.choose(&envelope, 1, send.large) {
                Choice::Write(request) if !self.claim(request.slot as usize) => {
                    self.lost_claims += 1;
                    self.senders[sender].history.push(1);
                    self.senders[sender].protocol.claim_lost(&request);
                }
                choice => break choice,
            }
        };
        let forgets = self.fault(Fault::ForgetsTheFifo);
        let state = &mut self.senders[sender];
        state.history.push(2);
        match choice {
            Choice::Write(request) if self.program.fault == Some(Fault::NoticeBeforeBytes) => {
                state.stage = Stage::Notifying(request);
            }
            Choice::Write(request) => state.stage = Stage::Writing(request),
            Choice::Fifo(fifo) => {
                let fifo = if forgets { Fifo::Settled } else { fifo };
                state.protocol.on_fifo(&envelope, state.pushed, fifo);
                let next_request = state.protocol.next_request();
                state.messages.push_back(Cell::Message { number: state.next, tag: send.tag, next_request });
                state.pushed += 1;
                state.next += 1;
            }
        }
        Ok(())
    }

    fn collect_requests(&mut self, sender: usize) {
        let fault = self.program.fault;
        let state = &mut self.senders[sender];
        state.history.push(30 + state.requests.len() as u8);
        for mut request in std::mem::take(&mut state.requests) {
            if fault == Some(Fault::IgnoresFreshness) {
                request.accepted = u64::MAX;
            }
            if fault == Some(Fault::IgnoresSuccession) {
                request.serial = state.protocol.next_request();
            }
            state.protocol.on_request(request);
        }
    }

    /// Takes the claim word of a receive; without claim words, and in the broken variant, everybody gets it.
    fn claim(&mut self, receive: usize) -> bool {
        !self.claims()
            || !std::mem::replace(&mut self.claimed[receive], true)
            || self.fault(Fault::ClaimsAreAlwaysGranted)
    }

    fn write(&mut self, sender: usize) -> Result<(), String> {
        let state = &mut self.senders[sender];
        let Stage::Writing(request) = state.stage else { return Err("a write that was not decided".into()) };
        let receive = request.slot as usize;
        state.history.push(3);
        state.stage = Stage::Notifying(request);
        if self.buffers[receive] != Buffer::Waiting {
            return Err(format!("sender {sender} writes into buffer {receive}, which is {:?}", self.buffers[receive]));
        }
        self.buffers[receive] = Buffer::Written((sender, state.next));
        Ok(())
    }

    fn notify(&mut self, sender: usize) -> Result<(), String> {
        let state = &mut self.senders[sender];
        let Stage::Notifying(request) = state.stage else { return Err("a notice without a write".into()) };
        state.history.push(4);
        state.messages.push_back(Cell::Written { receive: request.slot, number: state.next });
        state.pushed += 1;
        state.next += 1;
        state.stage = Stage::Idle;
        Ok(())
    }

    fn post(&mut self) -> Result<(), String> {
        let place = self.posted;
        let script = self.program.receives[place];
        self.posted += 1;
        self.history.push(1);
        self.buffers[place] = Buffer::Waiting;
        let pattern = Pattern { context: CONTEXT, source: script.source, tag: script.tag };
        let worth = script.large && (script.source.is_some() || self.claims());
        match self.receiver.post(place as ReceiveId, pattern, worth) {
            Posting::Matched(message, _) => {
                let name = self.unexpected[message as usize].take().ok_or("an unexpected message without a body")?;
                self.complete(place, name)
            }
            Posting::Posted => {
                self.advertise();
                if self.fault(Fault::ForgetsTheFence) && worth && !self.advertised[place] {
                    let source = script.source.unwrap_or(0) as usize;
                    self.request(place, source, 0);
                }
                Ok(())
            }
        }
    }

    fn advertise(&mut self) {
        while let Some(advertisement) = self.receiver.next_advertisement() {
            let place = advertisement.receive as usize;
            let sent = match advertisement.source {
                Some(source) => self.request(place, source as usize, advertisement.serial),
                None => {
                    let mut sent_to_all = true;
                    for source in 0..self.senders.len() {
                        sent_to_all &= self.request(place, source, 0);
                    }
                    sent_to_all
                }
            };
            if !sent {
                self.receiver.not_advertised(advertisement.receive);
            }
        }
    }

    fn request(&mut self, place: usize, source: usize, serial: u32) -> bool {
        let state = &mut self.senders[source];
        let room = state.requests.len() < REQUESTS && !self.withdrawing[place];
        self.history.push(100 + u8::from(room));
        if room {
            self.advertised[place] = true;
            state.requests.push_back(RequestForSend {
                serial,
                accepted: state.popped,
                context: CONTEXT,
                tag: self.program.receives[place].tag,
                slot: place as u32,
                generation: 0,
                target: [0, 0, 1],
            });
        }
        room
    }

    fn arrive(&mut self, sender: usize) -> Result<(), String> {
        let state = &mut self.senders[sender];
        let cell = state.messages.pop_front().ok_or("nothing has arrived")?;
        self.history.push(40 + sender as u8);
        match cell {
            Cell::Message { number, tag, next_request } => {
                self.refresh[sender] = true;
                self.receiver.next_request(sender as u32, next_request);
                self.deliver((sender, number), Envelope { context: CONTEXT, source: sender as u32, tag })?;
            }
            Cell::Written { receive, number } => {
                let place = receive as usize;
                if self.buffers[place] != Buffer::Written((sender, number)) {
                    return Err(format!("a notice for buffer {place}, which is {:?}", self.buffers[place]));
                }
                self.receiver.written(receive, sender as u32);
                self.buffers[place] = Buffer::Waiting;
                self.complete(place, (sender, number))?;
            }
            Cell::Withdrawn { receive } if self.buffers[receive as usize] != Buffer::Done => {
                self.cancelled_now(receive as usize)?;
            }
            // A message was there first.
            Cell::Withdrawn { .. } => {}
        }
        self.senders[sender].popped += 1;
        if self.senders[sender].messages.is_empty() && std::mem::take(&mut self.refresh[sender]) {
            self.receiver.drained(sender as u32);
        }
        self.advertise();
        Ok(())
    }

    fn deliver(&mut self, name: MessageName, envelope: Envelope) -> Result<(), String> {
        loop {
            let Some(receive) = self.receiver.candidate(&envelope) else {
                let message = self.receiver.store(envelope) as usize;
                if self.unexpected.len() <= message {
                    self.unexpected.resize(message + 1, None);
                }
                self.unexpected[message] = Some(name);
                self.history.push(50);
                return Ok(());
            };
            let place = receive as usize;
            if !self.fault(Fault::ReceiverDoesNotClaim) && self.advertised[place] && !self.claim(place) {
                self.lost_claims += 1;
                self.history.push(51);
                self.receiver.reserve(receive);
                continue;
            }
            self.history.push(60 + receive as u8);
            self.receiver.deliver(receive);
            return self.complete(place, name);
        }
    }

    fn complete(&mut self, place: usize, name: MessageName) -> Result<(), String> {
        if self.buffers[place] != Buffer::Waiting {
            return Err(format!("buffer {place} is filled while it is {:?}", self.buffers[place]));
        }
        self.buffers[place] = Buffer::Done;
        self.matches[place] = Some(name);
        Ok(())
    }

    fn cancel(&mut self, place: usize) -> Result<(), String> {
        self.history.push(80 + place as u8);
        if self.advertised[place] && !self.claims() && !self.fault(Fault::CancelsWithoutAsking) {
            let source = self.program.receives[place].source.ok_or("a receive from anybody was advertised")?;
            self.withdrawing[place] = true;
            self.senders[source as usize].withdrawals.push_back(place as ReceiveId);
            return Ok(());
        }
        if self.advertised[place] && !self.claim(place) {
            return Ok(());
        }
        self.cancelled_now(place)
    }

    fn forget(&mut self, sender: usize) -> Result<(), String> {
        self.collect_requests(sender);
        let remembers = self.fault(Fault::RemembersWhatWasWithdrawn);
        let state = &mut self.senders[sender];
        let receive = state.withdrawals.pop_front().ok_or("nothing to forget")?;
        state.history.push(90 + receive as u8);
        if !remembers {
            state.protocol.withdraw(receive, 0);
        }
        state.messages.push_back(Cell::Withdrawn { receive });
        state.pushed += 1;
        Ok(())
    }

    fn cancelled_now(&mut self, place: usize) -> Result<(), String> {
        if self.buffers[place] != Buffer::Waiting {
            return Err(format!("receive {place} is cancelled while its buffer is {:?}", self.buffers[place]));
        }
        self.receiver.cancel(place as ReceiveId);
        self.buffers[place] = Buffer::Done;
        self.cancelled[place] = true;
        self.advertise();
        Ok(())
    }
}
