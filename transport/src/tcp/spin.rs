//! How long to look at sockets before sleeping: as long as that harms nobody.
//!
//! With a processor for each peer, looking saves the wake-up. Where others want the processor, be they peers or somebody else's
//! programs, each look keeps the very one from working that is waited for, and whoever has used up its share of time waits long for the
//! next; who sleeps is let in at once. Which of the two it is the kernel knows: whoever looks where others want to work is preempted. So
//! a preemption between two waits in vain makes this peer sleep at once for a number of waits, which grows as long as each trial of
//! looking ends in the same way.
//!
//! What became of the looks themselves says nothing. Two peers that both sleep at once find all looks of a trial in vain, since a
//! wake-up takes longer; they would never come out of it.
#![forbid(unsafe_code)]

use nix::sys::resource::{UsageWho, getrusage};

/// Looks of one wait, at most: some 100 µs, several wake-ups.
const MOST: u32 = 300;
/// Where peers are known to share processors.
const MOST_WHEN_CROWDED: u32 = 2;
/// After a preemption so many waits sleep at once, ...
const REST: u32 = 64;
/// ... after several that came soon after each other as many as that.
const LONGEST_REST: u32 = 4096;
/// What comes after more waits than that did not come soon.
const SOON: u32 = 1024;

/// The looks of the present wait, and what was learnt from those before.
#[derive(Debug)]
pub(crate) struct Spin {
    most: u32,
    /// How many waits still sleep at once.
    resting: u32,
    /// How many did so, or will, after the last preemption.
    rest: u32,
    /// Waits since the last rest.
    waits: u32,
    /// Preemptions of this thread, as last seen.
    preemptions: Option<i64>,
}

impl Spin {
    pub(crate) fn new(crowded: bool) -> Spin {
        let most = if crowded { MOST_WHEN_CROWDED } else { MOST };
        Spin { most, resting: 0, rest: REST, waits: 0, preemptions: None }
    }

    /// How often the present wait looks before it sleeps; at least once.
    #[inline]
    pub(crate) fn looks(&self) -> u32 {
        if self.resting > 0 { 1 } else { self.most }
    }

    /// A wait begins; the one before is over.
    pub(crate) fn begin(&mut self) {
        self.waits = self.waits.saturating_add(1);
        self.resting = self.resting.saturating_sub(1);
    }

    /// The present wait comes to sleeping.
    pub(crate) fn in_vain(&mut self) {
        if self.resting == 0 && self.most > MOST_WHEN_CROWDED {
            let preemptions =
                getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches());
            self.in_vain_after(preemptions);
        }
    }

    fn in_vain_after(&mut self, preemptions: i64) {
        if self.preemptions.replace(preemptions).is_some_and(|before| before != preemptions) {
            self.rest = if self.waits <= SOON { (self.rest * 2).min(LONGEST_REST) } else { REST };
            self.resting = self.rest;
            self.waits = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits in vain, as many, of which each finds so many new preemptions; how many of them looked in full.
    fn in_vain(spin: &mut Spin, waits: i64, preempted: bool) -> usize {
        let mut looked = 0;
        for wait in 0..waits {
            spin.begin();
            if spin.looks() == MOST {
                looked += 1;
                spin.in_vain_after(if preempted { wait } else { -1 });
            }
        }
        looked
    }

    #[test]
    fn who_is_not_preempted_goes_on_looking() {
        assert_eq!(in_vain(&mut Spin::new(false), 1000, false), 1000);
    }

    #[test]
    fn who_is_preempted_hardly_looks_and_comes_back_when_that_ends() {
        let mut spin = Spin::new(false);
        let looked = in_vain(&mut spin, 100_000, true);
        assert!((20..100).contains(&looked), "{looked} of 100000");
        let looked = in_vain(&mut spin, 100_000, false);
        assert!(looked > 90_000, "{looked} of 100000");
    }

    #[test]
    fn crowded_peers_hardly_look() {
        let mut spin = Spin::new(true);
        (0..200).for_each(|_| spin.begin());
        assert_eq!(spin.looks(), MOST_WHEN_CROWDED);
    }
}
