//! Sizes and reference values of the classes.

use crate::Class;

/// How often the keys are ranked in the timed section.
pub const ITERATIONS: u32 = 10;

/// How many keys have a known rank.
pub const TEST_KEYS: usize = 5;

/// A class's problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// Keys of all ranks together, as a power of two.
    pub log2_keys: u32,
    /// Keys are below this power of two.
    pub log2_key_values: u32,
    /// Buckets that the values are divided into, as a power of two.
    pub log2_buckets: u32,
    /// Number of processes that the definition allows at most.
    pub most_processes: usize,
    /// Where in the sequence of all keys the test keys stand.
    pub test_positions: [usize; TEST_KEYS],
    /// Their ranks, were it not for the two keys that every iteration replaces.
    test_ranks: [i64; TEST_KEYS],
    /// `(sign, start)` for each: its rank in iteration `n` has `sign·(n − start)` added.
    test_rank_changes: [(i64, i64); TEST_KEYS],
}

impl Problem {
    /// The problem of `class`.
    pub fn of(class: Class) -> Self {
        let (sizes, test_positions, test_ranks, test_rank_changes) = match class {
            Class::S => (
                [16, 11, 9],
                [48_427, 17_148, 23_627, 62_548, 4_431],
                [0, 18, 346, 64_917, 65_463],
                [(1, 0), (1, 0), (1, 0), (-1, 0), (-1, 0)],
            ),
            Class::W => (
                [20, 16, 10],
                [357_773, 934_767, 875_723, 898_999, 404_505],
                [1_249, 11_698, 1_039_987, 1_043_896, 1_048_018],
                [(1, 2), (1, 2), (-1, 0), (-1, 0), (-1, 0)],
            ),
            Class::A => (
                [23, 19, 10],
                [2_112_377, 662_041, 5_336_171, 3_642_833, 4_250_760],
                [104, 17_523, 123_928, 8_288_932, 8_388_264],
                [(1, 1), (1, 1), (1, 1), (-1, 1), (-1, 1)],
            ),
            Class::B => (
                [25, 21, 10],
                [41_869, 812_306, 5_102_857, 18_232_239, 26_860_214],
                [33_422_937, 10_244, 59_149, 33_135_281, 99],
                [(-1, 0), (1, 0), (1, 0), (-1, 0), (1, 0)],
            ),
            Class::C => (
                [27, 23, 10],
                [44_172_927, 72_999_161, 74_326_391, 129_606_274, 21_736_814],
                [61_147, 882_988, 266_290, 133_997_595, 133_525_895],
                [(1, 0), (1, 0), (1, 0), (-1, 0), (-1, 0)],
            ),
        };
        let [log2_keys, log2_key_values, log2_buckets] = sizes;
        let most_processes = if class == Class::S { 128 } else { 1024 };
        Problem {
            log2_keys,
            log2_key_values,
            log2_buckets,
            most_processes,
            test_positions,
            test_ranks,
            test_rank_changes,
        }
    }

    /// Keys that each of `ranks` ranks owns.
    pub fn keys_per_rank(&self, ranks: usize) -> usize {
        (1 << self.log2_keys) / ranks
    }

    /// How many values a key may have.
    pub fn key_values(&self) -> usize {
        1 << self.log2_key_values
    }

    /// How many buckets there are.
    pub fn buckets(&self) -> usize {
        1 << self.log2_buckets
    }

    /// A key's bucket is the key shifted right by this.
    pub fn bucket_shift(&self) -> u32 {
        self.log2_key_values - self.log2_buckets
    }

    /// The rank that test key `index` must have in iteration `iteration`.
    pub fn test_rank(&self, index: usize, iteration: u32) -> u64 {
        let (sign, start) = self.test_rank_changes[index];
        (self.test_ranks[index] + sign * (i64::from(iteration) - start)) as u64
    }
}
