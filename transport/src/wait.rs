//! Waiting: spin while a core each is free, then yield, then sleep on a futex in the own control block.
//!
//! Waking must not cost the sender a full fence per message. So the fence is asymmetric: the sender publishes and then plainly loads the
//! sleeping flag; the sleeper raises the flag and then has the kernel run a full barrier on every core that runs a peer
//! (`membarrier`) before it takes its last look. Either the sender sees the flag, or the sleeper sees what was published. Where
//! `membarrier` is not to be had by every peer, senders fence (SeqCst) instead.

use std::sync::atomic::{AtomicU32, Ordering, compiler_fence, fence};
use std::time::Duration;

use rustix::thread::futex;
use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};
use rustix::time::Timespec;

use crate::Backoff;
use crate::control::AFFINITY_WORDS;
use crate::segment::Segment;

/// Value of the sleeping flag: awake.
pub(crate) const AWAKE: u32 = 0;
/// Value of the sleeping flag: wake me when you push or signal.
pub(crate) const ASLEEP: u32 = 1;
/// Value of the sleeping flag: wake me when you push, signal or pop.
pub(crate) const ASLEEP_FOR_ROOM: u32 = 2;

/// Longest sleep: a safety net, no wake-up depends on it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How a peer waits, settled when all have attached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitPolicy {
    /// Rounds of idling spent on the processor.
    spins: u32,
    /// Rounds after these in which the processor is offered to others.
    yields: u32,
    /// Senders must fence before they look at the sleeping flag.
    pub(crate) fences_needed: bool,
}

impl WaitPolicy {
    /// A processor each: spinning costs nobody anything.
    const DEDICATED: (u32, u32) = (1000, 200);
    /// More peers than processors: whoever spins keeps another from working.
    const CROWDED: (u32, u32) = (8, 100);

    /// The policy of `me`. Only when all peers have attached.
    pub(crate) fn for_peer(segment: &Segment, me: usize) -> WaitPolicy {
        let (spins, yields) = if is_crowded(segment, me) { Self::CROWDED } else { Self::DEDICATED };
        let fences_needed = segment.header().fences_needed.load(Ordering::Acquire) != 0;
        WaitPolicy { spins, yields, fences_needed }
    }

    /// Rounds of idling spent on the processor.
    #[inline]
    pub(crate) fn spins(&self) -> u32 {
        self.spins
    }

    /// One round of waiting: returns whether it is time to sleep instead.
    #[inline]
    pub(crate) fn pass_round(&self, backoff: &mut Backoff) -> bool {
        let round = backoff.rounds;
        if round < self.spins {
            std::hint::spin_loop();
        } else if round < self.spins + self.yields {
            rustix::thread::sched_yield();
        } else {
            return true;
        }
        backoff.rounds = round + 1;
        false
    }

    /// Continues a wait that was about to sleep with yielding.
    pub(crate) fn back_to_yielding(&self, backoff: &mut Backoff) {
        backoff.rounds = self.spins;
    }

    /// What a sender does between publishing and looking at a sleeping flag.
    #[inline(always)]
    pub(crate) fn publish_before_look(&self) {
        if self.fences_needed {
            fence(Ordering::SeqCst);
        } else {
            compiler_fence(Ordering::SeqCst);
        }
    }
}

/// Whether several peers must share a processor of those that `me` may use.
fn is_crowded(segment: &Segment, me: usize) -> bool {
    let peers = segment.layout().peers;
    if peers > segment.header().processors.load(Ordering::Relaxed) as usize {
        return true;
    }
    let mask = |peer: usize| -> [u64; AFFINITY_WORDS] {
        std::array::from_fn(|word| segment.control(peer).identity.affinity[word].load(Ordering::Relaxed))
    };
    let mine = mask(me);
    let processors: u32 = mine.iter().map(|word| word.count_ones()).sum();
    let confined_to_mine =
        (0..peers).filter(|&peer| mask(peer).iter().zip(&mine).all(|(theirs, mine)| theirs & !mine == 0)).count();
    confined_to_mine > processors.max(1) as usize
}

/// The processors that this thread may run on.
pub(crate) fn affinity() -> [u64; AFFINITY_WORDS] {
    let mut mask = [0; AFFINITY_WORDS];
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        for cpu in 0..AFFINITY_WORDS * 64 {
            if set.is_set(cpu) {
                mask[cpu / 64] |= 1 << (cpu % 64);
            }
        }
    }
    mask
}

/// Asks to take part in other processes' barriers; whether that was granted.
pub(crate) fn register_for_barriers() -> bool {
    let query = membarrier_query();
    query.contains_command(MembarrierCommand::GlobalExpedited)
        && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Raises the own sleeping flag such that, after this returns, either what a sender publishes is visible here or the sender sees
/// the flag.
pub(crate) fn announce_sleep(flag: &AtomicU32, how: u32, fences_needed: bool) {
    flag.store(how, Ordering::SeqCst);
    if !fences_needed {
        // Cannot fail: it was registered for.
        let _ = membarrier(MembarrierCommand::GlobalExpedited);
    }
    fence(Ordering::SeqCst);
}

/// Sleeps until somebody takes the flag back to [`AWAKE`], or for [`LONGEST_SLEEP`], or less.
pub(crate) fn sleep(flag: &AtomicU32, how: u32) {
    futex_wait(flag, how, LONGEST_SLEEP);
    flag.store(AWAKE, Ordering::Relaxed);
}

/// Wakes whoever sleeps behind `flag` as `how` says.
#[cold]
#[inline(never)]
pub(crate) fn wake(flag: &AtomicU32, how: u32) {
    if flag.compare_exchange(how, AWAKE, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        // Cannot fail: the address is valid.
        let _ = futex::wake(flag, futex::Flags::empty(), 1);
    }
}

/// Sleeps while `word` is `value`, at most so long; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, longest: Duration) {
    let longest = Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos() as _ };
    // Every way to return is a way to wake up.
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&longest));
}

/// Wakes all that sleep on `word`.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    // Cannot fail: the address is valid.
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}
