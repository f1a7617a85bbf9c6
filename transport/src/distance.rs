//! How far a reader's core is from the writer's: as far as a line takes to come from there.
//!
//! The lines of a ring's data area, or of a shelf of a collective, are always written by one core and read by others.
//! Where these share a cache, they are soon taken back to be written again; elsewhere that takes ten times as long, and
//! they are better written past the caches. No system says for certain where cores are, as a virtual machine may move
//! them at any time, so the writer measures it: it has to look at what the reader writes now and then anyway
//! (docs/decisions/0030 and 0038).

use std::time::{Duration, Instant};

/// Cores from which a line takes no longer than this, clock included, are near: some take 40 to 80 ns, those of another
/// cache 200 and more.
const NEAR: Duration = Duration::from_nanos(120);
/// So many looks in a row that say otherwise change the mind: one may be long for any reason.
const CERTAIN: u8 = 3;

/// What a writer believes of a reader: by default that it is not near.
#[derive(Debug, Default, Clone, Copy)]
pub struct Distance {
    is_near: bool,
    /// How many looks in a row have said otherwise.
    doubts: u8,
}

impl Distance {
    /// Believed to be near until the contrary is certain.
    pub const fn near() -> Distance {
        Distance { is_near: true, doubts: 0 }
    }

    /// Whether lines come from the reader soon.
    #[inline]
    pub fn is_near(&self) -> bool {
        self.is_near
    }

    /// Looks at what the reader may have written since; `look` says whether it has, so that its line had to come from
    /// there. Says so, too.
    pub fn measure(&mut self, look: impl FnOnce() -> bool) -> bool {
        let start = Instant::now();
        let has_come = look();
        if has_come {
            self.note(start.elapsed());
        }
        has_come
    }

    fn note(&mut self, took: Duration) {
        if (took <= NEAR) == self.is_near {
            self.doubts = 0;
            return;
        }
        self.doubts += 1;
        if self.doubts == CERTAIN {
            (self.is_near, self.doubts) = (!self.is_near, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_look_changes_nothing() {
        let mut distance = Distance::default();
        let mut after = |took: &[u64]| {
            took.iter().for_each(|&took| distance.note(Duration::from_nanos(took)));
            distance.is_near()
        };
        assert!(!after(&[50, 60, 300, 70, 80]));
        assert!(after(&[45]));
        assert!(after(&[250, 100_000, 50, 250, 250]));
        assert!(!after(&[240]));
    }

    #[test]
    fn a_line_that_was_here_says_nothing() {
        let mut distance = Distance { is_near: true, doubts: CERTAIN - 1 };
        let has_come = distance.measure(|| {
            std::thread::sleep(10 * NEAR);
            false
        });
        assert!(!has_come && distance.is_near());
    }
}
