//! What the ranks do, as their hosts have seen it.

use super::Watch;
use crate::report::RankState;
use crate::wire::RankSeen;
use rwmpi_core::Wait;
use std::time::Duration;

impl Watch {
    pub(super) fn state(&self, seen: &RankSeen) -> RankState {
        let &RankSeen { rank, pid, finished, .. } = seen;
        RankState { rank, pid, doing: self.doing(seen), wait: self.wait_of(seen), takes_part: !finished }
    }

    /// What a rank waits for, and for how long it has.
    fn wait_of(&self, seen: &RankSeen) -> Option<(Wait, Duration)> {
        let wait = (self.spec.describe_wait)(seen.activity.as_ref().filter(|_| !seen.finished)?)?;
        let waited = Duration::from_nanos(seen.now.saturating_sub(wait.since));
        Some((wait, waited))
    }

    fn doing(&self, seen: &RankSeen) -> String {
        let words = match (seen.joined, seen.finished, &seen.activity) {
            (false, ..) => "running, has not joined the job",
            (_, true, _) => "running, has left the job",
            (_, _, None) => "has joined the job by an MPI library that does not say more",
            (_, _, Some(activity)) => match (self.spec.describe_activity)(activity) {
                Some(call) => return format!("last call: {call}"),
                None => "has made no call yet",
            },
        };
        words.to_owned()
    }
}
