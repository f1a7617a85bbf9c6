//! Whether the job hangs: its hosts say when all their ranks wait; then all are asked, again and again, until that is
//! proved or a rank goes on. A question is asked when all hosts have answered the one before, as the proof wants it
//! ([`crate::hang`]).

use super::Watch;
use crate::hang::{HangCheck, Next, Waiting};
use crate::hang_report;
use crate::job_spec::JobSpec;
use crate::wire::Order;
use std::time::Instant;

/// The check, and whether the hosts have been asked and not all have answered yet.
pub(super) struct Hanging {
    check: HangCheck,
    is_asked: bool,
}

impl Hanging {
    pub(super) fn new(spec: &JobSpec) -> Hanging {
        Hanging { check: HangCheck::new(spec.hang_check), is_asked: false }
    }
}

impl Watch {
    /// Says it if the ranks hang.
    pub(super) fn look_for_hang(&mut self) {
        let now = Instant::now();
        if self.verdict.is_some() || self.finishing {
            return;
        }
        if self.hanging.is_asked {
            if self.sites.iter().all(|site| site.waits.is_some()) {
                self.hanging.is_asked = false;
                let found = self.gathered();
                self.take_next(now, found);
            }
        } else if self.running && self.hanging.check.is_due(now) {
            if !self.sites.iter().all(|site| site.all_wait) {
                return self.take_next(now, None);
            }
            self.hanging.is_asked = true;
            for site in &mut self.sites {
                site.waits = None;
                site.order(Order::SayWaits);
            }
        }
    }

    /// What all hosts have answered; `None`: on one of them some rank does not wait.
    fn gathered(&mut self) -> Option<Vec<Waiting>> {
        let of_hosts: Vec<_> = self.sites.iter_mut().filter_map(|site| site.waits.take()).collect();
        if of_hosts.iter().any(Vec::is_empty) {
            return None;
        }
        let mut all = of_hosts.into_iter().flatten().map(Waiting::try_from).collect::<Result<Vec<_>, _>>().ok()?;
        all.sort_by_key(|one| one.rank);
        Some(all)
    }

    fn take_next(&mut self, now: Instant, found: Option<Vec<Waiting>>) {
        match self.hanging.check.take(now, found) {
            Next::Nothing => {}
            Next::Call => self.sites.iter_mut().for_each(|site| site.order(Order::CallRanks)),
            Next::Hangs(hung) => self.outputs.note(&format!("{}{}", self.title, hang_report::text(&hung))),
        }
    }
}
