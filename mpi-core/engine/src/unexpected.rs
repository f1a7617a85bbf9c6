//! Messages that came before their receive: where their data are, and how much memory all of them may take together.
//!
//! Each counts from the moment it joins the others until its receive has taken it out.

use rwmpi_protocol::{Envelope, MessageId};
use rwmpi_transport::{Fabric, RemoteAddress};

use super::buffer_pool::Kept;
use super::{Engine, Failure, OperationId};
use crate::Mark;
use crate::context::is_collective;
use crate::event::EventKind;

/// Unexpected messages may hold this many bytes at a rank before the library gives up.
const LIMIT: u64 = 4 << 30;

/// What the library remembers about a message besides its data, in bytes: its entries in lists that grow by doubling,
/// and in the indexes for wildcards. About 200 have been measured without those.
pub(super) const COST: u64 = 256;

/// A message without a receive.
pub(super) struct Unexpected {
    pub(super) source: u32,
    pub(super) tag: u32,
    pub(super) mark: Mark,
    pub(super) len: u64,
    pub(super) body: Body,
}

pub(super) enum Body {
    /// The data, as far as they have arrived; the answer that the sender waits for.
    Stored { data: Kept, answer: Option<u32> },
    /// The data wait at the sender.
    Announced { address: RemoteAddress, answer: u32 },
    /// The same, until they are asked for by that number.
    Waiting { answer: u32 },
    /// A send of this rank to itself.
    Local(OperationId),
    /// Nothing: whoever has sent it has died in the middle of it, or has given it up.
    Lost,
}

impl Unexpected {
    /// How many bytes it counts for.
    fn held(&self) -> u64 {
        COST + if matches!(self.body, Body::Stored { .. }) { self.len } else { 0 }
    }
}

impl<F: Fabric> Engine<F> {
    /// A message of `source` is about to join the unexpected ones, with `data` bytes that are kept here.
    pub(super) fn account(&mut self, source: u32, data: u64) -> Result<(), Failure> {
        // A peer may say any number.
        self.unexpected_bytes = self.unexpected_bytes.saturating_add(COST).saturating_add(data);
        if self.unexpected_bytes > LIMIT { Err(self.too_much(source)) } else { Ok(()) }
    }

    /// Says from whom most of them are.
    #[cold]
    fn too_much(&self, latest: u32) -> Failure {
        let mut messages = vec![0_u32; self.peers.len()];
        self.unexpected.iter().for_each(|(_, message)| messages[message.source as usize] += 1);
        messages[latest as usize] += 1;
        let (source, from_source) = (0..).zip(messages).max_by_key(|&(_, from)| from).unwrap_or((latest, 1));
        let messages = self.unexpected.len() as u32 + 1;
        Failure::UnexpectedLimit { source, from_source, messages, bytes: self.unexpected_bytes, limit: LIMIT }
    }

    /// How many there are, and the memory that they take, bytes.
    pub fn unexpected(&self) -> (u64, u64) {
        (self.unexpected.len() as u64, self.unexpected_bytes)
    }

    /// The messages of the program that wait for their receives, in order of arrival, and how long they are.
    pub fn unmatched(&self) -> Vec<(Envelope, u64)> {
        let all = self.receiver.all_unexpected().into_iter();
        let of_program = all.filter(|(_, envelope)| !is_collective(envelope.context));
        let len = |message: MessageId| Some(self.unexpected.get(*self.bodies.get(message as usize)?)?.len);
        of_program.filter_map(|(message, envelope)| Some((envelope, len(message)?))).collect()
    }

    /// A message that has been accounted for joins the unexpected ones; returns the key of its body.
    pub(super) fn store(&mut self, envelope: Envelope, len: u64, body: Body) -> usize {
        let message: MessageId = self.receiver.store(envelope);
        let Envelope { source, tag, context } = envelope;
        self.tell(EventKind::Unexpected, source, context, tag, len);
        let key = self.unexpected.insert(Unexpected { source, tag, mark: self.heard, len, body });
        if self.bodies.len() <= message as usize {
            self.bodies.resize(message as usize + 1, usize::MAX);
        }
        self.bodies[message as usize] = key;
        key
    }

    /// The key of the body of a message that is among the unexpected ones. It is there, unless the program has had
    /// these lists overwritten: by a message that came into memory which it had freed too early, and which has been
    /// given to them.
    pub(super) fn key_of(&mut self, message: MessageId) -> Result<usize, Failure> {
        match self.bodies.get(message as usize) {
            Some(&key) if self.unexpected.contains(key) => Ok(key),
            _ => Err(self.fail(Failure::Overwritten)),
        }
    }

    /// Takes out what is kept under that key.
    pub(super) fn take_unexpected(&mut self, key: usize) -> Unexpected {
        let message = self.unexpected.remove(key);
        self.unexpected_bytes -= message.held();
        message
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_protocol::Pattern;
    use rwmpi_transport::{NodeFabric, ReadSpan, WriteSpan};

    use super::*;
    use crate::SendMode;
    use crate::tuning::Tuning;
    use rwmpi_protocol::Rule;

    fn engines() -> [Engine<NodeFabric>; 2] {
        let fabrics = NodeFabric::threads(2).unwrap();
        let engines: Vec<_> = fabrics
            .into_iter()
            .map(|fabric| Engine::new(fabric, Rule::Auto { claims: true }, &Tuning::DEFAULT))
            .collect();
        engines.try_into().unwrap_or_else(|_| unreachable!("there are two"))
    }

    fn send(from: &mut Engine<NodeFabric>, to: u32, data: ReadSpan<'static>) -> Result<Option<OperationId>, Failure> {
        from.start_send(to, 0, 7, data, SendMode::Standard)
    }

    #[test]
    fn a_message_counts_although_it_is_empty_or_its_data_are_elsewhere() {
        static DATA: [u8; 1 << 20] = [1; 1 << 20];
        let [mut one, mut other] = engines();
        for len in [0, 8, DATA.len()] {
            let before = other.unexpected_bytes;
            send(&mut one, 1, ReadSpan::from(&DATA[..len])).unwrap();
            other.progress().unwrap();
            let held = other.unexpected_bytes - before;
            assert!(held >= COST, "a message of {len} bytes counts for {held}");
        }
        let before = other.unexpected_bytes;
        send(&mut other, 1, ReadSpan::EMPTY).unwrap();
        assert_eq!((other.unexpected.len(), other.unexpected_bytes), (4, before + COST));
        let pattern = Pattern { context: 0, source: Some(0), tag: Some(7) };
        other.start_receive(pattern, WriteSpan::EMPTY.into()).unwrap();
        assert_eq!((other.unexpected.len(), other.unexpected_bytes), (3, before));
    }

    #[test]
    fn the_one_too_many_names_who_has_sent_most() {
        let [mut one, mut other] = engines();
        other.unexpected_bytes = LIMIT - 3 * COST;
        for _ in 0..3 {
            send(&mut one, 1, ReadSpan::EMPTY).unwrap();
        }
        other.progress().unwrap();
        let failure = send(&mut other, 1, ReadSpan::EMPTY).unwrap_err();
        let bytes = LIMIT + COST;
        assert_eq!(failure, Failure::UnexpectedLimit { source: 0, from_source: 3, messages: 4, bytes, limit: LIMIT });
    }

    #[test]
    fn lists_that_were_overwritten_are_an_error() {
        let [mut one, mut other] = engines();
        let pattern = Pattern { context: 0, source: Some(0), tag: Some(7) };
        send(&mut one, 1, ReadSpan::EMPTY).unwrap();
        other.progress().unwrap();
        other.bodies[0] = usize::MAX;
        assert_eq!(other.probe(&pattern), None);
        assert_eq!(other.start_receive(pattern, WriteSpan::EMPTY.into()), Err(Failure::Overwritten));
    }
}
