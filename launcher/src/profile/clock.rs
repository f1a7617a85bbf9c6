//! What ranks count their times in, as nanoseconds of a clock that all hosts share as well as they can.
//!
//! Ranks of a host read the same counter, so their times fit to each other. Between hosts the clocks of the hosts
//! decide, which are as exact as whoever sets them is.

use rwmpi_transport::Moment;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// The counter of a host at two moments, and the time of day at the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clock {
    ticks: [u64; 2],
    nanoseconds: [u64; 2],
    wall: u64,
}

impl Clock {
    /// Between that moment and this one, which is now.
    pub(super) fn between(first: Moment, last: Moment) -> Clock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        Clock { ticks: [first.ticks, last.ticks], nanoseconds: [first.nanoseconds, last.nanoseconds], wall }
    }

    /// So many ticks, in nanoseconds.
    pub(super) fn duration(&self, ticks: u64) -> u64 {
        let passed = |times: [u64; 2]| u128::from(times[1].saturating_sub(times[0]));
        let (of_ticks, of_time) = (passed(self.ticks), passed(self.nanoseconds));
        if of_ticks == 0 {
            return 0;
        }
        u64::try_from(u128::from(ticks) * of_time / of_ticks).unwrap_or(u64::MAX)
    }

    /// When the counter said that, in nanoseconds since 1970.
    pub(super) fn time(&self, ticks: u64) -> u64 {
        match ticks.checked_sub(self.ticks[1]) {
            Some(later) => self.wall.saturating_add(self.duration(later)),
            None => self.wall.saturating_sub(self.duration(self.ticks[1] - ticks)),
        }
    }

    /// The later moment, by the counter.
    pub(super) fn end(&self) -> u64 {
        self.ticks[1]
    }
}

#[cfg(test)]
impl Clock {
    /// One whose ticks are nanoseconds since 1970.
    pub(super) const EVEN: Clock = Clock { ticks: [0, 1_000_000], nanoseconds: [0, 1_000_000], wall: 1_000_000 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_times() {
        let clock = Clock { ticks: [1000, 3000], nanoseconds: [50, 1050], wall: 1_000_000 };
        assert_eq!((clock.duration(10), clock.duration(0)), (5, 0));
        assert_eq!((clock.time(3000), clock.time(1000), clock.time(3010)), (1_000_000, 999_000, 1_000_005));
        let stopped = Clock { ticks: [7, 7], ..clock };
        assert_eq!((stopped.duration(u64::MAX), stopped.time(0)), (0, 1_000_000));
        assert!(clock.time(u64::MAX) > 1_000_000);
    }
}
