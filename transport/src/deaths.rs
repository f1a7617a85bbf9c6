//! Jobs that go on when a peer dies: what all of a node must get to know, whoever else dies meanwhile.
//!
//! Whoever has started the peers sees every death, and says so where all look; no peer has to find out. *Notices* are
//! numbers that peers leave for all others. Both lie in the job's file, so that they outlive who has written them.

use crate::control::{NOTICES, Presence};
use crate::job::Job;
use crate::primitive::Ordering;
use crate::segment::Segment;
use crate::{Signal, signal};

impl Job {
    /// Whether it goes on when a peer dies.
    pub fn keeps_going(&self) -> bool {
        keeps_going(&self.segment)
    }

    /// Whether all peers have joined it and know how they reach each other.
    pub fn is_complete(&self) -> bool {
        self.segment.header().probed.load(Ordering::Acquire) as usize >= self.peers
    }

    /// Says to all peers that this one has died. By whoever watches over them, when its process is no more.
    pub fn announce_death(&self, peer: usize) {
        self.segment.control(peer).identity.presence.store(Presence::Died as u32, Ordering::Release);
        self.segment.header().deaths.fetch_add(1, Ordering::Release);
        wake_others(&self.segment, self.peers, peer);
    }
}

pub(crate) fn keeps_going(segment: &Segment) -> bool {
    segment.header().keeps_going.load(Ordering::Relaxed) != 0
}

/// Whether that end is one of a peer that has died. In other jobs nobody has to know: they end.
pub(crate) fn has_died(segment: &Segment, end: usize) -> bool {
    let peer = end % segment.header().peers.load(Ordering::Relaxed) as usize;
    let died = Presence::Died as u32;
    keeps_going(segment) && segment.control(peer).identity.presence.load(Ordering::Acquire) == died
}

/// A number that changes whenever there is news: a death or a notice. A notice may come somewhat later.
pub(crate) fn news(segment: &Segment) -> u64 {
    let header = segment.header();
    let (deaths, notices) = (header.deaths.load(Ordering::Acquire), header.notices_begun.load(Ordering::Acquire));
    u64::from(deaths) << 32 | u64::from(notices)
}

/// All notices, and whether there may be others that are still being written.
pub(crate) fn notices(segment: &Segment) -> (Vec<u64>, bool) {
    let header = segment.header();
    let begun = (header.notices_begun.load(Ordering::Acquire) as usize).min(NOTICES);
    let mut written: Vec<u64> = header.notices[..begun].iter().map(|notice| notice.load(Ordering::Acquire)).collect();
    written.retain(|&notice| notice != 0);
    let is_all = written.len() == begun;
    (written, is_all)
}

/// Leaves a notice, which is not 0, for all; false if there is no room for it.
pub(crate) fn leave_notice(segment: &Segment, peers: usize, me: usize, notice: u64) -> bool {
    let header = segment.header();
    let place = header.notices_begun.fetch_add(1, Ordering::AcqRel) as usize;
    let Some(place) = header.notices.get(place) else {
        // So that the count does not come round.
        header.notices_begun.fetch_sub(1, Ordering::AcqRel);
        return false;
    };
    place.store(notice, Ordering::Release);
    wake_others(segment, peers, me);
    true
}

/// Has all others look around, in all lanes. Whoever waits for sockets, too, learns of it within its longest sleep.
fn wake_others(segment: &Segment, peers: usize, but: usize) {
    let ends = 0..segment.layout().ends;
    ends.filter(|end| end % peers != but).for_each(|end| _ = signal::send(segment, end, Signal::Wake));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobShape;

    fn job() -> Job {
        Job::create_shaped(&JobShape { keeps_going: true, ..JobShape::of(3) }, None).unwrap()
    }

    #[test]
    fn a_death_is_news_to_the_others() {
        let job = job();
        let before = news(&job.segment);
        job.announce_death(1);
        assert_ne!(news(&job.segment), before);
        assert_eq!([0, 1, 2].map(|peer| job.presence(peer)), [Presence::Here, Presence::Died, Presence::Here]);
        let is_called = |peer| signal::take(&job.segment, peer).contains(Signal::Wake);
        assert_eq!([0, 1, 2].map(is_called), [true, false, true]);
        assert_eq!([0, 1, 2].map(|end| has_died(&job.segment, end)), [false, true, false]);
    }

    #[test]
    fn notices_stay_and_who_dies_while_writing_leaves_a_gap() {
        let job = job();
        assert!(leave_notice(&job.segment, 3, 0, 7));
        // One that has died before it has written.
        job.segment.header().notices_begun.fetch_add(1, Ordering::AcqRel);
        assert!(leave_notice(&job.segment, 3, 1, 9));
        assert_eq!(notices(&job.segment), (vec![7, 9], false));
        for _ in 3..NOTICES {
            assert!(leave_notice(&job.segment, 3, 0, 5));
        }
        assert!(!leave_notice(&job.segment, 3, 0, 5));
        assert!(!leave_notice(&job.segment, 3, 0, 5));
        assert_eq!(notices(&job.segment).0.len(), NOTICES - 1);
    }
}
