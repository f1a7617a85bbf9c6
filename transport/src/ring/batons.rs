//! Batons: blocks of memory that two peers pass to and fro.
//!
//! Whoever holds a baton may write a payload into it, and hands it over with the message; having read that, the other holds it. So in an
//! exchange each writes lines that it has read last, which lie in its own cache. Lines that one side always writes and the other always
//! reads have to be taken away from the reader before each writing, one after the other, which takes four times as long as reading them
//! once they do not fit the nearest cache (docs/decisions/0027). Where traffic goes one way all batons end up at the receiver, and payloads
//! take the data area of the ring, past the caches.
//!
//! Invariants:
//! 1. A baton is held by one of the two, or by nobody while a cell that names it is in the ring.
//! 2. Only its holder touches its bytes; besides, the consumer of the cell that names it, which holds it once it has popped the cell.

use crate::Passable;

/// How many there are for each two peers.
pub(crate) const BATONS: usize = 64;
/// Bytes of each: as many as the longest payload has.
pub(crate) const BATON_SIZE: usize = 8 << 10;
/// Bytes of all of two peers.
pub(crate) const BATONS_SIZE: usize = BATONS * BATON_SIZE;

/// In a cell, instead of a place in the data area: the payload is in the baton whose number the lower bits are.
const IN_BATON: usize = 1 << 31;

/// The batons that one of two peers holds.
#[derive(Debug)]
pub(crate) struct Batons {
    /// Their numbers, as many as `is_held` has bits; the one that came last is given first. Not on the heap: every link has batons, and
    /// most links no messages.
    held: [u8; BATONS],
    /// The same, a bit each.
    is_held: u64,
    /// Those that this side has made sure to have pages, a bit each.
    reserved: u64,
}

impl Batons {
    /// Those of two peers of which this side holds one half before there was any message: the first, if it `is_first`.
    pub(crate) fn new(is_first: bool) -> Batons {
        let first = if is_first { 0 } else { BATONS / 2 };
        let mut batons = Batons { held: [0; BATONS], is_held: 0, reserved: 0 };
        (first..first + BATONS / 2).for_each(|number| batons.take(number));
        batons
    }

    /// Gives one away, with pages behind it, if this side holds one. `reserve(from, to)` makes sure that there are pages behind these bytes
    /// of all batons.
    pub(crate) fn give(&mut self, mut reserve: impl FnMut(usize, usize) -> bool) -> Option<usize> {
        if self.is_held == 0 {
            return None;
        }
        let number = usize::from(self.held[self.held() - 1]);
        if self.reserved & 1 << number == 0 {
            if !reserve(number * BATON_SIZE, (number + 1) * BATON_SIZE) {
                return None;
            }
            self.reserved |= 1 << number;
        }
        self.is_held &= !(1 << number);
        Some(number)
    }

    /// How much goes by them.
    pub(crate) fn passable(&self) -> Passable {
        Passable { now: self.held() * BATON_SIZE, most: BATONS_SIZE }
    }

    /// How many this side holds.
    pub(crate) fn held(&self) -> usize {
        self.is_held.count_ones() as usize
    }

    /// Takes one that has come with a message. One that this side holds already has not come from a correct peer.
    #[inline(never)]
    pub(crate) fn take(&mut self, number: usize) {
        if self.is_held & 1 << number == 0 {
            self.held[self.held()] = number as u8;
            self.is_held |= 1 << number;
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

/// The baton in which a payload of `len` bytes lies, if it is in one: `Err` if there is none such.
#[inline]
pub(super) fn number_of(place: usize, len: usize) -> Option<Result<usize, ()>> {
    let number = number_at(place);
    let exists = number < BATONS && len <= BATON_SIZE;
    (place & IN_BATON != 0).then_some(exists.then_some(number).ok_or(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_held_by_one_of_two() {
        let (mut one, mut other) = (Batons::new(true), Batons::new(false));
        let mut reserved = Vec::new();
        let mut reserve = |from, to| {
            reserved.push((from, to));
            true
        };
        // To and fro, it is the same one.
        let first = one.give(&mut reserve).unwrap();
        other.take(first);
        assert_eq!(other.give(&mut reserve), Some(first));
        one.take(first);
        assert_eq!(one.give(&mut reserve), Some(first));
        other.take(first);
        // One way, they come to an end.
        while let Some(number) = one.give(&mut reserve) {
            other.take(number);
        }
        let mut all = other.held;
        all.sort_unstable();
        assert!(all.into_iter().eq(0..BATONS as u8));
        other.take(first);
        assert_eq!(other.held(), BATONS, "one came twice");
        assert_eq!(reserved.iter().filter(|&&(from, _)| from == first * BATON_SIZE).count(), 2, "once by each side");
    }

    #[test]
    fn without_pages_none_is_given() {
        let mut batons = Batons::new(true);
        assert_eq!(batons.give(|_, _| false), None);
        assert!(batons.give(|_, _| true).is_some());
    }

    #[test]
    fn what_a_cell_says_is_checked() {
        assert_eq!(number_of(64, 100), None);
        assert_eq!(number_of(place_of(3), BATON_SIZE), Some(Ok(3)));
        assert_eq!(number_of(place_of(3), BATON_SIZE + 1), Some(Err(())));
        assert_eq!(number_of(place_of(BATONS), 100), Some(Err(())));
    }
}
