//! Lists of small numbers under keys: the index structure behind both matching queues.
//!
//! An id stands in at most one list of a `Bins`, in the order of insertion. Every operation is O(1), so matching does not depend
//! on how long the queues are, in whatever order they are served (McMPI thesis, section 4.1.3).

use rustc_hash::FxHashMap;
use std::hash::Hash;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    previous: u32,
    next: u32,
}

/// First and last id of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    first: u32,
    last: u32,
}

/// Ordered lists of ids, one for each key in use.
#[derive(Clone, Debug)]
pub(crate) struct Bins<K> {
    lists: FxHashMap<K, Ends>,
    links: Vec<Link>,
}

impl<K> Default for Bins<K> {
    fn default() -> Self {
        Bins { lists: FxHashMap::default(), links: Vec::new() }
    }
}

impl<K: Hash + Eq + Copy> Bins<K> {
    /// Appends `id`, which stands in no list, to the list of `key`.
    pub(crate) fn push(&mut self, key: K, id: u32) {
        if self.links.len() <= id as usize {
            self.links.resize(id as usize + 1, Link { previous: NONE, next: NONE });
        }
        let previous = match self.lists.get_mut(&key) {
            Some(ends) => {
                let last = std::mem::replace(&mut ends.last, id);
                self.links[last as usize].next = id;
                last
            }
            None => {
                self.lists.insert(key, Ends { first: id, last: id });
                NONE
            }
        };
        self.links[id as usize] = Link { previous, next: NONE };
    }

    /// Takes `id` out of the list of `key`, in which it stands.
    pub(crate) fn remove(&mut self, key: K, id: u32) {
        let Link { previous, next } = self.links[id as usize];
        if previous == NONE && next == NONE {
            self.lists.remove(&key);
            return;
        }
        if previous != NONE {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
        if previous == NONE || next == NONE {
            let ends = self.lists.get_mut(&key).expect("a linked id has a list");
            if previous == NONE {
                ends.first = next;
            } else {
                ends.last = previous;
            }
        }
    }

    /// The oldest id under `key`.
    pub(crate) fn first(&self, key: K) -> Option<u32> {
        self.lists.get(&key).map(|ends| ends.first)
    }

    /// The ids under `key`, oldest first.
    pub(crate) fn iter(&self, key: K) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(key), |&id| {
            let next = self.links[id as usize].next;
            (next != NONE).then_some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_insertion_order_whatever_is_removed() {
        let mut bins = Bins::default();
        for id in 0..6 {
            bins.push(id % 2, id);
        }
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [0, 2, 4]);
        bins.remove(0, 2);
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [0, 4]);
        bins.remove(0, 0);
        bins.push(0, 2);
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [4, 2]);
        bins.remove(0, 2);
        bins.remove(0, 4);
        assert_eq!(bins.first(0), None);
        assert_eq!(bins.iter(1).collect::<Vec<_>>(), [1, 3, 5]);
    }
}
