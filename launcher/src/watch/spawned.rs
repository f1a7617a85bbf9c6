//! The jobs that ranks have asked for (MPI_Comm_spawn). Each is watched like the job of the user's own, in the same
//! loop; what its ranks write is the output of the one that has asked for it, and if one of the two fails, the other
//! ends with it. One that can't be started, here or on its hosts, is an error of the call that has asked for it.

use super::{END_GRACE, INTERRUPT_GRACE, Watch};
use crate::error::LaunchError;
use crate::output::{Outputs, Which};
use crate::report::{self, Verdict};
use crate::spawn_request::{Asking, SpawnAnswer, SpawnRequest};
use crate::this_machine;
use crate::wire::Order;
use rustix::event::PollFd;
use rustix::process::Signal;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// One of them.
pub(super) struct Spawned {
    watch: Watch,
    /// The rank that has asked for it.
    by: usize,
    request: Request,
}

/// What has become of the request.
enum Request {
    /// It is to be answered like that, to a process of that host, once the ranks run.
    Unanswered { site: usize, process: usize, answer: SpawnAnswer },
    /// They run.
    Granted,
    /// They can't be started, as whoever has asked knows.
    Refused,
}

impl Spawned {
    /// Asks what its ranks do, which it then says itself.
    pub(super) fn ask(&mut self) {
        self.watch.ask(false);
    }

    pub(super) fn signal_all(&mut self, signal: Signal) {
        self.watch.signal_all(signal);
    }
}

impl Watch {
    /// Starts what that rank has asked for, which hears of it when the ranks run, or will not.
    pub(super) fn spawn(&mut self, site: usize, rank: usize, process: usize, request: &SpawnRequest) {
        match self.start_spawned(site, request) {
            Ok((mut watch, answer)) => {
                watch.title = report::of_spawned(rank);
                let request = Request::Unanswered { site, process, answer };
                self.spawned.push(Spawned { watch, by: rank, request });
            }
            Err(why) => self.sites[site].order(Order::Spawned { process, answer: SpawnAnswer::Refused(why) }),
        }
    }

    fn start_spawned(&self, site: usize, request: &SpawnRequest) -> Result<(Watch, SpawnAnswer), String> {
        if self.spec.keeps_going {
            return Err("ranks of a job that goes on when ranks die (--keep-going) can't spawn others yet".into());
        }
        if self.verdict.is_some() {
            return Err("the job is about to end".into());
        }
        let hosts: Vec<_> = self.sites.iter().map(|site| site.name.clone()).collect();
        let here = this_machine::name();
        let asking = Asking { job: &self.spec, hosts: &hosts, host: hosts[site].as_deref(), here: &here };
        let (spec, is_here) = request.job(asking)?;
        let mut watch = Watch::start(Rc::new(spec), &[]).map_err(|error: LaunchError| error.to_string())?;
        // What it has said so far is kept, too.
        let mut said = std::mem::replace(&mut watch.outputs, Outputs::new(true));
        Which::BOTH.into_iter().for_each(|which| watch.outputs.append(which, said.take_kept(which)));
        Ok((watch, if is_here { SpawnAnswer::Here } else { SpawnAnswer::Elsewhere }))
    }

    /// Answers those whose ranks run by now, or will not.
    fn answer_requests(&mut self) {
        for Spawned { watch, request, .. } in &mut self.spawned {
            let failure = watch.verdict.as_ref().map(|verdict| match verdict {
                Verdict::NotStarted { host, text, .. } => format!("{host}: {text}"),
                other => watch.text_of(other),
            });
            let is_known = watch.running || failure.is_some();
            let Request::Unanswered { site, process, answer } = request else { continue };
            if is_known {
                let (site, process) = (*site, *process);
                let (answer, became) = match failure {
                    Some(why) => (SpawnAnswer::Refused(why), Request::Refused),
                    None => (answer.clone(), Request::Granted),
                };
                *request = became;
                self.sites[site].order(Order::Spawned { process, answer });
            }
        }
    }

    /// Deals with what has happened in these jobs, and forgets those that are over.
    pub(super) fn look_after_spawned(&mut self) -> Result<(), LaunchError> {
        for spawned in &mut self.spawned {
            spawned.watch.go_on()?;
        }
        self.answer_requests();
        for index in 0..self.spawned.len() {
            let Spawned { watch, by, request } = &mut self.spawned[index];
            for which in Which::BOTH {
                self.outputs.append(which, watch.outputs.take_kept(which));
            }
            let by = *by;
            let ended = watch.end_of_spawned().filter(|_| !matches!(request, Request::Refused));
            match (&self.verdict, ended) {
                (None, Some(verdict)) => {
                    let (text, code) = (watch.text_of(&verdict), verdict.exit_code());
                    self.end_at_once(Verdict::OfSpawned { by, text, code });
                }
                (Some(verdict), None) => watch.end_with(verdict),
                _ => {}
            }
        }
        self.spawned.retain(|spawned| !spawned.watch.is_over());
        Ok(())
    }

    /// Why this job, which was spawned, has not gone well, if so. Those that have spawned it wait for all its ranks to
    /// join.
    fn end_of_spawned(&self) -> Option<Verdict> {
        let never_joined = self.absent.as_ref().map(|absent| self.failure(absent));
        self.verdict.clone().or(never_joined)
    }

    /// Ends with the job that has asked for this one.
    fn end_with(&mut self, verdict: &Verdict) {
        let grace = if matches!(verdict, Verdict::Interrupted { .. }) { INTERRUPT_GRACE } else { END_GRACE };
        let now = Instant::now();
        self.end(verdict.clone(), vec![(now, Signal::TERM), (now + grace, Signal::KILL)]);
    }

    /// Whether ranks' output is to be left where it is.
    pub(super) fn hold(&mut self, held: bool) {
        self.sites.iter_mut().for_each(|site| site.hold(held));
        self.spawned.iter_mut().for_each(|spawned| spawned.watch.hold(held));
    }

    /// What to wait for that is about ranks.
    pub(super) fn poll_sites<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        self.sites.iter().for_each(|site| site.poll(polled));
        self.spawned.iter().for_each(|spawned| spawned.watch.poll_sites(polled));
    }

    /// How long to wait at most.
    pub(super) fn due(&self, now: Instant) -> Option<Duration> {
        let due = [
            self.escalation.front().map(|&(when, _)| when),
            self.deadline(),
            self.patience,
            self.suspicion.as_ref().map(|&(when, _)| when),
            self.failed_late.as_ref().map(|&(when, _)| when).filter(|&when| when > now),
            self.question.as_ref().map(|question| question.until),
            self.viewing.as_ref().map(|viewing| viewing.next),
        ];
        let own = due.into_iter().flatten().map(|due| due.saturating_duration_since(now));
        let of_sites = self.sites.iter().filter_map(|site| site.due(now));
        let of_spawned = self.spawned.iter().filter_map(|spawned| spawned.watch.due(now));
        own.chain(of_sites).chain(of_spawned).min()
    }
}
