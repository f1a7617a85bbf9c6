//! The clock that all processes of a node share.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before the node's processes began, the same for all of them; never goes back.
pub fn monotonic_nanoseconds() -> u64 {
    // Not rustix's, which crashes where there is no vDSO, as under valgrind.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
