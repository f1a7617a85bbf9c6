//! Clocks: one that all processes of a node share, and one that is soon read.
#![allow(unsafe_code)]

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before the node's processes began, the same for all of them; never goes back.
pub fn monotonic_nanoseconds() -> u64 {
    // Not rustix's, which crashes where there is no vDSO, as under valgrind.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// A count that rises all the time and takes some cycles to read; 0 where there is none.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every processor of this kind has it.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    0
}
