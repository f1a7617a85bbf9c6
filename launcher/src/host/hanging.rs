//! The ranks of a host, as the check for hangs asks about them.

use super::Host;
use crate::hang::{HangCheck, Ranks};
use crate::hang_report;
use crate::wire::Event;
use rwmpi_core::{Answer, describe_wait, read_answer};
use rwmpi_transport::{Presence, Threads, monotonic_nanoseconds};
use std::time::{Duration, Instant};

impl Host {
    /// The check of a job whose ranks are all here.
    pub(super) fn hang_check(&self) -> HangCheck {
        let sees_all = self.plan.lanes == 1 && self.plan.nodes.iter().all(|&node| node == self.plan.nodes[0]);
        HangCheck::new(sees_all && self.spec.hang_check)
    }

    /// Says it if the ranks hang.
    pub(super) fn look_for_hang(&mut self, now: Instant) {
        let mut check = std::mem::take(&mut self.hang_check);
        if let Some(hung) = check.look(now, self) {
            let hung: Vec<(usize, Answer)> =
                hung.into_iter().map(|(place, answer)| (self.plan.ranks[place], answer)).collect();
            self.news.push(Event::Note(hang_report::text(&hung)));
        }
        self.hang_check = check;
    }

    fn record(&self, place: usize) -> [u64; 8] {
        self.job.activities(place).next().unwrap_or_default()
    }
}

impl Ranks for Host {
    fn all_waiting(&self, least: Duration) -> Option<Vec<usize>> {
        let now = monotonic_nanoseconds();
        let mut waiting = Vec::new();
        for place in self.running() {
            if !self.job.attached(place) {
                return None;
            }
            if matches!(self.job.presence(place), Presence::Finished | Presence::Left | Presence::Died) {
                continue;
            }
            let since = describe_wait(&self.record(place))?.since;
            if Duration::from_nanos(now.saturating_sub(since)) < least {
                return None;
            }
            waiting.push(place);
        }
        (!waiting.is_empty()).then_some(waiting)
    }

    fn answer(&self, place: usize) -> Answer {
        read_answer(&self.job.details(place), &self.record(place))
    }

    fn call(&self, place: usize) {
        self.job.wake(place);
    }

    fn threads(&self, place: usize) -> Option<Threads> {
        self.job.threads(place)
    }

    fn is_leaving(&self, place: usize) -> bool {
        self.job.presence(place) != Presence::Here
    }
}
