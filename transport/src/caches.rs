//! How much the caches of this machine hold.

use std::cell::OnceCell;
use std::fs;

/// Where the kernel says nothing about them.
const USUAL: u64 = 32 << 20;
/// So many bytes they hold anyway.
const LEAST: u64 = 4 << 20;

/// Bytes of the largest cache of a core, once somebody has asked.
#[derive(Debug, Default)]
pub(crate) struct Caches(OnceCell<u64>);

impl Caches {
    /// Whether so many bytes had better not go through them: the largest keeps three quarters of itself at best for who uses it evenly.
    pub(crate) fn are_exceeded_by(&self, bytes: u64) -> bool {
        bytes > LEAST && bytes / 3 >= self.0.get_or_init(largest) / 4
    }
}

fn largest() -> u64 {
    let of_place = |place: u32| {
        let said = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{place}/size")).ok()?;
        size_of(said.trim())
    };
    (0..8).map_while(of_place).max().unwrap_or(USUAL)
}

/// As the kernel writes it: `32768K`.
fn size_of(said: &str) -> Option<u64> {
    let (number, unit) = match said.split_at_checked(said.len().checked_sub(1)?)? {
        (number, "K") => (number, 1 << 10),
        (number, "M") => (number, 1 << 20),
        _ => (said, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let sizes = ["32768K", "32M", "512", "", "K", "x", "99999999999999999999K"].map(size_of);
        assert_eq!(sizes, [Some(32 << 20), Some(32 << 20), Some(512), None, None, None, None]);
    }

    #[test]
    fn three_quarters_are_held() {
        let caches = Caches(OnceCell::from(32 << 20));
        let exceeded = [0, 5 << 20, (24 << 20) - 3, 24 << 20, u64::MAX].map(|bytes| caches.are_exceeded_by(bytes));
        assert_eq!(exceeded, [false, false, false, true, true]);
        assert!(!Caches::default().are_exceeded_by(LEAST));
        assert!(Caches::default().are_exceeded_by(1 << 50));
    }
}
