//! Long messages: their data go once, from the send's buffer to the receive's. One file for each way, to be read from
//! top to bottom with both sides in it.
//!
//! | file | who copies | begins with |
//! |---|---|---|
//! | `request` | nobody yet | a receive that is early asks for its message |
//! | `write` | the sender | a request, or an announcement that was answered by one |
//! | `read` | the receiver | an announcement with an address |
//! | `both` | both, each from an end | either, where memory is shared |
//!
//! `select::message` says which of them a message takes. A sender whose data the receiver is to have, or to have
//! matched, waits for its answer.

mod both;
mod read;
mod request;
mod write;

pub(crate) use both::claim_word;
pub(crate) use request::LOOK_AT_ACCEPTED;
pub(crate) use write::Pull;

use rwmpi_transport::{Enqueue, Fabric, PushError, Queue, ReadSpan};

use crate::arrivals::fault;
use crate::operation::Stage;
use crate::{Completion, Engine, Failure, Operation, OperationId, SendMode, wire};

/// What a sender is told that waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// The message with that number is matched, and fetched if it was announced.
    Matched(u32),
    /// It is to be written where that pull says.
    Pull { number: u32, key: u32 },
}

impl<F: Fabric> Engine<F> {
    /// Tells the sender that its message has been matched (and fetched).
    pub(crate) fn answer(&mut self, source: u32, answer: Answer) -> Result<(), Failure> {
        let state = &mut self.peers[source as usize];
        if state.answers.is_empty() {
            self.backlog += 1;
        }
        state.answers.push_back(answer);
        self.flush_answers(source)
    }

    /// Sends what answers find room. Returns with `answers` empty or the queue full.
    pub(crate) fn flush_answers(&mut self, peer: u32) -> Result<(), Failure> {
        while let Some(&answer) = self.peers[peer as usize].answers.front() {
            let target;
            let (header, body) = match answer {
                Answer::Matched(number) => ([wire::MATCHED, number, 0, 0], ReadSpan::EMPTY),
                Answer::Pull { number, key } => {
                    target = wire::address_words(&self.pull_address(key));
                    ([wire::PULL, number, key, 0], bytemuck::bytes_of(&target).into())
                }
            };
            match self.push(peer, Queue::Requests, Enqueue::Retry, header, body) {
                Ok(()) => {
                    let state = &mut self.peers[peer as usize];
                    state.answers.pop_front();
                    if state.answers.is_empty() {
                        self.backlog -= 1;
                    }
                }
                Err(PushError::Full) if self.is_dead(peer) => {
                    self.peers[peer as usize].answers.clear();
                    self.backlog -= 1;
                }
                Err(PushError::Full) => {
                    self.fabric.miss_room();
                    break;
                }
                Err(error) => return Err(Failure::Push(error)),
            }
        }
        Ok(())
    }

    /// The receiver has matched this send.
    pub(crate) fn matched(&mut self, peer: u32, id: OperationId) -> Result<(), Failure> {
        match self.operations.get(id) {
            Some(Operation::Send(send)) if send.peer == peer && send.stage.is_with_receiver() => {
                if matches!(send.stage, Stage::Left(_)) {
                    self.is_fetched(id);
                }
                self.answers_awaited -= 1;
                self.looks_in_vain = 0;
                self.finish(id, Ok(Completion::SENT));
                Ok(())
            }
            // A synchronous message is matched by its first cell; its data may still be leaving.
            Some(Operation::Send(send)) if send.peer == peer => {
                self.matched_early(id);
                Ok(())
            }
            None if self.deaths.goes_on => self.answered(id).map_or(Ok(()), |id| self.matched(peer, id)),
            _ => Err(fault(peer, "an answer to a message that was not sent")),
        }
    }

    pub(crate) fn matched_early(&mut self, id: OperationId) {
        if let Operation::Send(send) = &mut self.operations[id] {
            send.mode = SendMode::InPlace;
        }
    }
}
