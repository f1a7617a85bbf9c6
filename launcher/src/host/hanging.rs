//! The ranks of a host, as the check for hangs asks about them. Whoever watches the job has them asked, on all hosts
//! alike, once all of them wait.

use super::Host;
use crate::hang::{INTERVAL, SETTLED};
use crate::lanes;
use crate::wire::{Event, WaitSeen};
use rwmpi_core::{describe_wait, read_answer};
use rwmpi_transport::{Presence, monotonic_nanoseconds};
use std::time::{Duration, Instant};

impl Host {
    /// Says when all ranks here have come to wait, and when one goes on.
    pub(super) fn look_for_waits(&mut self, now: Instant) {
        if !self.spec.hang_check || now < self.next_look_at_waits {
            return;
        }
        self.next_look_at_waits = now + INTERVAL;
        let all_wait = self.all_waiting().is_some();
        if all_wait != self.told_all_wait {
            self.told_all_wait = all_wait;
            self.news.push(Event::AllWait(all_wait));
        }
    }

    /// What each rank here waits for, if all of them do; else nothing.
    pub(super) fn say_waits(&mut self) {
        let waiting = self.all_waiting().unwrap_or_default();
        let waits = waiting.into_iter().map(|place| self.wait_seen(place)).collect();
        self.news.push(Event::Waits(waits));
    }

    /// Has each rank here answer what it waits for.
    pub(super) fn call_ranks(&self) {
        self.running().for_each(|place| self.job.wake(place));
    }

    /// The places of the ranks that may still do something, if each has waited for long. What a rank that is gone has
    /// sent over a network is not known, so that there none may be.
    fn all_waiting(&self) -> Option<Vec<usize>> {
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
            if Duration::from_nanos(now.saturating_sub(since)) < SETTLED {
                return None;
            }
            waiting.push(place);
        }
        let all_are_here = waiting.len() == self.plan.ranks.len();
        let is_known = self.plan.lanes == 1 && (all_are_here || !lanes::needs_network(&self.spec, &self.plan.nodes));
        (is_known && !waiting.is_empty()).then_some(waiting)
    }

    fn wait_seen(&self, place: usize) -> WaitSeen {
        let (details, record) = (self.job.details(place), self.record(place));
        let is_shared = read_answer(&details, &record).is_shared;
        WaitSeen {
            rank: self.plan.ranks[place],
            details: details.to_vec(),
            record,
            threads: self.job.threads(place).filter(|_| is_shared).map(Into::into),
            is_leaving: self.job.presence(place) != Presence::Here,
        }
    }

    fn record(&self, place: usize) -> [u64; 8] {
        self.job.activities(place).next().unwrap_or_default()
    }
}
