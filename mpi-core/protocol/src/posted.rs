//! Receives that wait for a message: the posted queue.
//!
//! A message asks for the oldest receive that matches it: the oldest of at most four lists (exact, any tag, any source, any of
//! both), so it costs the same however many receives are posted.

use crate::bins::Bins;
use crate::envelope::PatternKey;
use crate::lists::Lists;
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
    by_pattern: Bins<PatternKey>,
    /// By [`place`].
    by_source: Lists,
    /// Receives in `by_pattern` of each kind: does it name its source, does it name its tag.
    kinds: [[usize; 2]; 2],
    posts: u64,
}

/// Where the receives that name `source` are listed.
fn place(source: Option<u32>) -> usize {
    source.map_or(0, |source| source as usize + 1)
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
        self.by_pattern.push(pattern.into(), id);
        self.by_source.push(place(pattern.source), id);
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
    #[inline]
    pub(crate) fn candidate(&self, e: &Envelope) -> Option<ReceiveId> {
        let exact = Pattern { context: e.context, source: Some(e.source), tag: Some(e.tag) };
        let [[any, any_source], [any_tag, _]] = self.kinds;
        if any + any_source + any_tag == 0 {
            return self.by_pattern.first(exact.into());
        }
        let kinds = [(any, None, None), (any_source, None, exact.tag), (any_tag, exact.source, None)];
        let wild = kinds.into_iter().filter(|&(count, ..)| count > 0);
        let wild = wild.map(|(_, source, tag)| Pattern { source, tag, ..exact });
        let oldest = wild.chain([exact]).filter_map(|pattern| self.by_pattern.first(pattern.into()));
        oldest.min_by_key(|&id| self.get(id).order)
    }

    /// Takes the receive out of matching but remembers it.
    pub(crate) fn unlink(&mut self, id: ReceiveId) {
        let Posted { pattern, matchable, .. } = *self.get(id);
        if matchable {
            self.unlist(id, &pattern);
            self.get_mut(id).matchable = false;
        }
    }

    fn unlist(&mut self, id: ReceiveId, pattern: &Pattern) {
        self.by_pattern.remove(id);
        self.by_source.remove(place(pattern.source), id);
        *self.kind(pattern) -= 1;
    }

    /// Forgets the receive; returns what was known.
    pub(crate) fn remove(&mut self, id: ReceiveId) -> Posted {
        let posted = self.entries[id as usize].take().expect("receive is posted");
        if posted.matchable {
            self.unlist(id, &posted.pattern);
        }
        posted
    }

    /// The matchable receives that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = (ReceiveId, &Posted)> {
        self.by_source.iter(place(source)).map(|id| (id, self.get(id)))
    }
}
