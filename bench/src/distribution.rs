//! How samples are distributed: what a summary hides, clusters above all (McMPI thesis, section 5.3.6, figures 52 to
//! 59).

use crate::digits::{microseconds, rounded};
use serde::{Deserialize, Serialize};

/// Bins in a factor of ten: each is 6 % wide.
const BINS_PER_DECADE: f64 = 40.0;
/// Nothing is shorter than this: what is left when the clock's own time is taken off can be nothing at all. µs.
const LEAST_US: f64 = 1e-3;
/// The longest bar in the terminal.
const BAR: f64 = 50.0;

/// The upper end of the samples, and how many there are of which length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// One sample in a hundred is longer.
    pub percentile99_us: f64,
    /// The longest sample.
    pub max_us: f64,
    /// Those that have samples, ascending.
    pub bins: Vec<Bin>,
}

/// Samples of about the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// No sample is shorter, but for those below a nanosecond.
    pub from_us: f64,
    /// All are shorter.
    pub to_us: f64,
    /// Their share of all samples.
    pub share: f64,
}

impl Distribution {
    /// That of ascending values; `None` if there are none.
    pub fn of(sorted: &[f64]) -> Option<Self> {
        let place = |value: f64| (value.max(LEAST_US).log10() * BINS_PER_DECADE).floor();
        let border = |place: f64| rounded(10_f64.powf(place / BINS_PER_DECADE), 6);
        let bin = |values: &[f64]| Bin {
            from_us: border(place(values[0])),
            to_us: border(place(values[0]) + 1.0),
            share: rounded(values.len() as f64 / sorted.len() as f64, 8),
        };
        Some(Distribution {
            percentile99_us: rounded(*sorted.get((sorted.len() * 99 / 100).saturating_sub(1))?, 5),
            max_us: rounded(*sorted.last()?, 5),
            bins: sorted.chunk_by(|a, b| place(*a) == place(*b)).map(bin).collect(),
        })
    }

    /// The bins up to where one sample in a hundred is longer, with bars.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let most = self.bins.iter().map(|bin| bin.share).fold(0.0, f64::max);
        self.bins.iter().take_while(|bin| bin.from_us <= self.percentile99_us).map(move |bin| {
            let bar = "#".repeat((bin.share / most * BAR).round() as usize);
            let (from, to) = (microseconds(bin.from_us), microseconds(bin.to_us));
            format!("{from:>10} - {to:>8} us  {:>5.1} %  {bar}", 100.0 * bin.share).trim_end().into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_one_bin_that_holds_its_value() {
        let mut values: Vec<f64> = (0..1000).map(|n| 0.2 + 0.01 * f64::from(n)).chain([-0.001, 5000.0]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let found = Distribution::of(&values).unwrap();
        assert!((found.bins.iter().map(|bin| bin.share).sum::<f64>() - 1.0).abs() < 1e-5);
        assert!(found.bins.windows(2).all(|pair| pair[0].to_us <= pair[1].from_us));
        for bin in &found.bins[1..] {
            let within = values.iter().filter(|value| (bin.from_us..bin.to_us).contains(value)).count();
            assert!((bin.share * 1002.0 - within as f64).abs() < 1.01, "{bin:?} has {within}");
        }
        assert_eq!((found.max_us, found.bins[0].from_us), (5000.0, 0.001));
        assert_eq!(found.percentile99_us, values[990]);
    }

    #[test]
    fn no_samples_have_no_distribution() {
        assert_eq!(Distribution::of(&[]), None);
    }

    #[test]
    fn the_longest_bar_is_that_of_most_samples() {
        let found = Distribution::of(&[1.0, 1.0, 1.0, 2.0]).unwrap();
        let bars: Vec<usize> = found.lines().map(|line| line.matches('#').count()).collect();
        assert_eq!(bars, [50]);
        let found = Distribution::of(&[1.0, 2.0, 2.0]).unwrap();
        assert_eq!(found.percentile99_us, 2.0);
        assert_eq!(found.lines().map(|line| line.matches('#').count()).collect::<Vec<_>>(), [25, 50]);
    }
}
