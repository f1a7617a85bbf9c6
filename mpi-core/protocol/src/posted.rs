//! Receives that wait for a message: the posted queue.
//!
//! A message asks for the oldest receive that matches it: the oldest of at most four lists (exact, any tag, any source, any of
//! both), so it costs the same however many receives are posted.

use crate::bins::Bins;
use crate::receiver::ReceiveId;
use crate::{Envelope, Pattern};

/// What the receiver knows about one pending receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) pattern: Pattern,
    /// Place in the order of posting.
    pub(crate) order: u64,
    /// Whether it should be advertised, if the rules allow it.
    pub(crate) worth: bool,
    /// Whether everybody who might serve it was told.
    pub(crate) advertised: bool,
    /// Its number in the series of requests (SR).
    pub(crate) serial: u32,
    /// Whether it may still be matched; not any more once a sender has claimed it.
    matchable: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PostedQueue {
    entries: Vec<Option<Posted>>,
    by_pattern: Bins<Pattern>,
    by_source: Bins<Option<u32>>,
    /// Receives in `by_pattern` of each kind: does it name its source, does it name its tag.
    kinds: [[usize; 2]; 2],
    posts: u64,
}

impl PostedQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds == [[0; 2]; 2]
    }

    /// Whether a receive from any source waits.
    pub(crate) fn any_source_waits(&self) -> bool {
        self.kinds[0] != [0; 2]
    }

    pub(crate) fn push(&mut self, id: ReceiveId, pattern: Pattern, worth: bool) {
        if self.entries.len() <= id as usize {
            self.entries.resize(id as usize + 1, None);
        }
        let order = self.posts;
        self.posts += 1;
        self.entries[id as usize] =
            Some(Posted { pattern, order, worth, advertised: false, serial: 0, matchable: true });
        self.by_pattern.push(pattern, id);
        self.by_source.push(pattern.source, id);
        *self.kind(&pattern) += 1;
    }

    fn kind(&mut self, pattern: &Pattern) -> &mut usize {
        &mut self.kinds[usize::from(pattern.source.is_some())][usize::from(pattern.tag.is_some())]
    }

    pub(crate) fn get(&self, id: ReceiveId) -> &Posted {
        self.entries[id as usize].as_ref().expect("receive is posted")
    }

    pub(crate) fn get_mut(&mut self, id: ReceiveId) -> &mut Posted {
        self.entries[id as usize].as_mut().expect("receive is posted")
    }

    /// The oldest matchable receive that a message with that envelope completes.
    pub(crate) fn candidate(&self, e: &Envelope) -> Option<ReceiveId> {
        let mut best: Option<(u64, ReceiveId)> = None;
        for (source, counts) in [None, Some(e.source)].into_iter().zip(self.kinds) {
            for (tag, count) in [None, Some(e.tag)].into_iter().zip(counts) {
                if count == 0 {
                    continue;
                }
                if let Some(id) = self.by_pattern.first(Pattern { context: e.context, source, tag }) {
                    let order = self.get(id).order;
                    if best.is_none_or(|(oldest, _)| order < oldest) {
                        best = Some((order, id));
                    }
                }
            }
        }
        best.map(|(_, id)| id)
    }

    /// Takes the receive out of matching but remembers it.
    pub(crate) fn unlink(&mut self, id: ReceiveId) {
        let Posted { pattern, matchable, .. } = *self.get(id);
        if matchable {
            self.by_pattern.remove(pattern, id);
            self.by_source.remove(pattern.source, id);
            *self.kind(&pattern) -= 1;
            self.get_mut(id).matchable = false;
        }
    }

    /// Forgets the receive; returns what was known.
    pub(crate) fn remove(&mut self, id: ReceiveId) -> Posted {
        self.unlink(id);
        self.entries[id as usize].take().expect("receive is posted")
    }

    /// The matchable receives that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = (ReceiveId, &Posted)> {
        self.by_source.iter(source).map(|id| (id, self.get(id)))
    }
}
