//! Probing: looking at a message before receiving it, and taking it out of matching (MPI-5.0 section 3.8).

use rwmpi_protocol::{Envelope, Pattern};
use rwmpi_transport::Fabric;

use super::operation::ReceiveOperation;
use super::pieces::Sink;
use super::{Body, Completion, Engine, Failure, Operation, OperationId, Unexpected};
use crate::Mark;
use crate::context::is_agreement;

/// A message that a matched probe has taken: only its holder can receive it.
#[derive(Debug)]
pub struct MatchedMessage {
    key: usize,
    context: u32,
}

impl<F: Fabric> Engine<F> {
    /// Envelope and length of the message that a receive with that pattern would get now.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Completion> {
        self.peek(pattern).map(|(_, completion)| completion)
    }

    /// Takes the message that a receive with that pattern would get now.
    pub fn matched_probe(&mut self, pattern: &Pattern) -> Option<(MatchedMessage, Completion)> {
        let (message, completion) = self.peek(pattern)?;
        let key = self.key_of(message).ok()?;
        self.receiver.take(message);
        Some((MatchedMessage { key, context: pattern.context }, completion))
    }

    /// Takes the message that a receive with that pattern would get now, with its data, if these are here.
    pub fn take_stored(&mut self, pattern: &Pattern) -> Option<(Completion, Vec<u8>)> {
        let (message, completion) = self.peek(pattern)?;
        let key = self.key_of(message).ok()?;
        let is_here = |body: &Body| matches!(body, Body::Stored { data, answer: None } if data.data().len() as u64 == completion.bytes);
        if !is_here(&self.unexpected[key].body) {
            return None;
        }
        self.receiver.take(message);
        let Body::Stored { data, .. } = self.take_unexpected(key).body else { return None };
        let bytes = data.data().to_vec();
        data.clear(&mut self.pool);
        Some((completion, bytes))
    }

    /// Forgets what has come for earlier agreements in that context than the one with that tag.
    pub fn drop_agreements(&mut self, context: u32, tag: u32) {
        let is_late = |envelope: &Envelope| {
            envelope.context == context && is_agreement(Some(envelope.tag)) && envelope.tag != tag
        };
        for (_, envelope) in self.receiver.all_unexpected() {
            // A later one has tags that are ahead, as they come round.
            if is_late(&envelope) && (tag.wrapping_sub(envelope.tag) << 1).cast_signed() > 0 {
                let pattern = Pattern { context, source: Some(envelope.source), tag: Some(envelope.tag) };
                let _ = self.take_stored(&pattern);
            }
        }
    }

    /// Starts receiving a message that was taken.
    pub fn start_matched_receive(
        &mut self,
        message: MatchedMessage,
        buffer: impl Into<Sink>,
    ) -> Result<OperationId, Failure> {
        let MatchedMessage { key, context } = message;
        let pattern = Pattern { context, source: None, tag: None };
        let buffer = buffer.into();
        let receive =
            ReceiveOperation { pattern, buffer, slot: None, matched: true, withdrawing: false, mark: Mark::NONE };
        self.noted(context, |engine| {
            let id = engine.add_operation(Operation::Receive(receive));
            let begun = engine.check_alive().and_then(|()| engine.meet(id, key));
            begun.map(|()| id).map_err(|failure| engine.give_up(id, failure))
        })
    }

    fn peek(&mut self, pattern: &Pattern) -> Option<(rwmpi_protocol::MessageId, Completion)> {
        let (message, envelope) = self.receiver.find(pattern)?;
        // Where it is not to be found the engine has failed, which whoever waits gets to see.
        let key = self.key_of(message).ok()?;
        let Unexpected { len: bytes, mark, .. } = self.unexpected[key];
        Some((message, Completion { source: envelope.source, tag: envelope.tag, bytes, mark }))
    }
}
