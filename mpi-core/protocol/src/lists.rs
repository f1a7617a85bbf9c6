//! Ordered lists of small numbers, one for each of a few places: as [`crate::bins`] where the key is an index.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

/// First and last of a list, or the neighbours of an id: [`NONE`] where there is none.
const NOWHERE: Link = Link { previous: NONE, next: NONE };

/// Lists of ids, each of which stands in at most one, in the order of insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Of each list the last (as `previous`, what a new one comes after) and the first (as `next`).
    ends: Vec<Link>,
    links: Vec<Link>,
}

impl Lists {
    /// Appends `id`, which stands in no list, to the list at `place`.
    pub(crate) fn push(&mut self, place: usize, id: u32) {
        if self.ends.len() <= place {
            self.ends.resize(place + 1, NOWHERE);
        }
        if self.links.len() <= id as usize {
            self.links.resize(id as usize + 1, NOWHERE);
        }
        let ends = &mut self.ends[place];
        let previous = std::mem::replace(&mut ends.previous, id);
        match previous {
            NONE => ends.next = id,
            previous => self.links[previous as usize].next = id,
        }
        self.links[id as usize] = Link { previous, next: NONE };
    }

    /// Takes `id` out of the list at `place`, in which it stands.
    pub(crate) fn remove(&mut self, place: usize, id: u32) {
        let Link { previous, next } = self.links[id as usize];
        match previous {
            NONE => self.ends[place].next = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => self.ends[place].previous = previous,
            next => self.links[next as usize].previous = previous,
        }
    }

    /// The ids at `place`, oldest first.
    pub(crate) fn iter(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let some = |id| (id != NONE).then_some(id);
        let first = self.ends.get(place).and_then(move |ends| some(ends.next));
        std::iter::successors(first, move |&id| some(self.links[id as usize].next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_insertion_order_whatever_is_removed() {
        let mut lists = Lists::default();
        for id in 0..6 {
            lists.push((id % 2) as usize, id);
        }
        let all = |lists: &Lists, place| lists.iter(place).collect::<Vec<_>>();
        assert_eq!(all(&lists, 0), [0, 2, 4]);
        lists.remove(0, 2);
        lists.remove(0, 0);
        lists.push(0, 2);
        assert_eq!(all(&lists, 0), [4, 2]);
        lists.remove(0, 2);
        lists.remove(0, 4);
        assert_eq!(all(&lists, 0), []);
        assert_eq!(all(&lists, 1), [1, 3, 5]);
        assert_eq!(all(&lists, 7), []);
    }
}
