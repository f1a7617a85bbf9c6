//! Jobs that go on when ranks die (`--keep-going`): who has died, which is said at the end.

use super::Watch;
use crate::error::LaunchError;
use crate::job_spec::JobSpec;
use crate::phrases::ranges;
use crate::rank_state::RankEnd;
use crate::report::{Failure, Verdict};

/// Whether the job can be such a one, if it is to be.
pub(super) fn check(spec: &JobSpec) -> Result<(), LaunchError> {
    match spec.keeps_going {
        false => Ok(()),
        _ if !spec.hosts.is_empty() => Err(LaunchError::KeepGoing("leave out --hosts and --hostfile")),
        _ if spec.is_over_tcp() => Err(LaunchError::KeepGoing("leave out the transport tcp")),
        _ if spec.threads > 1 => Err(LaunchError::KeepGoing("leave out --threads")),
        _ => Ok(()),
    }
}

impl Watch {
    /// A rank has died, of which its host has told the others.
    pub(super) fn outlive(&mut self, site: usize, end: &RankEnd) {
        let running = &mut self.sites[site].running;
        *running = running.saturating_sub(1);
        if self.spec.say_endings {
            self.endings.push((end.seen.rank, end.ending));
        }
        // It did not die by itself if the job was being ended.
        if self.verdict.is_none() {
            self.died.push(self.failure_of(end));
        }
    }

    /// When all have ended: who has died. If nobody has come to a good end, the job has failed.
    pub(super) fn say_who_died(&mut self) {
        if self.verdict.is_some() || self.died.is_empty() {
            return;
        }
        if self.died.len() == self.section_of.len() {
            // The first to die is the first in the list.
            self.verdict = Some(Verdict::Failed(self.died[0].clone()));
            return;
        }
        self.died.sort_by_key(|died| died.rank);
        let ranks: Vec<usize> = self.died.iter().map(|died| died.rank).collect();
        let who = if ranks.len() == 1 { "rank" } else { "ranks" };
        let text: String =
            self.died.iter().map(|died: &Failure| self.text_of(&Verdict::Failed(died.clone()))).collect();
        self.outputs.note(&format!("the job has gone on without {who} {}:\n{text}", ranges(&ranks)));
    }
}
