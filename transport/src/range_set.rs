//! A set of numbers kept as ranges: what is free of a region, or what of it has pages.
//!
//! Invariant: the ranges are not empty, do not overlap and do not touch each other; `by_len` has the same ranges as
//! `by_start`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How many ranges are tried for a strict alignment before one is taken that is long enough in any case.
const TRIES_FOR_ALIGNMENT: usize = 16;

/// The set.
#[derive(Debug, Default)]
pub(crate) struct RangeSet {
    /// Length of each range by its start.
    by_start: BTreeMap<usize, usize>,
    /// Length and start of each range.
    by_len: BTreeSet<(usize, usize)>,
    total: usize,
}

impl RangeSet {
    /// How many numbers are in it.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Adds a range of which nothing is in the set yet.
    pub(crate) fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        let before = self.by_start.range(..start).next_back().map(|(&from, &len)| (from, len));
        debug_assert!(before.is_none_or(|(from, len)| from + len <= start), "the range is in the set already");
        debug_assert!(self.by_start.range(start..end).next().is_none(), "part of the range is in the set already");
        if let Some((from, len)) = before
            && from + len == start
        {
            self.take(from, len);
            start = from;
        }
        if let Some(&len) = self.by_start.get(&end) {
            self.take(end, len);
            end += len;
        }
        self.put(start, end - start);
    }

    /// Removes whatever of `range` is in the set, and tells `removed` of each piece.
    pub(crate) fn remove(&mut self, range: Range<usize>, mut removed: impl FnMut(Range<usize>)) {
        while let Some((from, len)) = self.last_before(range.end)
            && from + len > range.start
            && !range.is_empty()
        {
            self.take(from, len);
            let piece = from.max(range.start)..(from + len).min(range.end);
            self.put(from, piece.start - from);
            self.put(piece.end, from + len - piece.end);
            removed(piece);
        }
    }

    /// The start of a place for `len` numbers, a multiple of `align`: in the shortest range that has one, as far as a
    /// few tries can tell, and there the lowest.
    pub(crate) fn best_fit(&self, len: usize, align: usize) -> Option<usize> {
        let fits = |&(room, from): &(usize, usize)| {
            let start = from.checked_next_multiple_of(align)?;
            (start - from <= room && room - (start - from) >= len).then_some(start)
        };
        let close = self.by_len.range((len, 0)..).take(TRIES_FOR_ALIGNMENT).find_map(fits);
        close.or_else(|| self.by_len.range((len.checked_add(align - 1)?, 0)..).next().and_then(fits))
    }

    /// The length of the range that begins at `start`, 0 if none does.
    pub(crate) fn len_at(&self, start: usize) -> usize {
        self.by_start.get(&start).copied().unwrap_or(0)
    }

    /// The longest range.
    pub(crate) fn longest(&self) -> Option<Range<usize>> {
        self.by_len.last().map(|&(len, start)| start..start + len)
    }

    fn last_before(&self, end: usize) -> Option<(usize, usize)> {
        self.by_start.range(..end).next_back().map(|(&from, &len)| (from, len))
    }

    fn put(&mut self, start: usize, len: usize) {
        if len > 0 {
            self.by_start.insert(start, len);
            self.by_len.insert((len, start));
            self.total += len;
        }
    }

    fn take(&mut self, start: usize, len: usize) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
        self.total -= len;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const NUMBERS: usize = 64;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize, usize),
        Remove(usize, usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let range = || (0..NUMBERS, 0..12_usize);
        let insert = range().prop_map(|(start, len)| Step::Insert(start, len));
        let remove = range().prop_map(|(start, len)| Step::Remove(start, len));
        prop::collection::vec(prop_oneof![insert, remove], 1..60)
    }

    /// The ranges of a model that is a set of numbers.
    fn runs(model: &BTreeSet<usize>) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &number in model {
            match runs.last_mut() {
                Some((start, len)) if *start + *len == number => *len += 1,
                _ => runs.push((number, 1)),
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn is_a_set_of_numbers(steps in steps(), len in 1..9_usize, align_bits in 0..4_u32) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(start, len) => {
                        // Only what is not in it may be inserted.
                        set.remove(start..start + len, |_| {});
                        set.insert(start..start + len);
                        model.extend(start..start + len);
                    }
                    Step::Remove(start, len) => {
                        let mut removed = BTreeSet::new();
                        set.remove(start..start + len, |piece| removed.extend(piece));
                        let expected: BTreeSet<_> = (start..start + len).filter(|number| model.remove(number)).collect();
                        prop_assert_eq!(removed, expected);
                    }
                }
                let runs = runs(&model);
                prop_assert_eq!(set.by_start.clone().into_iter().collect::<Vec<_>>(), runs.clone());
                let by_len: BTreeSet<_> = runs.iter().map(|&(start, len)| (len, start)).collect();
                prop_assert_eq!(&set.by_len, &by_len);
                prop_assert_eq!(set.total(), model.len());

                let align = 1 << align_bits;
                let places = |run: &(usize, usize)| {
                    let start = run.0.next_multiple_of(align);
                    (start + len <= run.0 + run.1).then_some((run.1, start))
                };
                // So few ranges that best fit is exact here.
                let best = runs.iter().filter_map(places).min();
                prop_assert_eq!(set.best_fit(len, align), best.map(|(_, start)| start));
            }
        }
    }

    #[test]
    fn a_strict_alignment_is_found_behind_many_ranges_that_are_too_short_for_it() {
        let mut set = RangeSet::default();
        (0..100).for_each(|index| set.insert(index * 64 + 1..index * 64 + 40));
        set.insert(100_000..100_300);
        assert_eq!(set.best_fit(20, 128), Some(128 * 782));
        assert_eq!(set.best_fit(39, 1), Some(1));
        assert_eq!(set.best_fit(301, 1), None);
        assert_eq!(set.best_fit(1, usize::MAX / 2 + 1), None);
    }
}
