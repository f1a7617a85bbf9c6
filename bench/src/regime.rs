//! Near and far: how far apart the two cores are at this moment.
//!
//! On virtual machines the same two cores sometimes share a cache and sometimes do not, and this changes within minutes. Every
//! figure is therefore kept with the regime it was measured in, and what was measured while it changed is thrown away.

use serde::{Deserialize, Serialize};

/// The two kinds of neighbourhood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// A cache line takes less than [`FAR_US`] from core to core.
    Near,
    /// It takes that or more.
    Far,
}

/// From this on, one way, cores are far apart. µs.
pub const FAR_US: f64 = 0.120;
/// The floor before a window of measurements and the floor after it may differ by this factor.
pub const STEADY: f64 = 1.25;

impl Regime {
    /// The regime in which a cache line takes `line_us`.
    pub fn of(line_us: f64) -> Self {
        if line_us < FAR_US { Regime::Near } else { Regime::Far }
    }

    /// `near` or `far`.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Near => "near",
            Regime::Far => "far",
        }
    }
}

/// Whether the floor stayed the same between two looks at it.
pub fn steady(before_us: f64, after_us: f64) -> bool {
    Regime::of(before_us) == Regime::of(after_us) && before_us.max(after_us) <= STEADY * before_us.min(after_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_that_moves_by_more_than_a_quarter_is_not_steady() {
        assert!(steady(0.050, 0.062));
        assert!(!steady(0.050, 0.063));
        assert!(!steady(0.063, 0.050));
        assert!(!steady(0.050, 0.240));
    }

    #[test]
    fn a_floor_that_crosses_the_border_is_not_steady() {
        assert_eq!((Regime::of(0.119), Regime::of(0.120)), (Regime::Near, Regime::Far));
        assert!(!steady(0.115, 0.125));
    }
}
