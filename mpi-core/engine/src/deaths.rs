//! Peers that have died, and contexts that were revoked, in a job that goes on.
//!
//! Such a job has no requests for send, no announcements and no memory that peers read or write but rings (NSR,
//! docs/decisions/0078). So what a peer leaves behind when it dies is in the rings from it to this rank, which are read
//! to their end, and in this engine: its half of a message, and what waits for it or for room in its rings. All of that
//! comes to an end here as operations that have failed; nothing else is touched.
//!
//! In a job that does not go on a context can be revoked, too. There only what no peer can be using fails.

use rwmpi_protocol::{Fifo, Rule};
use rwmpi_transport::{Fabric, WriteSpan};

use super::operation::{ReceiveOperation, SendOperation, Stage};
use super::{Body, Engine, Failure, Operation, OperationId, Outgoing, Pattern, SendMode, Target};
use crate::Mark;
use crate::context::is_agreement;

/// The numbers by which receivers answer synchronous messages in such a job; those of operations are smaller. None is
/// used again, so a late answer to a message that was given up is known as such.
const FIRST_NUMBER: u32 = 1 << 31;

/// What an engine keeps in a job that goes on.
#[derive(Default)]
pub(super) struct Deaths {
    /// Whether it is in one.
    pub(super) goes_on: bool,
    dead: Vec<u32>,
    /// Operations that nobody will collect: what is left of messages that were given up.
    orphans: Vec<OperationId>,
    /// Synchronous messages by the numbers with which they will be answered.
    numbers: Vec<(u32, OperationId)>,
    last_number: u32,
}

impl<F: Fabric> Engine<F> {
    /// The job goes on when a peer dies.
    pub fn go_on_without_dead(&mut self) {
        self.deaths.goes_on = true;
        self.settle_short_cuts();
    }

    /// Whether the job goes on when a peer dies.
    pub(super) fn goes_on(&self) -> bool {
        self.deaths.goes_on
    }

    /// Refuses to send to that peer if it has died, be it only now that this rank hears of it.
    pub(super) fn refuse_dead(&mut self, peer: u32) -> Result<(), Failure> {
        if !self.deaths.goes_on {
            return Ok(());
        }
        if self.fabric.has_died(peer as usize) {
            self.bury(peer)?;
        }
        if self.is_dead(peer) { Err(Failure::Died { peer }) } else { Ok(()) }
    }

    /// Deals with all that has arrived from that peer, which sends nothing more.
    pub fn take_in(&mut self, peer: u32) -> Result<(), Failure> {
        self.check_alive()?;
        while self.drain(peer as usize)? {}
        self.collect_requests(peer as usize).map(drop)
    }

    /// That peer has died. What it had sent has its effect; what it had begun to send is lost. Done once.
    pub fn bury(&mut self, peer: u32) -> Result<(), Failure> {
        if self.deaths.dead.contains(&peer) {
            return Ok(());
        }
        self.take_in(peer)?;
        self.deaths.dead.push(peer);
        let state = &mut self.peers[peer as usize];
        let waiting = [!state.queued.is_empty(), !state.answers.is_empty(), !state.asked_for.is_empty()];
        self.backlog -= waiting.into_iter().filter(|&is_waiting| is_waiting).count();
        state.answers.clear();
        state.asked_for.clear();
        state.queued.clear();
        // Keeps messages out of their short cut.
        state.queued.push_back(Outgoing::ToNobody);
        match state.stream.take().map(|stream| stream.target) {
            Some(Target::Receive(id)) => self.finish(id, Err(Failure::Died { peer })),
            Some(Target::Unexpected(key)) => self.lose(key),
            None => {}
        }
        Ok(())
    }

    /// What is kept under that key will not be complete.
    fn lose(&mut self, key: usize) {
        let message = &mut self.unexpected[key];
        if matches!(message.body, Body::Stored { .. }) {
            self.unexpected_bytes -= message.len;
        }
        message.body = Body::Lost;
    }

    /// Whether nothing that is sent to that peer can arrive.
    pub(super) fn is_dead(&self, peer: u32) -> bool {
        matches!(self.peers[peer as usize].queued.front(), Some(Outgoing::ToNobody))
    }

    /// Ends operations that nobody can end any more, as a peer has died, or that are not to go on, as their context was
    /// revoked; true if there were any.
    pub fn fail_hopeless(&mut self, is_revoked: &dyn Fn(u32) -> bool) -> bool {
        let mut hopeless = Vec::new();
        for (id, operation) in self.operations.numbered() {
            let (peer, context, tag) = match operation {
                Operation::Send(send) => (Some(send.peer), send.context, Some(send.tag)),
                // What arrives from one that has died has come to its end by now.
                Operation::Receive(ReceiveOperation { pattern, .. }) => (pattern.source, pattern.context, pattern.tag),
                Operation::Done(_) => continue,
            };
            match peer.filter(|peer| self.deaths.dead.contains(peer)) {
                Some(peer) => hopeless.push((id, Failure::Died { peer })),
                None if is_revoked(context) && !is_agreement(tag) => hopeless.push((id, Failure::Revoked)),
                None => {}
            }
        }
        let mut any = false;
        for (id, failure) in hopeless {
            any |= self.fail_operation(id, failure);
        }
        let (orphans, operations) = (&mut self.deaths.orphans, &mut self.operations);
        orphans.retain(|&id| operations.take_outcome(id).is_none());
        any
    }

    /// Ends an operation with that failure, if no peer can be using its buffer: always in a job that goes on.
    pub fn fail_operation(&mut self, id: OperationId, failure: Failure) -> bool {
        match &self.operations[id] {
            Operation::Receive(receive) if receive.matched => self.fail_arriving(id, failure),
            Operation::Receive(ReceiveOperation { slot, .. }) => {
                let slot = *slot;
                if !self.take_own_claim(id) {
                    return false;
                }
                self.receiver.cancel(id);
                slot.into_iter().for_each(|slot| self.give_back_slot(slot));
                self.finish(id, Err(failure));
                true
            }
            Operation::Send(_) => self.fail_send(id, failure),
            Operation::Done(_) => false,
        }
    }

    /// The rest of what arrives for a receive goes nowhere.
    fn fail_arriving(&mut self, id: OperationId, failure: Failure) -> bool {
        if self.rule != Rule::Nsr {
            return false;
        }
        let is_its = |peer: &&mut super::Peer| matches!(peer.stream, Some(super::Stream { target: Target::Receive(to), .. }) if to == id);
        if let Some(super::Peer { stream: Some(stream), .. }) = self.peers.iter_mut().find(is_its) {
            let (pattern, buffer) = (Pattern { context: 0, source: None, tag: None }, WriteSpan::EMPTY.into());
            let rest =
                ReceiveOperation { pattern, buffer, slot: None, matched: true, withdrawing: false, mark: Mark::NONE };
            let orphan = self.operations.insert(|| Operation::Receive(rest));
            stream.target = Target::Receive(orphan);
            self.deaths.orphans.push(orphan);
        }
        self.finish(id, Err(failure));
        true
    }

    fn fail_send(&mut self, id: OperationId, failure: Failure) -> bool {
        let Operation::Send(SendOperation { peer, stage, .. }) = &self.operations[id] else { return false };
        let (peer, is_dead, stage) = (*peer, self.is_dead(*peer), stage.clone());
        match stage {
            Stage::Queued { fifo: Fifo::Open } if !is_dead => {
                let state = &mut self.peers[peer as usize];
                state.queued.retain(|outgoing| !matches!(outgoing, Outgoing::Message(other) if *other == id));
                self.backlog -= usize::from(state.queued.is_empty());
            }
            Stage::Local { key } => self.lose(key),
            _ if self.rule != Rule::Nsr => return false,
            Stage::Streaming { .. } if !is_dead => self.let_rest_leave(id, peer),
            _ if stage.is_with_receiver() => self.answers_awaited -= 1,
            _ => {}
        }
        self.deaths.numbers.retain(|&(_, of)| of != id);
        self.finish(id, Err(failure));
        true
    }

    /// The receiver has got a part of a message: the rest leaves from a copy.
    fn let_rest_leave(&mut self, id: OperationId, peer: u32) {
        self.copy_whole(id);
        let done = Operation::Done(Err(Failure::Revoked));
        let mut rest = std::mem::replace(&mut self.operations[id], done);
        if let Operation::Send(send) = &mut rest {
            send.mode = SendMode::InPlace;
        }
        let orphan = self.operations.insert(|| rest);
        for outgoing in &mut self.peers[peer as usize].queued {
            if let Outgoing::Message(other) = outgoing
                && *other == id
            {
                *other = orphan;
            }
        }
        self.deaths.orphans.push(orphan);
    }

    /// By which number a synchronous message is to be answered.
    pub(super) fn answer_number(&mut self, id: OperationId) -> u32 {
        if !self.deaths.goes_on {
            return id;
        }
        let Deaths { numbers, last_number, .. } = &mut self.deaths;
        if let Some(&(number, _)) = numbers.iter().find(|&&(_, of)| of == id) {
            return number;
        }
        *last_number = (*last_number + 1) % (FIRST_NUMBER - 1);
        let number = FIRST_NUMBER + *last_number;
        numbers.push((number, id));
        number
    }

    /// A message that has been answered by a number of its own; `None`: it was given up.
    pub(super) fn answered(&mut self, number: u32) -> Option<OperationId> {
        let numbers = &mut self.deaths.numbers;
        let place = numbers.iter().position(|&(known, _)| known == number)?;
        Some(numbers.swap_remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_transport::{NodeFabric, ReadSpan};

    use super::*;
    use crate::Completion;
    use crate::tuning::Tuning;
    use rwmpi_protocol::Rule;

    /// More than the rings between two hold.
    static LONG: [u8; 8 << 20] = [7; 8 << 20];
    const DEAD: Failure = Failure::Died { peer: 0 };

    fn engines() -> [Engine<NodeFabric>; 3] {
        let fabrics = NodeFabric::threads(3).unwrap();
        let engine = |fabric| {
            let mut engine = Engine::new(fabric, Rule::Nsr, &Tuning::DEFAULT);
            engine.go_on_without_dead();
            engine
        };
        let engines: Vec<_> = fabrics.into_iter().map(engine).collect();
        engines.try_into().unwrap_or_else(|_| unreachable!("there are three"))
    }

    fn pattern(source: u32, tag: u32) -> Pattern {
        Pattern { context: 0, source: Some(source), tag: Some(tag) }
    }

    fn receive(engine: &mut Engine<NodeFabric>, source: u32, tag: u32) -> OperationId {
        engine.start_receive(pattern(source, tag), WriteSpan::EMPTY.into()).unwrap()
    }

    fn send(engine: &mut Engine<NodeFabric>, to: u32, tag: u32, len: usize, mode: SendMode) -> OperationId {
        engine.start_send(to, 0, tag, ReadSpan::from(&LONG[..len]), mode).unwrap().expect("it can't complete at once")
    }

    fn none_revoked(_: u32) -> bool {
        false
    }

    #[test]
    fn what_had_arrived_is_received_and_what_had_begun_is_lost() {
        for posted_before in [true, false] {
            let [mut dead, mut one, _other] = engines();
            assert_eq!(dead.start_send(1, 0, 1, ReadSpan::EMPTY, SendMode::Standard), Ok(None));
            send(&mut dead, 1, 2, LONG.len(), SendMode::Standard);
            let early = posted_before.then(|| [1, 2].map(|tag| receive(&mut one, 0, tag)));
            drop(dead);
            one.bury(0).unwrap();
            let [whole, half] = early.unwrap_or_else(|| [1, 2].map(|tag| receive(&mut one, 0, tag)));
            let never = receive(&mut one, 0, 3);
            one.fail_hopeless(&none_revoked);
            assert!(one.collect(whole).unwrap().is_ok());
            assert_eq!([half, never].map(|id| one.collect(id)), [Some(Err(DEAD)); 2]);
            assert_eq!((one.unexpected(), one.operations.len()), ((0, 0), 0));
        }
    }

    #[test]
    fn whatever_is_sent_to_the_dead_fails_and_the_others_get_theirs() {
        let [_dead, mut one, mut other] = engines();
        let long = send(&mut one, 0, 1, LONG.len(), SendMode::Standard);
        let behind = send(&mut one, 0, 1, 8, SendMode::Standard);
        let synchronous = send(&mut one, 2, 1, 8, SendMode::Synchronous);
        one.bury(0).unwrap();
        assert!(one.fail_hopeless(&none_revoked));
        assert_eq!([long, behind].map(|id| one.collect(id)), [Some(Err(DEAD)); 2]);
        assert!(one.is_flushed());
        for len in [0, LONG.len()] {
            let started = one.start_send(0, 0, 1, ReadSpan::from(&LONG[..len]), SendMode::Standard);
            assert_eq!(started, Err(DEAD));
        }
        let received = receive(&mut other, 1, 1);
        other.progress().unwrap();
        assert!(other.collect(received).is_some());
        one.progress().unwrap();
        assert_eq!(one.collect(synchronous), Some(Ok(Completion::SENT)));
    }

    #[test]
    fn a_late_answer_to_what_was_given_up_is_for_nobody() {
        let [_third, mut one, mut other] = engines();
        let given_up = send(&mut one, 2, 1, 8, SendMode::Synchronous);
        assert!(one.fail_operation(given_up, Failure::Revoked));
        assert_eq!(one.collect(given_up), Some(Err(Failure::Revoked)));
        let next = send(&mut one, 2, 2, 8, SendMode::Synchronous);
        assert_eq!(next, given_up, "it has the same place");
        let received = receive(&mut other, 1, 1);
        other.progress().unwrap();
        assert!(other.collect(received).is_some());
        one.progress().unwrap();
        assert_eq!(one.collect(next), None);
        receive(&mut other, 1, 2);
        one.progress().unwrap();
        assert_eq!(one.collect(next), Some(Ok(Completion::SENT)));
    }

    #[test]
    fn the_rest_of_a_message_that_is_given_up_leaves_and_goes_nowhere() {
        let [_third, mut one, mut other] = engines();
        let sent = send(&mut one, 2, 1, LONG.len(), SendMode::Standard);
        let received = receive(&mut other, 1, 1);
        other.progress().unwrap();
        assert!(one.fail_operation(sent, Failure::Revoked) && other.fail_operation(received, Failure::Revoked));
        assert_eq!(one.collect(sent), Some(Err(Failure::Revoked)));
        assert_eq!(other.collect(received), Some(Err(Failure::Revoked)));
        let behind = send(&mut one, 2, 2, 8, SendMode::Standard);
        let next = receive(&mut other, 1, 2);
        while other.outcome(next).is_none() {
            one.progress().unwrap();
            other.progress().unwrap();
        }
        assert_eq!(one.collect(behind), Some(Ok(Completion::SENT)));
        one.fail_hopeless(&none_revoked);
        other.fail_hopeless(&none_revoked);
        assert_eq!([one.operations.len(), other.operations.len()], [0, 1], "the last is not collected yet");
    }
}
