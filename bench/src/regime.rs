//! Near and far: how far apart the two cores are at this moment.
//!
//! On virtual machines the same two cores sometimes share a cache and sometimes do not, and this changes within
//! minutes. Every figure is therefore kept with the regime it was measured in, and what was measured while it changed
//! is thrown away.

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
pub const FAR_US: f64 = 0.200;
/// No cache line takes this long: something else had one of the cores meanwhile. µs.
pub const BUSY_US: f64 = 2.0;
/// The floor before a window of measurements and the floor after it may differ by this factor.
pub const STEADY: f64 = 1.25;

impl Regime {
    /// The regime in which a cache line takes `line_us`; `None` if other programs did not let it be seen.
    pub fn of(line_us: f64) -> Option<Self> {
        match line_us {
            line if line < FAR_US => Some(Regime::Near),
            line if line < BUSY_US => Some(Regime::Far),
            _ => None,
        }
    }

    /// The regime in words, with the line's way.
    pub fn describe(line_us: f64) -> String {
        match Regime::of(line_us) {
            Some(regime) => format!("they are {} (line {:.0} ns)", regime.name(), line_us * 1e3),
            None => "near or far can't be told: other programs keep them busy".into(),
        }
    }

    /// `near` or `far`.
    pub fn name(self) -> &'static str {
        match self {
            Regime::Near => "near",
            Regime::Far => "far",
        }
    }
}

/// The regime, if the floor stayed the same between two looks at it.
pub fn steady(before_us: f64, after_us: f64) -> Option<Regime> {
    let regime = Regime::of(before_us).filter(|&regime| Regime::of(after_us) == Some(regime))?;
    (before_us.max(after_us) <= STEADY * before_us.min(after_us)).then_some(regime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_that_moves_by_more_than_a_quarter_is_not_steady() {
        assert_eq!(steady(0.050, 0.062), Some(Regime::Near));
        assert_eq!(steady(0.250, 0.210), Some(Regime::Far));
        assert_eq!(steady(0.050, 0.063), None);
        assert_eq!(steady(0.063, 0.050), None);
        assert_eq!(steady(0.050, 0.240), None);
    }

    #[test]
    fn a_floor_that_crosses_the_border_is_not_steady() {
        assert_eq!((Regime::of(0.199), Regime::of(0.200)), (Some(Regime::Near), Some(Regime::Far)));
        assert_eq!(steady(0.180, 0.220), None);
    }

    #[test]
    fn an_interrupted_look_is_no_regime() {
        assert_eq!(Regime::of(1900.0), None);
        assert_eq!(steady(1900.0, 1900.0), None);
    }
}
