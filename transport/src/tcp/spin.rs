//! How long to look at sockets before sleeping: as long as that harms nobody.
//!
//! With a processor for each peer, looking saves the wake-up. Where others want the processor, be they peers or
//! somebody else's programs, each look keeps the very one from working that is waited for, and whoever has used up its
//! share of time waits long for the next; who sleeps is let in at once. Which of the two it is the kernel knows:
//! whoever looks where others want to work is preempted. So a preemption between two waits in vain makes this peer
//! sleep at once for a number of waits, which grows as long as each trial of looking ends in the same way.
//!
//! What became of the looks themselves says nothing. Two peers that both sleep at once find all looks of a trial in
//! vain, since a wake-up takes longer; they would never come out of it.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// Looks of one wait, at most: some 100 µs, several wake-ups.
const MOST: u32 = 300;
/// Where peers are known to share processors.
const MOST_WHEN_OVERSUBSCRIBED: u32 = 2;
/// After so many looks preemptions begin to count: asking the kernel for them is nothing for short waits.
pub(crate) const BEGIN_TO_COUNT: u32 = 20;
/// After a preemption so many waits sleep at once, ...
const REST: u32 = 4;
/// ... after several that came soon after each other as many as that.
const LONGEST_REST: u32 = 4096;
/// Where somebody else wants the processor all the time, the next one comes within this time of looking: a few time
/// slices.
const SOON: Duration = Duration::from_millis(10);

/// The looks of the present wait, and what was learnt from those before.
#[derive(Debug)]
pub(crate) struct Spin {
    most: u32,
    /// How many waits still sleep at once.
    resting: u32,
    /// How many did so, or will, after the last preemption.
    rest: u32,
    /// When that ended.
    rested: Option<Instant>,
    /// Preemptions of this thread when the present wait began to count them.
    preemptions: Option<i64>,
}

impl Spin {
    pub(crate) fn new(oversubscribed: bool) -> Spin {
        let most = if oversubscribed { MOST_WHEN_OVERSUBSCRIBED } else { MOST };
        Spin { most, resting: 0, rest: REST, rested: None, preemptions: None }
    }

    /// How often the present wait looks before it sleeps; at least once.
    #[inline]
    pub(crate) fn looks(&self) -> u32 {
        if self.resting > 0 { 1 } else { self.most }
    }

    /// A wait begins; the one before is over.
    pub(crate) fn begin(&mut self) {
        self.preemptions = None;
        if self.resting > 0 {
            self.resting -= 1;
            if self.resting == 0 {
                self.rested = Some(Instant::now());
            }
        }
    }

    /// The present wait has got to [`BEGIN_TO_COUNT`].
    pub(crate) fn count(&mut self) {
        self.preemptions = preemptions();
    }

    /// The present wait comes to sleeping.
    pub(crate) fn in_vain(&mut self) {
        if let Some(before) = self.preemptions.take()
            && preemptions().is_some_and(|now| now != before)
        {
            self.rest(Instant::now());
        }
    }

    /// This thread was preempted while it looked.
    fn rest(&mut self, now: Instant) {
        let is_soon = self.rested.is_some_and(|rested| now.saturating_duration_since(rested) < SOON);
        self.rest = if is_soon { (self.rest * 2).min(LONGEST_REST) } else { REST };
        self.resting = self.rest;
    }
}

/// How often this thread had to leave a processor to others.
fn preemptions() -> Option<i64> {
    getrusage(UsageWho::RUSAGE_THREAD).ok().map(|usage| usage.involuntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many waits look in full, if such a one is always preempted that long after the rest before it.
    fn looked(spin: &mut Spin, waits: u32, after: Duration) -> usize {
        let mut looked = 0;
        for _ in 0..waits {
            spin.begin();
            if spin.looks() == MOST {
                looked += 1;
                let now = spin.rested.unwrap_or_else(Instant::now) + after;
                spin.rest(now);
            }
        }
        looked
    }

    #[test]
    fn who_is_preempted_again_and_again_hardly_looks() {
        let count = looked(&mut Spin::new(false), 100_000, SOON / 2);
        assert!((20..100).contains(&count), "{count} of 100000");
    }

    #[test]
    fn who_is_preempted_now_and_then_goes_on_looking() {
        let mut spin = Spin::new(false);
        looked(&mut spin, 10_000, SOON / 2);
        let count = looked(&mut spin, 10_000, SOON * 2);
        assert!(count > 1000, "{count} of 10000");
    }

    #[test]
    fn oversubscribed_peers_hardly_look() {
        let mut spin = Spin::new(true);
        (0..200).for_each(|_| spin.begin());
        assert_eq!(spin.looks(), MOST_WHEN_OVERSUBSCRIBED);
    }
}
