//! Agreement among members of which some die: all that come to an end have the same decision.
//!
//! Who has died is known to all others sooner or later, and nobody is taken for dead who is not. What a member has sent
//! before its death arrives, in order, and before its death becomes known to the receiver. So the *coordinator*, the
//! first member that is not known to have died, can hear all and decide:
//!
//! 1. A member votes to its coordinator, anew whenever it learns that this one has died. It takes a decision from
//!    nobody but its coordinator.
//! 2. Who has taken a decision sends it to all others, and has come to its end when the sends have left. It votes no
//!    more.
//! 3. A coordinator decides when it has heard of each other member either a vote for itself, or a decision, or its
//!    death. It decides what has been decided before, if it has heard of that: from whoever has passed on a decision,
//!    or has kept, and votes with, one that came from another than its coordinator. Of several it takes the one of the
//!    latest coordinator. Only if there is none it makes its own.
//!
//! Why that is right: let a member have come to its end with a decision made, or taken over, by coordinator `c`. A
//! later coordinator waits for that member's vote, decision or death, and there is no vote; so it has heard the
//! decision, and no decision of a later coordinator can be another, by induction. The model in `agreement/model.rs`
//! tries all orders.

use std::collections::VecDeque;

#[cfg(test)]
mod model;

/// Which members.
pub type Members = Vec<bool>;

/// What a member brings in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vote {
    /// The decision has the bits that all votes have.
    pub flags: u32,
    /// Whose deaths it has acknowledged.
    pub acknowledged: Members,
    /// What is decided if this member is the one to decide.
    pub word: u32,
}

/// What all get.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// The bits that all votes had.
    pub flags: u32,
    /// Who had died.
    pub dead: Members,
    /// Whether all who have voted had acknowledged these deaths.
    pub all_acknowledged: bool,
    /// The word of whoever has decided.
    pub word: u32,
}

/// A decision, and which coordinator has made it or taken it over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decided {
    /// That member.
    pub by: u32,
    /// What it has decided.
    pub decision: Decision,
}

/// What members send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// To the coordinator; with a decision that the sender has heard of and not taken.
    Vote(Vote, Option<Decided>),
    /// To all others.
    Decision(Decided),
}

/// One agreement, as one member sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agreement {
    me: usize,
    vote: Vote,
    dead: Members,
    /// Votes for this member.
    votes: Vec<Option<Vote>>,
    /// What each other member has taken.
    passed_on: Vec<Option<Decided>>,
    /// The decision of the latest coordinator that was heard of.
    kept: Option<Decided>,
    taken: Option<Decided>,
    /// Whom it has voted for.
    voted_for: Option<usize>,
    outgoing: VecDeque<(usize, Message)>,
}

impl Agreement {
    /// Member `me` of so many begins. It hears of the deaths that are known already when all has arrived that the dead
    /// had sent.
    pub fn new(me: usize, size: usize, vote: Vote) -> Self {
        let mut agreement = Agreement {
            me,
            vote,
            dead: vec![false; size],
            votes: vec![None; size],
            passed_on: vec![None; size],
            kept: None,
            taken: None,
            voted_for: None,
            outgoing: VecDeque::new(),
        };
        agreement.go_on();
        agreement
    }

    /// A message has arrived.
    pub fn on_message(&mut self, from: usize, message: Message) {
        let decided = match message {
            Message::Vote(vote, kept) => {
                self.votes[from] = Some(vote);
                kept
            }
            Message::Decision(decided) => {
                self.passed_on[from] = Some(decided.clone());
                Some(decided)
            }
        };
        let latest = |decided: &Option<Decided>| decided.as_ref().map(|decided| decided.by);
        if latest(&decided) > latest(&self.kept) {
            self.kept = decided;
        }
        self.go_on();
    }

    /// That member has died, and all that it had sent has arrived.
    pub fn on_death(&mut self, member: usize) {
        self.dead[member] = true;
        self.go_on();
    }

    /// The next message to be sent, and to whom.
    pub fn next_message(&mut self) -> Option<(usize, Message)> {
        self.outgoing.pop_front()
    }

    /// The decision, once this member has taken one. It has come to its end when all its messages have left.
    pub fn decision(&self) -> Option<&Decision> {
        self.taken.as_ref().map(|taken| &taken.decision)
    }

    /// Whom this member waits for, as far as it waits for one in particular.
    pub fn awaits(&self) -> Option<usize> {
        let coordinator = self.coordinator();
        if self.taken.is_some() {
            None
        } else if coordinator == self.me {
            (0..self.dead.len()).find(|&member| !self.has_heard(member))
        } else {
            Some(coordinator)
        }
    }

    fn coordinator(&self) -> usize {
        self.dead.iter().position(|is_dead| !is_dead).unwrap_or(self.me).min(self.me)
    }

    fn go_on(&mut self) {
        if self.taken.is_some() {
            return;
        }
        let coordinator = self.coordinator();
        if coordinator == self.me {
            if (0..self.dead.len()).all(|member| self.has_heard(member)) {
                self.decide();
            }
        } else if let Some(decided) = self.passed_on[coordinator].clone() {
            self.take(decided.by.max(coordinator as u32), decided.decision);
        } else if self.voted_for != Some(coordinator) {
            self.voted_for = Some(coordinator);
            self.outgoing.push_back((coordinator, Message::Vote(self.vote.clone(), self.kept.clone())));
        }
    }

    fn has_heard(&self, member: usize) -> bool {
        member == self.me || self.dead[member] || self.votes[member].is_some() || self.passed_on[member].is_some()
    }

    fn decide(&mut self) {
        let by = self.me as u32;
        if let Some(kept) = self.kept.clone() {
            return self.take(by, kept.decision);
        }
        let votes = || self.votes.iter().flatten().chain([&self.vote]);
        let has_acknowledged =
            |vote: &Vote| vote.acknowledged.iter().zip(&self.dead).all(|(known, dead)| *known || !dead);
        let decision = Decision {
            flags: votes().fold(u32::MAX, |flags, vote| flags & vote.flags),
            dead: self.dead.clone(),
            all_acknowledged: votes().all(has_acknowledged),
            word: self.vote.word,
        };
        self.take(by, decision);
    }

    fn take(&mut self, by: u32, decision: Decision) {
        let decided = Decided { by, decision };
        // Whoever is dead does not mind.
        let others = (0..self.dead.len()).filter(|&member| member != self.me && !self.dead[member]);
        self.outgoing = others.map(|member| (member, Message::Decision(decided.clone()))).collect();
        self.taken = Some(decided);
    }
}
