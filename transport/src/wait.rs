//! How to wait: spin while a core each is free, then yield, then sleep (see [`crate::sleep`]).

use std::sync::atomic::Ordering;

use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};

use crate::Backoff;
use crate::control::AFFINITY_WORDS;
use crate::job::Job;

/// How a peer waits, settled when all have attached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitPolicy {
    /// Rounds of idling spent on the processor.
    spins: u32,
    /// Rounds after these in which the processor is offered to others.
    yields: u32,
    /// As [`crate::Waiting::processors`].
    pub(crate) processors: usize,
    /// Peers share processors.
    pub(crate) oversubscribed: bool,
    /// Senders must fence before they look at the sleeping flag.
    pub(crate) fences_needed: bool,
}

impl WaitPolicy {
    /// A processor each: spinning costs nobody anything. Some 50 µs of it, then yields for the better part of a
    /// millisecond, so that the 15 µs of a wake-up are paid only after waits that they do not lengthen much.
    const DEDICATED: (u32, u32) = (1000, 2000);
    /// More peers than processors: whoever spins keeps another from working.
    const OVERSUBSCRIBED: (u32, u32) = (8, 50);

    /// The policy of `me`. Only when all peers have attached.
    pub(crate) fn for_peer(job: &Job, me: usize) -> WaitPolicy {
        let processors = job.segment.header().processors.load(Ordering::Relaxed) as usize;
        let oversubscribed = job.peers() > processors || is_confined(job, me);
        let (spins, yields) = if oversubscribed { Self::OVERSUBSCRIBED } else { Self::DEDICATED };
        let fences_needed = job.segment.header().fences_needed.load(Ordering::Acquire) != 0;
        WaitPolicy { spins, yields, processors, oversubscribed, fences_needed }
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
}

/// Whether more peers may use nothing but the processors that `me` may use than these are.
fn is_confined(job: &Job, me: usize) -> bool {
    let (peers, segment) = (job.peers(), &job.segment);
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
