//! Receives that wait for a message: the posted queue.
//!
//! A message asks for the oldest receive that matches it. The first few stand in a [`Line`]; those that come while it
//! is full, and all after them until they are gone, in an [`Index`]. So whoever stands in the line is older than
//! whoever is in the index, and a message costs the same however many receives are posted.

mod index;
mod line;

use crate::envelope::PatternKey;
use crate::{Envelope, Pattern};
use index::Index;
use line::Line;

/// Names a posted receive; chosen by the caller, small, unique among the posted ones.
pub type ReceiveId = u32;

/// What the receiver knows about one pending receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) key: PatternKey,
    /// Place in the order of posting.
    pub(crate) order: u64,
    /// Whether it should be advertised, if the rules allow it.
    pub(crate) worth: bool,
    /// Whether everybody who might serve it was told.
    pub(crate) advertised: bool,
    /// Its number in the series of requests (SR).
    pub(crate) serial: u32,
    place: Place,
}

/// Where a receive waits for its message.
#[derive(Clone, Copy, Debug)]
enum Place {
    Line(u64),
    Index,
    /// It has been claimed by a sender, and may not be matched any more.
    Nowhere,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PostedQueue {
    entries: Vec<Option<Posted>>,
    line: Line,
    index: Index,
    /// How many from any source wait.
    any_source: usize,
    posts: u64,
}

impl PostedQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.index.is_empty()
    }

    /// Whether a receive from any source waits.
    pub(crate) fn any_source_waits(&self) -> bool {
        self.any_source > 0
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, id: ReceiveId, pattern: Pattern, worth: bool) {
        if self.entries.len() <= id as usize {
            self.make_room(id);
        }
        let order = self.posts;
        self.posts += 1;
        let key = PatternKey::from(pattern);
        let in_line = if self.index.is_empty() { self.line.push(id, key) } else { None };
        let place = match in_line {
            Some(place) => Place::Line(place),
            None => {
                self.index.push(id, key);
                Place::Index
            }
        };
        self.entries[id as usize] = Some(Posted { key, order, worth, advertised: false, serial: 0, place });
        self.any_source += usize::from(key.source().is_none());
    }

    #[cold]
    fn make_room(&mut self, id: ReceiveId) {
        self.entries.resize(id as usize + 1, None);
    }

    #[inline]
    pub(crate) fn get(&self, id: ReceiveId) -> &Posted {
        self.entries[id as usize].as_ref().expect("receive is posted")
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: ReceiveId) -> &mut Posted {
        self.entries[id as usize].as_mut().expect("receive is posted")
    }

    /// The oldest matchable receive that a message with that envelope completes.
    #[inline(always)]
    pub(crate) fn candidate(&self, e: &Envelope) -> Option<ReceiveId> {
        match self.line.first(e) {
            None if !self.index.is_empty() => self.index.first(e, |id| self.get(id).order),
            found => found,
        }
    }

    /// Whether a message with that envelope completes the oldest receive; perhaps not if there are many.
    #[inline]
    pub(crate) fn is_for_oldest(&self, e: &Envelope) -> bool {
        self.line.is_for_first(e)
    }

    /// Takes the receive out of matching but remembers it.
    pub(crate) fn unlink(&mut self, id: ReceiveId) {
        let posted = self.get_mut(id);
        let (key, place) = (posted.key, std::mem::replace(&mut posted.place, Place::Nowhere));
        self.leave(id, key, place);
    }

    #[inline(always)]
    fn leave(&mut self, id: ReceiveId, key: PatternKey, place: Place) {
        match place {
            Place::Line(place) => self.line.remove(place),
            Place::Index => self.index.remove(id, key),
            Place::Nowhere => return,
        }
        self.any_source -= usize::from(key.source().is_none());
    }

    /// Forgets the receive; returns what was known.
    #[inline(always)]
    pub(crate) fn remove(&mut self, id: ReceiveId) -> Posted {
        let posted = self.entries[id as usize].take().expect("receive is posted");
        self.leave(id, posted.key, posted.place);
        posted
    }

    /// The matchable receives that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = (ReceiveId, &Posted)> {
        let ids = self.line.naming_source(source).chain(self.index.naming_source(source));
        ids.map(|id| (id, self.get(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from a seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((self.0 >> 33) % limit) as u32
        }

        fn wild(&mut self, limit: u64) -> Option<u32> {
            (self.below(4) > 0).then(|| self.below(limit))
        }
    }

    /// Through the line, the index and both, at lengths up to some hundreds.
    #[test]
    fn agrees_with_a_plain_list() {
        let mut random = Random(1);
        let mut queue = PostedQueue::default();
        let mut plain: Vec<(ReceiveId, Pattern)> = Vec::new();
        let mut free: Vec<ReceiveId> = (0..400).collect();
        for step in 0..60_000 {
            // Long phases in which the queue grows, and as long ones in which it shrinks.
            let growing = step / 1000 % 2 == 0;
            if random.below(10) < if growing { 6 } else { 3 } {
                let Some(id) = free.pop() else { continue };
                let pattern = Pattern { context: random.below(2), source: random.wild(3), tag: random.wild(4) };
                queue.push(id, pattern, false);
                plain.push((id, pattern));
            } else if random.below(8) == 0 && !plain.is_empty() {
                let (id, _) = plain.remove(random.below(plain.len() as u64) as usize);
                if random.below(2) == 0 {
                    queue.unlink(id);
                }
                queue.remove(id);
                free.push(id);
            } else {
                let envelope = Envelope { context: random.below(2), source: random.below(3), tag: random.below(4) };
                let found = plain.iter().position(|(_, pattern)| pattern.matches(&envelope));
                assert_eq!(queue.candidate(&envelope), found.map(|at| plain[at].0));
                if let Some(at) = found {
                    let (id, pattern) = plain.remove(at);
                    assert_eq!(Pattern::from(queue.remove(id).key), pattern);
                    free.push(id);
                }
            }
            assert_eq!(queue.is_empty(), plain.is_empty());
            let source = random.wild(3);
            let naming = plain.iter().filter(|(_, pattern)| pattern.source == source).map(|(id, _)| *id);
            assert!(queue.naming_source(source).map(|(id, _)| id).eq(naming));
            assert_eq!(queue.any_source_waits(), plain.iter().any(|(_, pattern)| pattern.source.is_none()));
        }
    }
}
