//! What is told of many measurements of the same thing.
//!
//! Times of communication have a lower bound and no upper one, so means and deviations say little. Told are the
//! minimum, the first sextile (the "most frequent minimum": the value a sixth of the way up) and the median (McMPI
//! thesis, section 4.4), and the fifth sextile, above which a sixth of them lies.

/// Four values of a sorted sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The least.
    pub min: f64,
    /// The value a sixth of the way up: the 25th of 150.
    pub sextile1: f64,
    /// The value half of the way up: the 75th of 150.
    pub median: f64,
    /// The value five sixths of the way up: the 125th of 150.
    pub sextile5: f64,
}

impl Summary {
    /// The summary of `values`, which it sorts; `None` if there are none.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let at = |sixths: usize| values.get((values.len() * sixths / 6).saturating_sub(1)).copied();
        Some(Summary { min: values.first().copied()?, sextile1: at(1)?, median: at(3)?, sextile5: at(5)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sextiles_and_median_of_150_are_the_25th_the_125th_and_the_75th() {
        let mut values: Vec<f64> = (1..=150).rev().map(f64::from).collect();
        let summary = Summary { min: 1.0, sextile1: 25.0, median: 75.0, sextile5: 125.0 };
        assert_eq!(Summary::of(&mut values), Some(summary));
    }

    #[test]
    fn few_values_are_summarized_by_those_there_are() {
        assert_eq!(Summary::of(&mut []), None);
        let seven = Summary { min: 7.0, sextile1: 7.0, median: 7.0, sextile5: 7.0 };
        assert_eq!(Summary::of(&mut [7.0]), Some(seven));
        assert_eq!(Summary::of(&mut [9.0, 7.0]), Some(seven));
    }
}
