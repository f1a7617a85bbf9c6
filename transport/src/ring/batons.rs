//! Batons: blocks of memory that two peers pass to and fro.
//!
//! Whoever holds a baton may write a payload into it, and hands it over with the message; having read that, the other
//! holds it. So in an exchange each writes lines that it has read last, which lie in its own cache. Lines that one side
//! always writes and the other always reads have to be taken away from the reader before each writing, one after the
//! other, which takes four times as long as reading them once they do not fit the nearest cache (docs/decisions/0027).
//! Where traffic goes one way batons do not come back, and payloads take the data area of the ring, past the caches. To
//! put pages behind a baton takes longer than many messages, so before some come back only a few are put to use
//! (docs/decisions/0037).
//!
//! Invariants:
//! 1. A baton is held by one of the two, or by nobody while a cell that names it is in the ring.
//! 2. Only its holder touches its bytes; besides, the consumer of the cell that names it, which holds it once it has
//!    popped the cell.

use crate::Passable;

/// Bytes of each: as many as the longest payload has.
pub(crate) const BATON_SIZE: usize = 32 << 10;
/// Pages are put behind so many bytes of a baton at once: most payloads are short.
const RESERVED_AT_ONCE: usize = 8 << 10;
/// So many that were never used one side gives in a row, before it has got another.
const UNUSED_IN_A_ROW: u16 = 4;
/// Longer payloads are parts of a message, which goes on by batons once it has begun to.
const LONGEST_ALONE: usize = BATON_SIZE / 2;
/// How many there are for each two peers: no more than pay, which few peers have, and no fewer than these.
const MOST: usize = 128;
const LEAST: usize = 16;
/// So many each peer has in common with all others, as long as [`LEAST`] allows: the memory behind them is used by
/// whoever exchanges long messages.
const OF_A_PEER: usize = 1024;

/// In a cell, instead of a place in the data area: the payload is in the baton whose number the lower bits are.
const IN_BATON: usize = 1 << 31;

/// How many batons each two of so many peers have.
pub(crate) fn batons_of_two(peers: usize) -> usize {
    (OF_A_PEER / peers.max(1)).clamp(LEAST, MOST)
}

/// What one of two peers knows about a baton.
#[derive(Clone, Copy, Debug, Default)]
struct Baton {
    is_held: bool,
    is_used: bool,
    /// This side has made sure that so many bytes from its start have pages.
    reserved: u16,
}

/// What one of two peers holds that was never used.
#[derive(Clone, Copy, Debug)]
struct Unused {
    batons: u16,
    /// How many of them it has given since it last got one.
    in_a_row: u16,
}

impl Unused {
    /// One is given.
    fn give(&mut self) {
        self.batons -= 1;
        self.in_a_row += 1;
    }

    /// Whether a side that holds so many, with those that were used, gives one for a payload that stands alone.
    fn allow(&self, held: usize) -> bool {
        held > self.batons.into() || (held > 0 && self.in_a_row < UNUSED_IN_A_ROW)
    }
}

/// The batons that one of two peers holds.
#[derive(Debug)]
pub(crate) struct Batons {
    /// How many the two have.
    all: u16,
    /// Whether it has the first half of them in the beginning, or the second.
    is_first: bool,
    /// The numbers of those that it holds; the next to be given stands last. Empty until one is given or taken: most
    /// links never are used.
    held: Vec<u16>,
    /// How many have come since the last was given: they are given before all others, in the order in which they came,
    /// so that an answer that is cut like its message finds in each baton as many lines as it writes.
    come: usize,
    /// By number; likewise.
    batons: Vec<Baton>,
    mine: Unused,
    theirs: Unused,
}

impl Batons {
    /// Those of two peers with so many of them, of which this side holds one half before there was any message: the
    /// first, if it `is_first`.
    pub(crate) fn new(all: usize, is_first: bool) -> Batons {
        let half = Unused { batons: all as u16 / 2, in_a_row: 0 };
        Batons { all: all as u16, is_first, held: Vec::new(), come: 0, batons: Vec::new(), mine: half, theirs: half }
    }

    #[cold]
    fn begin(&mut self) {
        let half = self.all / 2;
        let first = if self.is_first { 0 } else { half };
        self.held = Vec::with_capacity(self.all.into());
        self.batons = vec![Baton::default(); self.all.into()];
        self.held.extend((first..first + half).rev());
        (first..first + half).for_each(|number| self.batons[usize::from(number)].is_held = true);
    }

    /// Gives one away, with pages behind `len` bytes of it, if this side holds one that may be put to use.
    /// `reserve(from, to)` makes sure that there are pages behind these bytes of all batons.
    pub(crate) fn give(&mut self, len: usize, mut reserve: impl FnMut(usize, usize) -> bool) -> Option<usize> {
        if self.batons.is_empty() {
            self.begin();
        }
        let number = usize::from(*self.held.last()?);
        let baton = &mut self.batons[number];
        let reserved = usize::from(baton.reserved);
        if len > reserved {
            if len <= LONGEST_ALONE && !self.mine.allow(self.held.len()) {
                return None;
            }
            let needed = len.next_multiple_of(RESERVED_AT_ONCE);
            if !reserve(number * BATON_SIZE + reserved, number * BATON_SIZE + needed) {
                return None;
            }
            baton.reserved = needed as u16;
            if !std::mem::replace(&mut baton.is_used, true) {
                self.mine.give();
            }
        }
        baton.is_held = false;
        self.held.pop();
        self.come = 0;
        self.theirs.in_a_row = 0;
        Some(number)
    }

    /// How much goes by them.
    pub(crate) fn passable(&self) -> Passable {
        self.passable_by(self.mine, self.held())
    }

    /// How much comes by them: what is not held here, the other side holds.
    pub(crate) fn passable_from(&self) -> Passable {
        self.passable_by(self.theirs, usize::from(self.all) - self.held())
    }

    fn passable_by(&self, unused: Unused, held: usize) -> Passable {
        let now = if unused.allow(held) { held } else { 0 };
        Passable { now: now * BATON_SIZE, most: usize::from(self.all) * BATON_SIZE }
    }

    /// How many this side holds.
    pub(crate) fn held(&self) -> usize {
        if self.batons.is_empty() { usize::from(self.all / 2) } else { self.held.len() }
    }

    /// Takes one that has come with a message. One that this side holds already has not come from a correct peer.
    #[inline(never)]
    pub(crate) fn take(&mut self, number: usize) {
        if self.batons.is_empty() {
            self.begin();
        }
        let baton = &mut self.batons[number];
        if !std::mem::replace(&mut baton.is_held, true) {
            if !std::mem::replace(&mut baton.is_used, true) {
                self.theirs.give();
            }
            self.mine.in_a_row = 0;
            self.held.insert(self.held.len() - self.come, number as u16);
            self.come += 1;
        }
    }
}

/// What a cell says of a payload in that baton.
pub(super) fn place_of(number: usize) -> usize {
    IN_BATON | number
}

/// The number in what a cell has been found to say.
#[inline]
pub(super) fn number_at(place: usize) -> usize {
    place & !IN_BATON
}

/// Which of so many batons a payload of `len` bytes lies in, if it is in one: `Err` if there is none such.
#[inline]
pub(super) fn number_of(place: usize, len: usize, all: usize) -> Option<Result<usize, ()>> {
    let number = number_at(place);
    let exists = number < all && len <= BATON_SIZE;
    (place & IN_BATON != 0).then_some(exists.then_some(number).ok_or(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATONS: usize = 64;

    #[test]
    fn each_is_held_by_one_of_two() {
        let (mut one, mut other) = (Batons::new(BATONS, true), Batons::new(BATONS, false));
        let mut reserved = Vec::new();
        let mut reserve = |from, to| {
            reserved.push((from, to));
            true
        };
        // To and fro, it is the same one.
        let first = one.give(9000, &mut reserve).unwrap();
        other.take(first);
        assert_eq!(other.give(9000, &mut reserve), Some(first));
        one.take(first);
        assert_eq!(one.give(9000, &mut reserve), Some(first));
        other.take(first);
        // One way, they come to an end.
        while let Some(number) = one.give(BATON_SIZE, &mut reserve) {
            other.take(number);
        }
        let mut all = other.held.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..BATONS as u16));
        other.take(first);
        assert_eq!(other.held(), BATONS, "one came twice");
        let behind_first = (first * BATON_SIZE, first * BATON_SIZE + 2 * RESERVED_AT_ONCE);
        assert_eq!(reserved.iter().filter(|&&pages| pages == behind_first).count(), 2, "once by each side");
    }

    #[test]
    fn few_are_put_to_use_before_any_come_back() {
        let (mut one, mut other) = (Batons::new(BATONS, true), Batons::new(BATONS, false));
        let window = |from: &mut Batons, to: &mut Batons, len: usize, most: usize| {
            let given: Vec<usize> = (0..most).map_while(|_| from.give(len, |_, _| true)).collect();
            given.iter().for_each(|&given| to.take(given));
            assert_eq!((from.passable(), from.passable_from()), (to.passable_from(), to.passable()));
            given.len()
        };
        let few = usize::from(UNUSED_IN_A_ROW);
        assert_eq!([window(&mut one, &mut other, 100, BATONS), window(&mut one, &mut other, 100, BATONS)], [few, 0]);
        assert_eq!(one.passable().now, 0);
        // Where windows come back, so do batons, and more are put to use.
        assert_eq!(window(&mut other, &mut one, LONGEST_ALONE, BATONS), 2 * few);
        assert_eq!([window(&mut one, &mut other, 100, 1), window(&mut other, &mut one, 100, 1)], [1, 1]);
        assert_eq!(window(&mut one, &mut other, LONGEST_ALONE, BATONS), 3 * few);
        // A message of several parts goes on by batons.
        assert_eq!(window(&mut one, &mut other, LONGEST_ALONE + 1, BATONS), BATONS / 2 - 2 * few);
    }

    #[test]
    fn what_has_come_together_goes_in_the_same_order() {
        let (mut one, mut other) = (Batons::new(BATONS, true), Batons::new(BATONS, false));
        let pass = |from: &mut Batons, to: &mut Batons, number: usize| -> Vec<usize> {
            (0..number).map(|_| from.give(1, |_, _| true).unwrap()).inspect(|&given| to.take(given)).collect()
        };
        let message = pass(&mut one, &mut other, 3);
        assert_eq!(pass(&mut other, &mut one, 3), message);
        assert_eq!(pass(&mut one, &mut other, 2), message[..2]);
        // A longer answer begins with what has come last, then goes on with what this side has not given yet.
        let answer = pass(&mut other, &mut one, 5);
        assert_eq!(answer[..2], message[..2]);
        assert_eq!(pass(&mut one, &mut other, 6), [&answer[..], &message[2..]].concat());
    }

    #[test]
    fn pages_are_put_behind_what_is_used() {
        let mut batons = Batons::new(BATONS, true);
        let mut pages = Vec::new();
        for len in [1, RESERVED_AT_ONCE, RESERVED_AT_ONCE + 1, 100, BATON_SIZE] {
            let number = batons
                .give(len, |from, to| {
                    pages.push((from, to));
                    true
                })
                .unwrap();
            batons.take(number);
        }
        assert_eq!(pages, [(0, 1), (1, 2), (2, 4)].map(|(from, to)| (from * RESERVED_AT_ONCE, to * RESERVED_AT_ONCE)));
    }

    #[test]
    fn few_peers_have_more_of_them() {
        assert_eq!([0, 1, 2, 8, 16, 64, 4096].map(batons_of_two), [128, 128, 128, 128, 64, 16, 16]);
        let unused = Batons::new(128, true);
        assert_eq!((unused.held(), unused.passable().most), (64, 4 << 20));
    }

    #[test]
    fn without_pages_none_is_given() {
        let mut batons = Batons::new(BATONS, true);
        assert_eq!(batons.give(1, |_, _| false), None);
        assert!(batons.give(1, |_, _| true).is_some());
    }

    #[test]
    fn what_a_cell_says_is_checked() {
        assert_eq!(number_of(BATONS, 100, BATONS), None);
        assert_eq!(number_of(place_of(3), BATON_SIZE, 4), Some(Ok(3)));
        assert_eq!(number_of(place_of(3), BATON_SIZE + 1, 4), Some(Err(())));
        assert_eq!(number_of(place_of(BATONS), 100, BATONS), Some(Err(())));
    }
}
