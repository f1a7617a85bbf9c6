//! Lists of small numbers under keys: the index structure behind both matching queues.
//!
//! An id stands in at most one list of a `Bins`, in the order of insertion. Every operation is O(1), so matching does
//! not depend on how long the queues are, in whatever order they are served (McMPI thesis, section 4.1.3).
//!
//! A hash table with chains, where the links are kept by id and nothing is allocated once there have been as many ids:
//! the first id of each list stands in the chain of its bucket, and the others of that list hang from it. A chain is
//! therefore as long as there are keys in the bucket, however long their lists are.

const NONE: u32 = u32::MAX;
const FIRST_BUCKETS: usize = 16;

/// What lists are kept under.
pub(crate) trait Key: Copy + Eq {
    /// A number with well-mixed high bits.
    fn hash(&self) -> u64;
}

/// An id's place.
#[derive(Clone, Copy, Debug)]
struct Node<K> {
    key: K,
    /// The id before it in its list.
    previous: u32,
    /// The id after it in its list.
    next: u32,
    /// Of the first in a list: the last one.
    last: u32,
    /// Of the first in a list: the first of the next list in the same bucket.
    chain: u32,
}

/// Ordered lists of ids, one for each key in use.
#[derive(Clone, Debug)]
pub(crate) struct Bins<K> {
    /// The first of the first list of each bucket. A power of two of them, or none at all.
    buckets: Vec<u32>,
    /// By id; of no meaning for those that stand in no list.
    nodes: Vec<Node<K>>,
    lists: usize,
}

impl<K> Default for Bins<K> {
    fn default() -> Self {
        Bins { buckets: Vec::new(), nodes: Vec::new(), lists: 0 }
    }
}

impl<K: Key> Bins<K> {
    fn bucket(&self, key: &K) -> usize {
        (key.hash() >> 32) as usize & (self.buckets.len().wrapping_sub(1))
    }

    /// Appends `id`, which stands in no list, to the list of `key`.
    pub(crate) fn push(&mut self, key: K, id: u32) {
        let alone = Node { key, previous: NONE, next: NONE, last: id, chain: NONE };
        if self.nodes.len() <= id as usize {
            self.nodes.resize(id as usize + 1, alone);
        }
        let bucket = self.bucket(&key);
        match self.first_in(bucket, key) {
            Some(first) => {
                let previous = std::mem::replace(&mut self.nodes[first as usize].last, id);
                self.nodes[previous as usize].next = id;
                self.nodes[id as usize] = Node { previous, ..alone };
            }
            None => {
                self.nodes[id as usize] = alone;
                if self.lists >= self.buckets.len() {
                    self.grow();
                    self.chain(id, self.bucket(&key));
                } else {
                    self.chain(id, bucket);
                }
                self.lists += 1;
            }
        }
    }

    /// Puts the first of a list into the chain of its bucket.
    fn chain(&mut self, first: u32, bucket: usize) {
        self.nodes[first as usize].chain = std::mem::replace(&mut self.buckets[bucket], first);
    }

    #[cold]
    fn grow(&mut self) {
        let count = (2 * self.buckets.len()).max(FIRST_BUCKETS);
        for mut first in std::mem::replace(&mut self.buckets, vec![NONE; count]) {
            while first != NONE {
                let Node { key, chain: next, .. } = self.nodes[first as usize];
                self.chain(first, self.bucket(&key));
                first = next;
            }
        }
    }

    /// Takes `id` out of the list in which it stands.
    pub(crate) fn remove(&mut self, id: u32) {
        let Node { key, previous, next, last, chain } = self.nodes[id as usize];
        if previous == NONE {
            let heir = if next == NONE {
                self.lists -= 1;
                chain
            } else {
                let node = &mut self.nodes[next as usize];
                (node.previous, node.last, node.chain) = (NONE, last, chain);
                next
            };
            let bucket = self.bucket(&key);
            let mut before = self.buckets[bucket];
            if before == id {
                self.buckets[bucket] = heir;
            } else {
                while self.nodes[before as usize].chain != id {
                    before = self.nodes[before as usize].chain;
                }
                self.nodes[before as usize].chain = heir;
            }
        } else {
            self.nodes[previous as usize].next = next;
            if next == NONE {
                let first = self.first(key).expect("a linked id has a list");
                self.nodes[first as usize].last = previous;
            } else {
                self.nodes[next as usize].previous = previous;
            }
        }
    }

    /// The oldest id under `key`.
    #[inline]
    pub(crate) fn first(&self, key: K) -> Option<u32> {
        self.first_in(self.bucket(&key), key)
    }

    #[inline]
    fn first_in(&self, bucket: usize, key: K) -> Option<u32> {
        let mut first = *self.buckets.get(bucket)?;
        while first != NONE {
            let node = &self.nodes[first as usize];
            if node.key == key {
                return Some(first);
            }
            first = node.chain;
        }
        None
    }

    /// The ids under `key`, oldest first.
    #[cfg(test)]
    pub(crate) fn iter(&self, key: K) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(key), |&id| {
            let next = self.nodes[id as usize].next;
            (next != NONE).then_some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Many keys share a bucket.
    impl Key for u32 {
        fn hash(&self) -> u64 {
            u64::from(self % 5) << 32
        }
    }

    #[test]
    fn keeps_insertion_order_whatever_is_removed() {
        let mut bins = Bins::default();
        for id in 0..6 {
            bins.push(id % 2, id);
        }
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [0, 2, 4]);
        bins.remove(2);
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [0, 4]);
        bins.remove(0);
        bins.push(0, 2);
        assert_eq!(bins.iter(0).collect::<Vec<_>>(), [4, 2]);
        bins.remove(2);
        bins.remove(4);
        assert_eq!(bins.first(0), None);
        assert_eq!(bins.iter(1).collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn agrees_with_plain_lists() {
        const KEYS: u32 = 300;
        let mut bins = Bins::default();
        let mut lists = vec![VecDeque::new(); KEYS as usize];
        let mut keys = vec![None; 1000];
        let mut random = 1_u64;
        for _ in 0..50_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (id, key) = ((random >> 33) as u32 % 1000, (random >> 50) as u32 % KEYS);
            match keys[id as usize].take() {
                Some(key) => {
                    bins.remove(id);
                    lists[key as usize].retain(|&other| other != id);
                }
                None => {
                    bins.push(key, id);
                    lists[key as usize].push_back(id);
                    keys[id as usize] = Some(key);
                }
            }
            assert_eq!(bins.first(key), lists[key as usize].front().copied());
        }
        for (key, list) in lists.iter().enumerate() {
            assert!(bins.iter(key as u32).eq(list.iter().copied()));
        }
    }
}
