//! Whether a peer still takes part, said by itself and seen by all of its node.

use super::NodeFabric;
use crate::control::Presence;
use crate::deaths;
use crate::primitive::Ordering;
use crate::segment::{ActivityRecord, TurnedAwayRecord};
use crate::{Signal, Waiting, signal};

impl NodeFabric {
    /// Says that this peer ends in good order. For its process the first lane speaks.
    pub fn finish(&self) {
        self.control(self.me).identity.presence.store(Presence::Finished as u32, Ordering::Release);
    }

    /// Says that this peer ends, and how: to whoever waits for it, too. For its process the first lane speaks.
    /// Afterwards whoever has to be rung is.
    pub fn depart(&mut self, presence: Presence) {
        self.control(self.me).identity.presence.store(presence as u32, Ordering::Release);
        let (me, peers) = (self.me, self.links.len());
        for peer in (0..peers).filter(|&peer| peer != me) {
            let may_wait = match self.presence(peer) {
                Presence::Here => true,
                // It waits for all others to leave in order, and hears that this one has not.
                Presence::Leaving => presence == Presence::Left,
                _ => false,
            };
            if !may_wait {
                continue;
            }
            self.signal(peer, Signal::Wake);
            for lane in 1..self.segment.layout().ends / peers {
                // In a job with lanes nobody has to be rung.
                signal::send(&self.segment, lane * peers + peer, Signal::Wake);
            }
        }
    }

    /// Whether somebody does not take part any more, or is about to end.
    pub fn has_anybody_gone(&self) -> bool {
        (0..self.links.len()).any(|peer| peer != self.me && self.presence(peer) != Presence::Here)
    }

    /// Whether a peer still takes part. What it pushed before it ended is in its rings by then.
    pub fn presence(&self, peer: usize) -> Presence {
        self.segment.control(peer).identity.presence.load(Ordering::Acquire).into()
    }
}

/// What others read of this peer.
impl NodeFabric {
    /// Where this peer says what it is doing.
    pub fn activity(&self) -> ActivityRecord {
        ActivityRecord::of(&self.segment, self.end(self.me))
    }

    /// Where this peer says how many strangers it has turned away.
    pub(crate) fn turned_away_record(&self) -> TurnedAwayRecord {
        TurnedAwayRecord::of(&self.segment, self.end(self.me))
    }
}

/// Jobs that go on when a peer dies.
impl NodeFabric {
    /// Whether the job is such a one.
    pub fn keeps_going(&self) -> bool {
        deaths::keeps_going(&self.segment)
    }

    /// A number that changes whenever somebody has died or left a notice; a notice may come somewhat later.
    pub fn news(&self) -> u64 {
        deaths::news(&self.segment)
    }

    /// All notices that peers have left, and whether these are all that they have begun to leave.
    pub fn notices(&self) -> (Vec<u64>, bool) {
        deaths::notices(&self.segment)
    }

    /// Leaves a notice, which is not 0, for all peers, who are called; false if there is no room for it.
    pub fn leave_notice(&self, notice: u64) -> bool {
        deaths::leave_notice(&self.segment, self.links.len(), self.me, notice)
    }
}
