//! Peers that share a processor. Who waits for one on its own processor waits in vain until it gives way, and then had
//! better not look first; who waits for one on another processor loses a change of process, and its place, by giving
//! way at once.
//!
//! The kernel may leave more peers on one processor than on another for seconds: who gives way again and again is never
//! kept waiting there, so nothing seems to be gained by moving it. The last of too many therefore moves itself
//! (docs/decisions/0031).

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::NodeFabric;
use crate::primitive::{self, Ordering};
use crate::sleep::AWAKE;

/// A peer looks whether it should move every so many times that it has given way: some milliseconds, since most waits
/// give way once or twice.
const GIVEN_WAY: u32 = 512;

impl NodeFabric {
    /// Gives way to whoever else is to run on this processor.
    pub(super) fn yield_processor(&self) {
        primitive::yield_now();
        self.note_processor();
    }

    /// Tells the others where this peer runs, and moves it now and then.
    pub(super) fn note_processor(&self) {
        if !self.policy.oversubscribed {
            return;
        }
        let noted = &self.control(self.me).processor;
        let processor = primitive::processor() + 1;
        if noted.load(Ordering::Relaxed) != processor {
            noted.store(processor, Ordering::Relaxed);
        }
        self.given_way.set(self.given_way.get() + 1);
        if self.given_way.get() == GIVEN_WAY {
            self.given_way.set(0);
            self.spread();
        }
    }

    /// Whether that peer was last seen on the processor on which this one was.
    pub(super) fn shares_processor_with(&self, peer: usize) -> bool {
        self.policy.oversubscribed && self.noted(peer).is_some() && self.noted(peer) == self.noted(self.me)
    }

    /// Where a peer was when it last gave way.
    fn noted(&self, peer: usize) -> Option<usize> {
        self.control(peer).processor.load(Ordering::Relaxed).checked_sub(1).map(|processor| processor as usize)
    }

    /// Moves this peer to a processor with fewer peers, if it is the one to go.
    #[cold]
    fn spread(&self) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let load = || fs::read_to_string("/proc/loadavg").ok();
        if let Some(there) = self.place_to_move_to(&allowed, load) {
            move_to(there, &allowed);
        }
    }

    /// Where this peer should go, if anywhere; nowhere if, as `load` has it, others than peers want to run.
    fn place_to_move_to(&self, allowed: &CpuSet, load: impl FnOnce() -> Option<String>) -> Option<usize> {
        let peers = 0..self.links.len();
        let places: Vec<Option<usize>> = peers.clone().map(|peer| self.noted(peer)).collect();
        let there = better_place(self.me, &places, |processor| allowed.is_set(processor))?;
        let is_awake = |&peer: &usize| self.control(peer).sleeping.load(Ordering::Relaxed) == AWAKE;
        (running(&load()?)? <= peers.filter(is_awake).count()).then_some(there)
    }
}

/// Moves this thread to that processor, which it may leave again as before.
fn move_to(there: usize, allowed: &CpuSet) {
    let mut only = CpuSet::new();
    only.set(there);
    // If it may not go, it stays. What it could use a moment ago it can use again.
    if sched_setaffinity(None, &only).is_ok() {
        let _ = sched_setaffinity(None, allowed);
    }
}

/// Where peer `me` should go, if `places` is where the peers are: to the processor with the fewest, if it is the last
/// on one that has at least two more.
fn better_place(me: usize, places: &[Option<usize>], may_use: impl Fn(usize) -> bool) -> Option<usize> {
    let here = places[me]?;
    if places[me + 1..].contains(&Some(here)) {
        return None;
    }
    let mut peers = vec![0_u32; CpuSet::MAX_CPU];
    for &place in places.iter().flatten() {
        *peers.get_mut(place)? += 1;
    }
    let there =
        (0..CpuSet::MAX_CPU).filter(|&processor| may_use(processor)).min_by_key(|&processor| peers[processor])?;
    (peers[there] + 2 <= peers[here]).then_some(there)
}

/// How many threads of this machine run or want to, as `/proc/loadavg` says. Who reads it runs, so none are no answer.
fn running(load: &str) -> Option<usize> {
    load.split(['/', ' ']).nth(3)?.parse().ok().filter(|&threads| threads > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_too_many_moves_to_where_the_fewest_are() {
        let to = |me, places: &[usize]| {
            let places: Vec<_> = places.iter().map(|&place| place.checked_sub(1)).collect();
            better_place(me, &places, |processor| processor < 3)
        };
        assert_eq!(to(3, &[1, 1, 2, 1]), Some(2));
        assert_eq!(to(1, &[1, 1, 2, 1]), None, "it is not the last");
        assert_eq!(to(2, &[1, 1, 2, 1]), None, "there are no more where it is");
        assert_eq!(to(3, &[1, 2, 3, 1]), None, "nowhere are two less");
        assert_eq!(to(4, &[1, 2, 3, 1, 1]), Some(1));
        assert_eq!(to(1, &[4, 4, 4]), None, "it is not the last");
        assert_eq!(to(2, &[4, 4, 4]), Some(0), "where it was it may be no more");
        assert_eq!(to(1, &[0, 0, 0]), None, "nobody knows anything");
    }

    #[test]
    fn as_many_run_as_the_kernel_says() {
        assert_eq!(running("0.55 3.00 3.66 12/79 13789\n"), Some(12));
        assert_eq!(running("0.00 0.00 0.00 0/0 0\n"), None);
        assert_eq!(running("0.55"), None);
    }

    #[test]
    fn who_moves_is_there_and_may_go_on() {
        let allowed = sched_getaffinity(None).unwrap();
        for there in (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)) {
            // Meanwhile the kernel may move this thread, too.
            let is_there = (0..1000).any(|_| {
                move_to(there, &allowed);
                primitive::processor() as usize == there
            });
            assert!(is_there && sched_getaffinity(None).unwrap() == allowed);
        }
    }

    #[test]
    fn nobody_moves_beside_other_programs_or_for_who_sleeps() {
        let allowed = [0, 1].into_iter().fold(CpuSet::new(), |mut set, processor| {
            set.set(processor);
            set
        });
        let peers = std::thread::available_parallelism().unwrap().get() + 1;
        let fabrics = NodeFabric::threads(peers).unwrap();
        let last = &fabrics[peers - 1];
        (0..peers).for_each(|peer| last.control(peer).processor.store(1, Ordering::Relaxed));
        let place = |threads: usize| last.place_to_move_to(&allowed, || Some(format!("0 0 0 {threads}/99 9")));
        assert_eq!((place(peers), place(peers + 1)), (Some(1), None));
        last.control(0).sleeping.store(AWAKE + 1, Ordering::Relaxed);
        assert_eq!((place(peers - 1), place(peers)), (Some(1), None));
        assert_eq!(last.place_to_move_to(&allowed, || None), None);
    }
}
