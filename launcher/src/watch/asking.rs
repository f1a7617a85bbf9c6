//! What the ranks of a job are doing, asked of their hosts.

use super::{Spawned, Watch};
use crate::rank_state::{RankSeen, RankState};
use crate::report::{self, Verdict};
use crate::wire::Order;
use rwmpi_core::Wait;
use std::time::{Duration, Instant};

/// How long a host may take to say what its ranks do.
const ANSWER_GRACE: Duration = Duration::from_secs(1);

/// What the ranks do is being asked.
pub(super) struct Question {
    pub(super) until: Instant,
    /// Whether the job is to end then.
    pub(super) timed_out: bool,
}

impl Watch {
    /// Asks what the ranks do; the job is to end then if its time is over.
    pub(super) fn ask(&mut self, timed_out: bool) {
        for site in &mut self.sites {
            site.states = None;
            site.order(Order::SayStates);
        }
        self.question = Some(Question { until: Instant::now() + ANSWER_GRACE, timed_out });
        self.spawned.iter_mut().for_each(Spawned::ask);
    }

    /// The hosts have said what their ranks do, as far as they will.
    pub(super) fn answered(&mut self) {
        let Some(Question { timed_out, .. }) = self.question.take() else { return };
        let silent = self.sites.iter().filter(|site| !site.over && site.states.is_none());
        let silent: String = silent.map(|site| format!("  host {} does not answer\n", site.host())).collect();
        let seen = self.sites.iter_mut().filter_map(|site| site.states.take()).flatten();
        let mut seen: Vec<RankSeen> = seen.collect();
        seen.sort_by_key(|seen| seen.rank);
        let states: Vec<RankState> = seen.iter().map(|seen| self.state(seen)).collect();
        let text = report::table(&states) + &silent;
        if timed_out {
            let limit = self.spec.timeout.unwrap_or_default();
            self.end_at_once(Verdict::TimedOut { limit, running: self.ranks_running(), states: text });
        } else {
            self.outputs.note(&format!("{}after {:.1} s:\n{text}", self.title, self.started.elapsed().as_secs_f64()));
        }
    }

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
