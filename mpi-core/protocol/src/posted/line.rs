//! A few receives in the order of posting, searched from the front.
//!
//! Most programs have few receives posted at a time, or take messages in the order of their receives: then the first
//! that is looked at is the one, and neither hash nor links have to be kept.

use super::ReceiveId;
use crate::Envelope;
use crate::envelope::PatternKey;

/// Most receives in a line, those that have left from its middle included: beyond, a search costs more than an index.
const LONGEST: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    key: PatternKey,
    id: ReceiveId,
    has_left: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Who stands at a place is found at its remainder.
    members: Box<[Member; LONGEST]>,
    /// The places that are taken. Whoever stands at the first one waits.
    first: u64,
    end: u64,
}

impl Default for Line {
    fn default() -> Self {
        Line { members: Box::new([Member::default(); LONGEST]), first: 0, end: 0 }
    }
}

impl Line {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn at(&self, place: u64) -> &Member {
        &self.members[place as usize % LONGEST]
    }

    /// Appends a receive, if there is room: where it stands from now on.
    #[inline(always)]
    pub(crate) fn push(&mut self, id: ReceiveId, key: PatternKey) -> Option<u64> {
        let place = self.end;
        if place - self.first >= LONGEST as u64 {
            return None;
        }
        self.members[place as usize % LONGEST] = Member { key, id, has_left: false };
        self.end += 1;
        Some(place)
    }

    /// The one that stands at `place` leaves.
    #[inline(always)]
    pub(crate) fn remove(&mut self, place: u64) {
        self.members[place as usize % LONGEST].has_left = true;
        while !self.is_empty() && self.at(self.first).has_left {
            self.first += 1;
        }
    }

    /// The oldest that a message with that envelope completes.
    #[inline(always)]
    pub(crate) fn first(&self, e: &Envelope) -> Option<ReceiveId> {
        if self.is_empty() {
            return None;
        }
        // The first one, which waits, is the one as a rule.
        let (first, message) = (self.at(self.first), PatternKey::from(e));
        if first.key.accepts(message) { Some(first.id) } else { self.first_behind(message) }
    }

    /// Whether a message with that envelope completes the oldest, if there is one.
    #[inline]
    pub(crate) fn is_for_first(&self, e: &Envelope) -> bool {
        !self.is_empty() && self.at(self.first).key.accepts(PatternKey::from(e))
    }

    fn first_behind(&self, message: PatternKey) -> Option<ReceiveId> {
        self.waiting().find(|member| member.key.accepts(message)).map(|member| member.id)
    }

    /// Those that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = ReceiveId> {
        self.waiting().filter(move |member| member.key.source() == source).map(|member| member.id)
    }

    fn waiting(&self) -> impl Iterator<Item = &Member> {
        (self.first..self.end).map(|place| self.at(place)).filter(|member| !member.has_left)
    }
}
