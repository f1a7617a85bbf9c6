//! Messages that arrived before their receive: the unexpected queue.
//!
//! Indexed by the exact envelope always, and by each kind of wildcard from the first receive or probe on that uses it,
//! so programs without wildcards do not pay for them.

use crate::bins::Bins;
use crate::envelope::PatternKey;
use crate::{Envelope, Pattern};

/// Names a message in the unexpected queue, until it is taken.
pub type MessageId = u32;

/// The envelopes of unexpected messages in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnexpectedQueue {
    entries: Vec<Option<Entry>>,
    free: Vec<MessageId>,
    arrivals: u64,
    len: usize,
    exact: Bins<PatternKey>,
    wild: [Option<Bins<PatternKey>>; 3],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    envelope: Envelope,
    arrival: u64,
}

/// The three kinds of wildcard, and what remains of an envelope under each.
const WILD: [fn(&Envelope) -> Pattern; 3] = [
    |e| Pattern { context: e.context, source: Some(e.source), tag: None },
    |e| Pattern { context: e.context, source: None, tag: Some(e.tag) },
    |e| Pattern { context: e.context, source: None, tag: None },
];

fn kind(pattern: &Pattern) -> Option<usize> {
    match (pattern.source, pattern.tag) {
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some(0),
        (None, Some(_)) => Some(1),
        (None, None) => Some(2),
    }
}

fn exactly(e: &Envelope) -> Pattern {
    Pattern { context: e.context, source: Some(e.source), tag: Some(e.tag) }
}

impl UnexpectedQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn push(&mut self, envelope: Envelope) -> MessageId {
        let entry = Some(Entry { envelope, arrival: self.arrivals });
        self.arrivals += 1;
        self.len += 1;
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as MessageId - 1
            }
        };
        self.exact.push(exactly(&envelope).into(), id);
        for (bins, key) in self.wild.iter_mut().zip(WILD) {
            if let Some(bins) = bins {
                bins.push(key(&envelope).into(), id);
            }
        }
        id
    }

    /// The message that arrived first of those that `pattern` matches.
    pub(crate) fn find(&mut self, pattern: &Pattern) -> Option<MessageId> {
        if self.len == 0 {
            return None;
        }
        match kind(pattern) {
            None => self.exact.first((*pattern).into()),
            Some(kind) => self.wild_index(kind).first((*pattern).into()),
        }
    }

    fn wild_index(&mut self, kind: usize) -> &Bins<PatternKey> {
        let entries = &self.entries;
        self.wild[kind].get_or_insert_with(|| {
            let mut ids: Vec<_> = (0..entries.len()).filter(|&id| entries[id].is_some()).collect();
            ids.sort_by_key(|&id| entries[id].map(|entry| entry.arrival));
            let mut bins = Bins::default();
            for id in ids {
                let entry = entries[id].as_ref().expect("filtered above");
                bins.push(WILD[kind](&entry.envelope).into(), id as MessageId);
            }
            bins
        })
    }

    pub(crate) fn envelope(&self, id: MessageId) -> Envelope {
        self.entries[id as usize].as_ref().expect("message is in the unexpected queue").envelope
    }

    /// All that are there, in order of arrival.
    pub(crate) fn all(&self) -> Vec<(MessageId, Envelope)> {
        let mut entries: Vec<_> = (0..).zip(&self.entries).filter_map(|(id, entry)| Some((id, (*entry)?))).collect();
        entries.sort_by_key(|(_, entry)| entry.arrival);
        entries.into_iter().map(|(id, entry)| (id, entry.envelope)).collect()
    }

    pub(crate) fn remove(&mut self, id: MessageId) -> Envelope {
        let Entry { envelope, .. } = self.entries[id as usize].take().expect("message is in the unexpected queue");
        self.exact.remove(id);
        self.wild.iter_mut().flatten().for_each(|bins| bins.remove(id));
        self.free.push(id);
        self.len -= 1;
        envelope
    }
}
