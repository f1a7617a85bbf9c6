//! Which parts of a region belong to which block: the bookkeeping behind a heap for large blocks, without the memory
//! itself.
//!
//! Nothing here touches the region, so it can be tried in any order and compared with a model. All numbers are units
//! from the start of the region: pages, or lines of the cache.
//!
//! Every unit is *free* or part of a block. A free unit is *warm* if it may have memory behind it, which may hold
//! anything; any other free unit has none, and reads as zero. Fresh units are expensive to touch, so a new block goes
//! to where it fits best, which is among what was freed rather than in the untouched rest; but what is warm and not
//! used is memory that others could have, so there is a limit to it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::range_set::RangeSet;

/// The blocks of a region.
#[derive(Debug)]
pub struct Blocks {
    /// Length of each block by its start.
    used: BTreeMap<usize, usize>,
    used_units: usize,
    free: RangeSet,
    /// Part of `free`.
    warm: RangeSet,
    /// How much may be warm in any case.
    most_warm: usize,
}

impl Blocks {
    /// A region of so many units, all free and without memory; of the free ones, `most_warm` or half as many as are in
    /// use may keep their memory.
    pub fn new(units: usize, most_warm: usize) -> Blocks {
        let mut free = RangeSet::default();
        free.insert(0..units);
        Blocks { used: BTreeMap::new(), used_units: 0, free, warm: RangeSet::default(), most_warm }
    }

    /// A new block of `units` units, more than 0, its start a multiple of `align`. `warm` is told which parts of it may
    /// hold anything; the rest is zero.
    pub fn allocate(&mut self, units: usize, align: usize, warm: impl FnMut(Range<usize>)) -> Option<usize> {
        debug_assert!(units > 0 && align.is_power_of_two());
        let start = self.free.best_fit(units, align)?;
        self.occupy(start..start + units, warm);
        self.used.insert(start, units);
        Some(start)
    }

    /// The length of the block that starts there.
    pub fn len_of(&self, start: usize) -> Option<usize> {
        self.used.get(&start).copied()
    }

    /// Makes a block longer or shorter where it is. False, and nothing changed, if it is none, or what follows it is
    /// not free.
    pub fn resize(&mut self, start: usize, units: usize) -> bool {
        let Some(len) = self.len_of(start) else { return false };
        debug_assert!(units > 0);
        if units > len {
            if self.free.len_at(start + len) < units - len {
                return false;
            }
            self.occupy(start + len..start + units, |_| {});
        } else {
            self.vacate(start + units..start + len);
        }
        self.used.insert(start, units);
        true
    }

    /// Frees the block that starts there; false if there is none.
    pub fn free(&mut self, start: usize) -> bool {
        let Some(units) = self.used.remove(&start) else { return false };
        self.vacate(start..start + units);
        true
    }

    /// Forgets the block that starts there, and never uses its units again. Gives them.
    pub fn retire(&mut self, start: usize) -> Option<Range<usize>> {
        let units = self.used.remove(&start)?;
        self.used_units -= units;
        Some(start..start + units)
    }

    /// Free units whose memory the caller must give back now, so that they are not warm any more; to be asked until
    /// there are none.
    pub fn excess(&mut self) -> Option<Range<usize>> {
        if self.warm.total() <= self.most_warm.max(self.used_units / 2) {
            return None;
        }
        let range = self.warm.longest()?;
        self.warm.remove(range.clone(), |_| {});
        Some(range)
    }

    /// Lets a block begin so many units later, fewer than it has; what is in front of it is free. False if it is none.
    pub fn cut_front(&mut self, start: usize, units: usize) -> bool {
        let Some(len) = self.used.remove(&start) else { return false };
        debug_assert!(units < len);
        self.used.insert(start + units, len - units);
        self.vacate(start..start + units);
        true
    }

    /// How many units are in blocks.
    pub fn used_units(&self) -> usize {
        self.used_units
    }

    /// All blocks, in order.
    pub fn used(&self) -> impl DoubleEndedIterator<Item = Range<usize>> {
        self.used.iter().map(|(&start, &units)| start..start + units)
    }

    fn occupy(&mut self, range: Range<usize>, warm: impl FnMut(Range<usize>)) {
        self.used_units += range.len();
        self.warm.remove(range.clone(), warm);
        self.free.remove(range, |_| {});
    }

    fn vacate(&mut self, range: Range<usize>) {
        self.used_units -= range.len();
        self.warm.insert(range.clone());
        self.free.insert(range);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNITS: usize = 200;
    const MOST_WARM: usize = 20;

    #[derive(Clone, Debug)]
    enum Step {
        Allocate { units: usize, align: usize },
        Free(usize),
        Resize(usize, usize),
        Retire(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (1..40_usize, 0..5_u32).prop_map(|(units, bits)| Step::Allocate { units, align: 1 << bits }),
            4 => any::<usize>().prop_map(Step::Free),
            3 => (any::<usize>(), 1..60_usize).prop_map(|(which, units)| Step::Resize(which, units)),
            1 => any::<usize>().prop_map(Step::Retire),
        ];
        prop::collection::vec(step, 1..120)
    }

    /// What each unit is, kept unit by unit.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Unit {
        Cold,
        Warm,
        Of(usize),
        Retired,
    }

    struct Model {
        units: Vec<Unit>,
        blocks: Blocks,
    }

    impl Model {
        fn starts(&self) -> Vec<usize> {
            self.blocks.used().map(|range| range.start).collect()
        }

        fn owned(&self, start: usize) -> usize {
            self.units.iter().filter(|&&unit| unit == Unit::Of(start)).count()
        }

        fn is_free(&self, mut range: Range<usize>) -> bool {
            range.all(|unit| self.units.get(unit).is_some_and(|unit| matches!(unit, Unit::Cold | Unit::Warm)))
        }

        fn set(&mut self, range: Range<usize>, what: Unit) {
            self.units[range].fill(what);
        }

        fn allocate(&mut self, units: usize, align: usize) {
            let mut warm = Vec::new();
            let start = self.blocks.allocate(units, align, |range| warm.extend(range));
            let Some(start) = start else {
                // A stricter alignment may be missed where there is hardly room for it.
                let needed = units + align - 1;
                assert!((0..UNITS).all(|start| !self.is_free(start..start + needed)), "there was room");
                return;
            };
            assert!(start % align == 0 && self.is_free(start..start + units), "not a free place");
            warm.sort_unstable();
            let was_warm: Vec<_> = (start..start + units).filter(|&unit| self.units[unit] == Unit::Warm).collect();
            assert_eq!(warm, was_warm);
            self.set(start..start + units, Unit::Of(start));
        }

        fn resize(&mut self, start: usize, units: usize) {
            let len = self.owned(start);
            let possible = units <= len || self.is_free(start + len..start + units);
            assert_eq!(self.blocks.resize(start, units), possible);
            if units < len {
                self.set(start + units..start + len, Unit::Warm);
            } else if possible {
                self.set(start..start + units, Unit::Of(start));
            }
        }

        fn step(&mut self, step: &Step) {
            let starts = self.starts();
            let block = |which: usize| starts.get(which % starts.len().max(1)).copied();
            match *step {
                Step::Allocate { units, align } => self.allocate(units, align),
                Step::Free(which) => {
                    let Some(start) = block(which) else { return assert!(!self.blocks.free(which)) };
                    assert!(self.blocks.free(start) && !self.blocks.free(start));
                    let len = self.owned(start);
                    self.set(start..start + len, Unit::Warm);
                }
                Step::Resize(which, units) => {
                    let Some(start) = block(which) else { return assert!(!self.blocks.resize(which, units)) };
                    self.resize(start, units);
                }
                Step::Retire(which) => {
                    let Some(start) = block(which) else { return assert_eq!(self.blocks.retire(which), None) };
                    let range = start..start + self.owned(start);
                    assert_eq!(self.blocks.retire(start), Some(range.clone()));
                    self.set(range, Unit::Retired);
                }
            }
        }

        fn check(&mut self) {
            while let Some(range) = self.blocks.excess() {
                assert!(range.clone().all(|unit| self.units[unit] == Unit::Warm), "only warm units are given back");
                self.set(range, Unit::Cold);
            }
            let count = |what: fn(&Unit) -> bool| self.units.iter().filter(|unit| what(unit)).count();
            let used = count(|unit| matches!(unit, Unit::Of(_)));
            assert!(count(|unit| *unit == Unit::Warm) <= MOST_WARM.max(used / 2));
            for range in self.blocks.used() {
                assert_eq!(self.blocks.len_of(range.start), Some(range.len()));
                assert!(self.units[range.clone()].iter().all(|&unit| unit == Unit::Of(range.start)));
            }
            assert_eq!(self.blocks.used().map(|range| range.len()).sum::<usize>(), used);
        }
    }

    proptest! {
        #[test]
        fn every_unit_has_one_owner(steps in steps()) {
            let mut model = Model { units: vec![Unit::Cold; UNITS], blocks: Blocks::new(UNITS, MOST_WARM) };
            for step in &steps {
                model.step(step);
                model.check();
            }
        }
    }

    #[test]
    fn a_freed_block_is_preferred_to_what_was_never_used() {
        let mut blocks = Blocks::new(UNITS, MOST_WARM);
        let first = blocks.allocate(8, 1, |_| {}).unwrap();
        blocks.allocate(1, 1, |_| {}).unwrap();
        assert!(blocks.free(first));
        let mut warm = 0;
        assert_eq!(blocks.allocate(8, 1, |range| warm += range.len()), Some(first));
        assert_eq!(warm, 8);
    }
}
