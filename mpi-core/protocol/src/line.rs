//! A few receives in the order of posting, searched from the front.
//!
//! Most programs have few receives posted at a time, or take messages in the order of their receives: then the first that is looked at is the
//! one, and neither hash nor links have to be kept.

use std::collections::VecDeque;

use crate::receiver::ReceiveId;
use crate::{Envelope, Pattern};

/// Most receives in a line, those that have left from its middle included: beyond, a search costs more than an index.
const LONGEST: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Member {
    pattern: Pattern,
    id: ReceiveId,
    has_left: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// The first one waits, if there is any.
    members: VecDeque<Member>,
    /// How many have left from the front.
    gone: u64,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Appends a receive, if there is room: where it stands from now on.
    #[inline]
    pub(crate) fn push(&mut self, id: ReceiveId, pattern: Pattern) -> Option<u64> {
        if self.members.len() >= LONGEST {
            return None;
        }
        self.members.push_back(Member { pattern, id, has_left: false });
        Some(self.gone + self.members.len() as u64 - 1)
    }

    /// The one that stands at `place` leaves.
    #[inline]
    pub(crate) fn remove(&mut self, place: u64) {
        self.members[(place - self.gone) as usize].has_left = true;
        while self.members.front().is_some_and(|first| first.has_left) {
            self.members.pop_front();
            self.gone += 1;
        }
    }

    /// The oldest that a message with that envelope completes.
    #[inline]
    pub(crate) fn first(&self, e: &Envelope) -> Option<ReceiveId> {
        // The first one, which waits, is the one as a rule: looked at by itself it takes 44 instructions instead of 66.
        match self.members.front() {
            Some(member) if member.pattern.matches(e) => Some(member.id),
            _ => self.waiting().find(|member| member.pattern.matches(e)).map(|member| member.id),
        }
    }

    /// Those that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = ReceiveId> {
        self.waiting().filter(move |member| member.pattern.source == source).map(|member| member.id)
    }

    #[inline]
    fn waiting(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.has_left)
    }
}
