//! The handshake between one who falls asleep and those who may have to wake it.
//!
//! Waking must not cost a sender a full fence per message. So the fence is asymmetric: the sender publishes and then
//! plainly loads the sleeping flag; the sleeper raises the flag and then has the kernel run a full barrier on every
//! core that runs a peer (`membarrier`) before it takes its last look. Either the sender sees the flag, or the sleeper
//! sees what was published. Where `membarrier` is not to be had by every peer, senders fence (SeqCst) instead; that
//! form is the one that is model-checked.

use std::time::Duration;

use crate::primitive::{self, AtomicU32, Ordering};

/// Value of the sleeping flag: awake.
pub(crate) const AWAKE: u32 = 0;
/// Value of the sleeping flag: wake me when you push or signal.
pub(crate) const ASLEEP: u32 = 1;
/// Value of the sleeping flag: wake me when you push, signal or pop.
pub(crate) const ASLEEP_FOR_ROOM: u32 = 2;

/// Added to one of these: whoever wakes me must ring, as I wait for sockets too and no futex reaches me.
pub(crate) const RING: u32 = 4;

/// Longest sleep: a safety net, no wake-up depends on it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What a sender does between publishing something and looking at a sleeping flag.
#[inline(always)]
pub(crate) fn before_look(fences_needed: bool) {
    if fences_needed {
        primitive::fence(Ordering::SeqCst);
    } else {
        primitive::keep_program_order();
    }
}

/// Raises the own flag. After that, either what a sender publishes is visible here, or the sender sees the flag.
pub(crate) fn announce(flag: &AtomicU32, how: u32, fences_needed: bool) {
    flag.store(how, Ordering::Relaxed);
    if !fences_needed {
        primitive::barrier_on_all_cores();
    }
    primitive::fence_of_sleeper();
}

/// Sleeps until somebody takes the flag back to [`AWAKE`], or for [`LONGEST_SLEEP`], or less.
pub(crate) fn sleep(flag: &AtomicU32, how: u32) {
    primitive::futex_wait(flag, how, LONGEST_SLEEP);
    flag.store(AWAKE, Ordering::Relaxed);
}

/// Wakes whoever sleeps behind `flag` as `how` says. (If it has raised the flag anew since, its last look has seen what
/// we published.) True: the sleeper has to be rung.
#[cold]
#[inline(never)]
pub(crate) fn wake(flag: &AtomicU32, how: u32) -> bool {
    if flag.compare_exchange(how, AWAKE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return false;
    }
    if how & RING == 0 {
        primitive::futex_wake(flag);
    }
    how & RING != 0
}
