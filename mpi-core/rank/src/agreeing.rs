//! Agreements ([`rwmpi_protocol::agreement`]) by messages: votes and decisions have tags of their own among a
//! communicator's collectives, and are taken out of the unexpected messages, from whomever they come.

use std::future::poll_fn;
use std::task::Poll;

use rwmpi_protocol::Pattern;
use rwmpi_protocol::agreement::{Agreement, Decided, Decision, Members, Message, Vote};
use rwmpi_transport::{PeerFault, Presence, ReadSpan};

use crate::context::{AGREEMENT, LEAVING};
use crate::engine::{Failure, OperationId};
use crate::process::Process;

/// The first word of a message: a vote, one that brings a decision along, a decision.
const VOTE: u32 = 1;
const VOTE_WITH_DECISION: u32 = 2;
const DECISION: u32 = 3;

/// Where an agreement takes place: among whom, which of them the caller is, and the tag of its messages.
pub struct Place<'a> {
    pub process: &'a Process,
    pub peers: &'a [u32],
    pub me: usize,
    pub context: u32,
    pub tag: u32,
}

/// How far it has come.
struct State {
    agreement: Agreement,
    /// Who is known to take part no more.
    gone: Members,
    /// Messages that have not left yet, and to whom.
    leaving: Vec<(usize, OperationId)>,
}

impl<'a> Place<'a> {
    pub fn new(process: &'a Process, peers: &'a [u32], context: u32, tag: u32) -> Self {
        let me = process.me_and_peers().0;
        let me = peers.iter().position(|&peer| peer == me).expect("who agrees is a member");
        Place { process, peers, me, context, tag }
    }
}

impl Process {
    /// Waits until all ranks of the job that live have come here.
    pub fn leave_with_living(&self) -> Result<(), Failure> {
        let peers: Vec<u32> = (0..self.me_and_peers().1).collect();
        let vote = Vote { flags: 0, acknowledged: vec![false; peers.len()], word: 0 };
        self.block_on(|| async { Place::new(self, &peers, LEAVING, AGREEMENT).agree(vote).await })?;
        Ok(())
    }
}

impl Place<'_> {
    /// Agrees with all members that live.
    pub async fn agree(&self, vote: Vote) -> Result<Decision, Failure> {
        // Who had decided needed nothing more of what was sent to it.
        self.process.engine().drop_agreements(self.context, self.tag);
        let size = self.peers.len();
        let agreement = Agreement::new(self.me, size, vote);
        let mut state = State { agreement, gone: vec![false; size], leaving: Vec::new() };
        poll_fn(|_| self.step(&mut state)).await
    }

    /// Goes on as far as it goes at present.
    fn step(&self, state: &mut State) -> Poll<Result<Decision, Failure>> {
        match self.go_on(state) {
            Ok(()) => {}
            Err(failure) => return Poll::Ready(Err(failure)),
        }
        match state.agreement.decision() {
            Some(decision) if state.leaving.is_empty() => Poll::Ready(Ok(decision.clone())),
            _ => Poll::Pending,
        }
    }

    fn go_on(&self, state: &mut State) -> Result<(), Failure> {
        // First who is gone: what they had sent has arrived then.
        let gone = self.newly_gone(state)?;
        let pattern = Pattern { context: self.context, source: None, tag: Some(self.tag) };
        loop {
            let taken = self.process.engine().take_stored(&pattern);
            let Some((completion, bytes)) = taken else { break };
            let fault = |what| Failure::Fault(PeerFault { peer: completion.source as usize, what });
            let from = self.peers.iter().position(|&peer| peer == completion.source);
            let from = from.ok_or(fault("it takes part in an agreement of others"))?;
            let message = read(&bytes, self.peers.len()).ok_or(fault("it has sent nonsense for a vote"))?;
            state.agreement.on_message(from, message);
        }
        for member in gone {
            state.gone[member] = true;
            state.agreement.on_death(member);
        }
        while let Some((to, message)) = state.agreement.next_message() {
            if !state.gone[to] {
                self.send(to, &message, &mut state.leaving)?;
            }
        }
        state.leaving.retain(|&(to, id)| {
            let mut engine = self.process.engine();
            if state.gone[to] {
                engine.fail_operation(id, Failure::Died { peer: self.peers[to] });
            }
            engine.collect(id).is_none()
        });
        Ok(())
    }

    /// Who takes part no more since the last look. All that they had sent has arrived by then.
    fn newly_gone(&self, state: &State) -> Result<Vec<usize>, Failure> {
        let mut gone = Vec::new();
        for (member, &peer) in self.peers.iter().enumerate() {
            let is_known = state.gone[member] || member == self.me;
            if is_known || !matches!(self.presence(peer), Presence::Died | Presence::Finished | Presence::Left) {
                continue;
            }
            self.process.heed_failures()?;
            self.process.engine().take_in(peer)?;
            gone.push(member);
        }
        Ok(gone)
    }

    fn presence(&self, peer: u32) -> Presence {
        self.process.presence_of(peer)
    }

    fn send(&self, to: usize, message: &Message, leaving: &mut Vec<(usize, OperationId)>) -> Result<(), Failure> {
        let words = words_of(message);
        let data = ReadSpan::from(bytemuck::cast_slice(&words));
        match self.process.engine().start_buffered_send(self.peers[to], self.context, self.tag, data) {
            Ok(id) => leaving.extend(id.map(|id| (to, id))),
            // It will be found to be gone.
            Err(Failure::Died { .. }) => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }
}

/// As many words as a set of so many members takes.
fn set_len(members: usize) -> usize {
    members.div_ceil(32)
}

fn push_set(words: &mut Vec<u32>, members: &Members) {
    let word = |part: &[bool]| part.iter().enumerate().fold(0, |word, (bit, &is_in)| word | u32::from(is_in) << bit);
    words.extend(members.chunks(32).map(word));
}

fn read_set(words: &[u32], members: usize) -> Members {
    (0..members).map(|member| words[member / 32] >> (member % 32) & 1 == 1).collect()
}

/// A message as words: what it is, then flags, word and set of the vote, then those of the decision, by whom it is, and
/// whether all had acknowledged.
fn words_of(message: &Message) -> Vec<u32> {
    let (kind, vote, decided) = match message {
        Message::Vote(vote, None) => (VOTE, Some(vote), None),
        Message::Vote(vote, Some(decided)) => (VOTE_WITH_DECISION, Some(vote), Some(decided)),
        Message::Decision(decided) => (DECISION, None, Some(decided)),
    };
    let mut words = vec![kind];
    if let Some(vote) = vote {
        words.extend([vote.flags, vote.word]);
        push_set(&mut words, &vote.acknowledged);
    }
    if let Some(Decided { by, decision }) = decided {
        words.extend([decision.flags, decision.word, *by, decision.all_acknowledged.into()]);
        push_set(&mut words, &decision.dead);
    }
    words
}

/// The message that these bytes are, among so many members; `None`: none.
fn read(bytes: &[u8], members: usize) -> Option<Message> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| word.try_into().map(u32::from_ne_bytes)).collect::<Result<_, _>>().ok()?;
    let (kind, mut rest) = words.split_first()?;
    let mut vote = || {
        let (head, after) = rest.split_at_checked(2)?;
        let (set, after) = after.split_at_checked(set_len(members))?;
        rest = after;
        Some(Vote { flags: head[0], word: head[1], acknowledged: read_set(set, members) })
    };
    let voted = if *kind == DECISION { None } else { Some(vote()?) };
    let decided = || {
        let (head, set) = rest.split_at_checked(4)?;
        let dead = read_set((set.len() == set_len(members)).then_some(set)?, members);
        let decision = Decision { flags: head[0], word: head[1], dead, all_acknowledged: head[3] != 0 };
        (head[2] < members as u32).then_some(Decided { by: head[2], decision })
    };
    match (*kind, voted) {
        (VOTE, Some(vote)) => rest.is_empty().then_some(Message::Vote(vote, None)),
        (VOTE_WITH_DECISION, Some(vote)) => Some(Message::Vote(vote, Some(decided()?))),
        (DECISION, None) => Some(Message::Decision(decided()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_nonsense_is_none() {
        for members in [1, 32, 33, 70] {
            let set = |step: usize| (0..members).map(|member| member % step == 0).collect::<Members>();
            let vote = Vote { flags: 0xdead_beef, acknowledged: set(3), word: 7 };
            let decision = Decision { flags: 5, dead: set(2), all_acknowledged: true, word: u32::MAX };
            let decided = Decided { by: members as u32 - 1, decision };
            let messages = [
                Message::Vote(vote.clone(), None),
                Message::Vote(vote, Some(decided.clone())),
                Message::Decision(decided),
            ];
            for message in messages {
                let words = words_of(&message);
                let bytes: &[u8] = bytemuck::cast_slice(&words);
                assert_eq!(read(bytes, members), Some(message));
                assert_eq!(read(&bytes[..bytes.len() - 4], members), None);
                assert_eq!(read(&[bytes, &[0; 4]].concat(), members), None);
            }
        }
        assert_eq!(read(&[], 3), None);
        assert_eq!(read(&9_u32.to_ne_bytes(), 3), None);
    }
}
