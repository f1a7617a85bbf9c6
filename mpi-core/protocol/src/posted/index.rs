//! Receives by what they accept: any number of them, and each found at the same cost.
//!
//! A message completes the oldest of at most four lists: those that name its source and tag, one of both, or neither.

use super::ReceiveId;
use crate::bins::Bins;
use crate::envelope::PatternKey;
use crate::lists::Lists;
use crate::{Envelope, Pattern};

#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    by_pattern: Bins<PatternKey>,
    /// By [`place`].
    by_source: Lists,
    /// How many of each kind: does it name its source, does it name its tag.
    kinds: [[usize; 2]; 2],
    /// How many in all.
    len: usize,
}

/// Where the receives that name `source` are listed.
fn place(source: Option<u32>) -> usize {
    source.map_or(0, |source| source as usize + 1)
}

impl Index {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn push(&mut self, id: ReceiveId, key: PatternKey) {
        self.by_pattern.push(key, id);
        self.by_source.push(place(key.source()), id);
        *self.kind(&key.into()) += 1;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, id: ReceiveId, key: PatternKey) {
        self.by_pattern.remove(id);
        self.by_source.remove(place(key.source()), id);
        *self.kind(&key.into()) -= 1;
        self.len -= 1;
    }

    fn kind(&mut self, pattern: &Pattern) -> &mut usize {
        &mut self.kinds[usize::from(pattern.source.is_some())][usize::from(pattern.tag.is_some())]
    }

    /// The oldest that a message with that envelope completes; `order` says how old one is.
    pub(crate) fn first(&self, e: &Envelope, order: impl Fn(ReceiveId) -> u64) -> Option<ReceiveId> {
        let exact = Pattern { context: e.context, source: Some(e.source), tag: Some(e.tag) };
        let [[any, any_source], [any_tag, _]] = self.kinds;
        if any + any_source + any_tag == 0 {
            return self.by_pattern.first(exact.into());
        }
        let kinds = [(any, None, None), (any_source, None, exact.tag), (any_tag, exact.source, None)];
        let wild = kinds.into_iter().filter(|&(count, ..)| count > 0);
        let wild = wild.map(|(_, source, tag)| Pattern { source, tag, ..exact });
        let oldest = wild.chain([exact]).filter_map(|pattern| self.by_pattern.first(pattern.into()));
        oldest.min_by_key(|&id| order(id))
    }

    /// Those that name `source` (`None`: that accept any), oldest first.
    pub(crate) fn naming_source(&self, source: Option<u32>) -> impl Iterator<Item = ReceiveId> {
        self.by_source.iter(place(source))
    }
}
