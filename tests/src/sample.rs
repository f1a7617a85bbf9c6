//! How much of what repeats itself a test run takes.
//!
//! Many checks hold in many modes: by every protocol, over every transport, at every number of ranks. Each of them is a
//! test of its own. `cargo xtask test --all` runs all of them; other runs take a sample, which a seed decides. The seed
//! is another one each time, so that in the course of some runs everything has its turn; and with the same seed the
//! sample is the same.

use std::slice;

/// Names the tier: `quick`, `usual` or `all`.
const TIER: &str = "RWMPI_TEST_TIER";
/// Names the seed.
const SEED: &str = "RWMPI_TEST_SEED";

/// How much is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A glance, while one works.
    Quick,
    /// Every check, of its modes some.
    Usual,
    /// Everything.
    All,
}

/// What a run takes.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    tier: Tier,
    seed: u64,
}

impl Sample {
    /// What `cargo xtask test` wants. Everything, if the tests are run by hand.
    ///
    /// # Panics
    /// If the environment says what this does not understand.
    pub fn from_environment() -> Sample {
        let tier = match std::env::var(TIER).as_deref() {
            Ok("quick") => Tier::Quick,
            Ok("usual") => Tier::Usual,
            Ok("all") | Err(_) => Tier::All,
            Ok(other) => panic!("{TIER}={other}: it is quick, usual or all"),
        };
        let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{SEED}={text}: it is a number"));
        Sample { tier, seed: std::env::var(SEED).map_or(0, number) }
    }

    /// How much is wanted.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The ways in which the test of that name is to be done: all, or one of them.
    ///
    /// # Panics
    /// If there is no way.
    pub fn ways<'a, T>(&self, test: &str, ways: &'a [T]) -> &'a [T] {
        match self.tier {
            Tier::All => ways,
            Tier::Quick | Tier::Usual => slice::from_ref(&ways[self.choose(test, ways.len())]),
        }
    }

    /// The ways in which the test of that name is to be done: all, or every other one.
    ///
    /// # Panics
    /// If there is no way.
    pub fn half<T: Copy>(&self, test: &str, ways: &[T]) -> Vec<T> {
        match self.tier {
            Tier::All => ways.to_vec(),
            Tier::Quick | Tier::Usual => {
                ways.iter().copied().skip(self.choose(test, ways.len().min(2))).step_by(2).collect()
            }
        }
    }

    /// Whether the test of that name is among the one in so many that this run takes; in the tier of all, it is.
    pub fn takes(&self, test: &str, one_in: usize) -> bool {
        self.tier == Tier::All || self.choose(test, one_in) == 0
    }

    /// A number below `choices`, as seed and name decide.
    fn choose(&self, name: &str, choices: usize) -> usize {
        // FNV-1a, then the last step of SplitMix64, after which every bit depends on all of the name and the seed.
        let word = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |word, byte| (word ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let word = word ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % choices as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [u32; 4] = [1, 2, 3, 4];

    #[test]
    fn the_same_seed_chooses_the_same() {
        for seed in 0..10 {
            let sample = Sample { tier: Tier::Usual, seed };
            assert_eq!(sample.ways("a/b", &WAYS), sample.ways("a/b", &WAYS));
            assert_eq!(sample.takes("a/b", 3), sample.takes("a/b", 3));
        }
    }

    #[test]
    fn in_some_runs_everything_has_its_turn() {
        for test in ["a", "b", "suites/sr/barrier"] {
            let samples = (0..100).map(|seed| Sample { tier: Tier::Usual, seed });
            let chosen: Vec<u32> = samples.clone().flat_map(|sample| sample.ways(test, &WAYS).to_vec()).collect();
            assert!(WAYS.iter().all(|way| chosen.contains(way)), "{test}: {chosen:?}");
            let taken = samples.filter(|sample| sample.takes(test, 4)).count();
            assert!((10..50).contains(&taken), "{test}: {taken} times");
        }
    }

    #[test]
    fn half_of_the_ways_are_every_other_one() {
        let halves: Vec<Vec<u32>> = (0..100).map(|seed| Sample { tier: Tier::Usual, seed }.half("a", &WAYS)).collect();
        assert!(halves.iter().all(|half| *half == [1, 3] || *half == [2, 4]), "{halves:?}");
        assert!(halves.contains(&vec![1, 3]) && halves.contains(&vec![2, 4]));
        assert_eq!(Sample { tier: Tier::Usual, seed: 1 }.half("a", &[5]), [5]);
    }

    #[test]
    fn all_is_all() {
        let sample = Sample { tier: Tier::All, seed: 7 };
        assert_eq!(sample.half("a", &WAYS), WAYS);
        assert_eq!(sample.ways("a", &WAYS), WAYS);
        assert!((0..100).all(|number| sample.takes(&number.to_string(), 100)));
    }
}
