//! The caches of this machine: in what pieces they hold memory, and how much.

use std::fs;
use std::sync::LazyLock;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Where the kernel says nothing about them.
const USUAL: u64 = 32 << 20;
/// So many bytes they hold anyway.
const LEAST: u64 = 4 << 20;

/// So many they do not hold, found out when somebody goes through more than [`LEAST`].
static TOO_MANY: LazyLock<u64> = LazyLock::new(|| too_many_for(largest()));

/// Whether they hold so many bytes until they are used again: else these had better not go through them.
#[inline]
pub(crate) fn hold(bytes: u64) -> bool {
    bytes <= LEAST || bytes < *TOO_MANY
}

/// The largest keeps three quarters of itself at best for who uses it evenly.
fn too_many_for(largest: u64) -> u64 {
    largest / 4 * 3
}

/// Bytes of the largest cache of a core.
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
        assert_eq!(too_many_for(32 << 20), 24 << 20);
        let least = (LEAST + 1).max(*TOO_MANY);
        assert_eq!([0, LEAST, least - 1, least, u64::MAX].map(hold), [true, true, true, false, false]);
    }
}
