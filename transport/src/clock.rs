//! The clock that all processes of a node share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before the node's processes began, the same for all of them; never goes back.
pub fn monotonic_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
