//! What a rank does alone: sorting its keys into buckets, and ranking the keys that it was given.

use super::problem::Problem;
use std::hint;
use std::time::Instant;

/// Writes to `sizes`, one per bucket, how many of `keys` are in each.
pub fn count_buckets(keys: &[u32], shift: u32, sizes: &mut [u32]) {
    // Four tables, so that counting a key does not wait for the store of one just before it in the same bucket.
    let mut tables = vec![[0_u32; 4]; sizes.len()];
    let (groups, rest) = keys.as_chunks::<4>();
    for group in groups {
        for (table, key) in group.iter().enumerate() {
            tables[(key >> shift) as usize][table] += 1;
        }
    }
    for key in rest {
        tables[(key >> shift) as usize][0] += 1;
    }
    for (size, table) in sizes.iter_mut().zip(tables) {
        *size = table.iter().sum();
    }
}

/// How keys are sorted into buckets. Which way is faster is a matter of the processor, and almost by two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One key after the other.
    Straight,
    /// In blocks, each in passes: were a place looked up and written to at once, the next look-up would have to wait
    /// until it is known that it does not read what was just written. And on some processors stores wait for their
    /// cache lines one after the other, loads do not: so what will be written is read first.
    InPasses,
}

impl Way {
    /// The faster one for these keys, which are sorted on return, as by [`sort_into_buckets`].
    pub fn faster(keys: &[u32], shift: u32, sizes: &[u32], sorted: &mut [u32]) -> Way {
        let mut time = |way| {
            let start = Instant::now();
            sort_into_buckets(keys, shift, sizes, sorted, way);
            start.elapsed()
        };
        // The first time, pages are provided.
        time(Way::Straight);
        if time(Way::InPasses) < time(Way::Straight) { Way::InPasses } else { Way::Straight }
    }
}

/// Writes `keys` to `sorted`, bucket after bucket, `sizes` being the sizes of the buckets.
pub fn sort_into_buckets(keys: &[u32], shift: u32, sizes: &[u32], sorted: &mut [u32], way: Way) {
    const BLOCK: usize = 512;
    let mut ends: Vec<u32> = starts(sizes).collect();
    let mut next_place = |key: u32| {
        let end = &mut ends[(key >> shift) as usize];
        *end += 1;
        *end - 1
    };
    if way == Way::Straight {
        return keys.iter().for_each(|&key| sorted[next_place(key) as usize] = key);
    }
    let mut places = [0_u32; BLOCK];
    for block in keys.chunks(BLOCK) {
        places.iter_mut().zip(block).for_each(|(place, &key)| *place = next_place(key));
        hint::black_box(places[..block.len()].iter().fold(0, |all, &place| all ^ sorted[place as usize]));
        for (&place, &key) in places.iter().zip(block) {
            sorted[place as usize] = key;
        }
    }
}

/// Where each bucket starts.
pub fn starts(sizes: &[u32]) -> impl Iterator<Item = u32> {
    sizes.iter().scan(0, |end, size| {
        let start = *end;
        *end += size;
        Some(start)
    })
}

/// The ranks of the keys that one process ranks: those of a range of values.
#[derive(Debug)]
pub struct Ranking {
    /// The values, from the lowest to one above the highest.
    values: std::ops::Range<u32>,
    /// How many keys lower than all of these there are, on lower ranks.
    keys_below: u64,
    /// For each value, how many of the keys here are at most as large.
    cumulative: Vec<u32>,
}

impl Ranking {
    /// Room for the ranking of any share of the values.
    pub fn new(problem: &Problem) -> Self {
        Ranking { values: 0..0, keys_below: 0, cumulative: vec![0; problem.key_values()] }
    }

    /// Ranks `keys`, all of which lie in `values`; `keys_below` keys are lower and elsewhere.
    pub fn rank(&mut self, keys: [&[u32]; 2], values: std::ops::Range<u32>, keys_below: u64) {
        let counts = &mut self.cumulative[..values.len()];
        counts.fill(0);
        for keys in keys {
            count(keys, values.start, counts);
        }
        let mut sum = 0;
        for count in counts {
            sum += *count;
            *count = sum;
        }
        (self.values, self.keys_below) = (values, keys_below);
    }

    /// How many keys anywhere are lower than `key`; `None` if `key` is ranked elsewhere.
    pub fn keys_below(&self, key: u32) -> Option<u64> {
        self.values.contains(&key).then(|| match key - self.values.start {
            0 => self.keys_below,
            offset => self.keys_below + u64::from(self.cumulative[offset as usize - 1]),
        })
    }

    /// Puts every one of `keys`, those ranked last, in the place that its rank tells.
    ///
    /// # Panics
    /// If the ranks are not those of these keys.
    pub fn sort(&self, keys: [&[u32]; 2]) -> Vec<u32> {
        let mut places = self.cumulative[..self.values.len()].to_vec();
        let mut sorted = vec![0; keys.iter().map(|keys| keys.len()).sum()];
        for &key in keys.into_iter().flatten() {
            let place = &mut places[(key - self.values.start) as usize];
            *place -= 1;
            sorted[*place as usize] = key;
        }
        sorted
    }
}

/// Counts how often each value, from `first` on, is among `keys`. (A function of its own is compiled to a faster loop.)
#[inline(never)]
fn count(keys: &[u32], first: u32, counts: &mut [u32]) {
    for key in keys {
        counts[(key - first) as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::super::problem::{ITERATIONS, Problem};
    use super::{Ranking, Way, count_buckets, sort_into_buckets};
    use crate::Class;

    fn all_test_keys_right(class: Class) -> bool {
        let problem = Problem::of(class);
        let (mut keys, mut ranking) = (keys::generate(&problem, 0, 1), Ranking::new(&problem));
        let mut sorted = vec![0; keys.len()];
        (1..=ITERATIONS).all(|iteration| {
            keys::replace(&mut keys, iteration, &problem);
            let test_keys = problem.test_positions.map(|position| keys[position]);
            let mut sizes = vec![0; problem.buckets()];
            count_buckets(&keys, problem.bucket_shift(), &mut sizes);
            let way = if iteration % 2 == 0 { Way::Straight } else { Way::InPasses };
            sort_into_buckets(&keys, problem.bucket_shift(), &sizes, &mut sorted, way);
            ranking.rank([&sorted, &[]], 0..problem.key_values() as u32, 0);
            let in_order = ranking.sort([&sorted, &[]]).is_sorted();
            in_order
                && (0..5).all(|test| ranking.keys_below(test_keys[test]) == Some(problem.test_rank(test, iteration)))
        })
    }

    #[test]
    fn the_test_keys_have_the_ranks_of_the_definition() {
        assert!(all_test_keys_right(Class::S));
        assert!(all_test_keys_right(Class::W));
    }
}
