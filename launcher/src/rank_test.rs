//! `#[rwmpi::test]`: a test whose ranks are threads, and what becomes of one that hangs.
//!
//! Nobody starts such a job from outside, so a thread beside the ranks looks at it as the launcher would. It ends a job
//! that is proved to hang, or has had its time: then the ranks' calls fail, the ranks end, and the test says why.

use crate::hang::{HangCheck, Ranks};
use crate::hang_report;
use crate::report::{self, RankState};
use rwmpi_core::{Answer, TestOutcome, Universe, describe_activity, describe_wait, read_answer, run_threads_beside};
use rwmpi_transport::{Job, Presence, Threads, monotonic_nanoseconds};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// From one look at the ranks to the next.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long ranks may take to end once their calls fail.
const GRACE: Duration = Duration::from_secs(10);
/// What test programs exit with that fail.
const FAILED: i32 = 101;

/// What `#[rwmpi::test]` makes of its function: a job of so many ranks that has so many seconds.
///
/// # Panics
/// If the test fails.
pub fn run_test<O: TestOutcome>(ranks: usize, seconds: usize, test: impl Fn(&Universe) -> O + Sync) {
    let limit = Duration::from_secs(seconds as u64);
    let hung = OnceLock::new();
    let beside = |job: &Job, ended: &Receiver<()>| watch(job, ended, limit, &hung);
    let run = || run_threads_beside(ranks, |universe| test(universe).check(), beside);
    let ended = catch_unwind(AssertUnwindSafe(run));
    if let Some(text) = hung.get() {
        panic!("{text}");
    }
    match ended {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => panic!("{error}"),
        Err(panic) => resume_unwind(panic),
    }
}

/// Looks at the job until it has ended, or hangs.
fn watch(job: &Job, ended: &Receiver<()>, limit: Duration, hung: &OnceLock<String>) {
    let (start, mut check, ranks) = (Instant::now(), HangCheck::new(true), Rows(job));
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let text = match check.look(Instant::now(), &ranks) {
            Some(hung) => {
                format!("the test hangs: all ranks wait, and none can go on any more\n{}", hang_report::details(&hung))
            }
            None if start.elapsed() < limit => continue,
            None => format!("the test is not over after {} s\n{}", limit.as_secs(), report::table(&ranks.states())),
        };
        let text = hung.get_or_init(|| text);
        job.set_aborted(1, "the test hangs");
        if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{text}  A rank makes no call, so that nothing but the end of the test program ends it.");
            std::process::exit(FAILED);
        }
        return;
    }
}

/// The ranks of the job.
struct Rows<'a>(&'a Job);

impl Rows<'_> {
    fn record(&self, rank: usize) -> [u64; 8] {
        self.0.activities(rank).next().unwrap_or_default()
    }

    fn takes_part(&self, rank: usize) -> bool {
        matches!(self.0.presence(rank), Presence::Here)
    }

    fn states(&self) -> Vec<RankState> {
        let state = |rank: usize| {
            let (record, takes_part) = (self.record(rank), self.takes_part(rank));
            let call = describe_activity(&record).map(|call| format!("last call: {call}"));
            let wait = describe_wait(&record).filter(|_| takes_part);
            let waited = |since: u64| Duration::from_nanos(monotonic_nanoseconds().saturating_sub(since));
            RankState {
                rank,
                pid: std::process::id() as i32,
                doing: call.unwrap_or_else(|| "has made no call yet".to_owned()),
                wait: wait.map(|wait| {
                    let waited = waited(wait.since);
                    (wait, waited)
                }),
                takes_part,
            }
        };
        (0..self.0.peers()).map(state).collect()
    }
}

impl Ranks for Rows<'_> {
    fn all_waiting(&self, least: Duration) -> Option<Vec<usize>> {
        let ranks: Vec<usize> = (0..self.0.peers()).filter(|&rank| self.takes_part(rank)).collect();
        let now = monotonic_nanoseconds();
        let waits = |&rank: &usize| {
            let wait = describe_wait(&self.record(rank));
            wait.is_some_and(|wait| Duration::from_nanos(now.saturating_sub(wait.since)) >= least)
        };
        (!ranks.is_empty() && ranks.iter().all(waits)).then_some(ranks)
    }

    fn answer(&self, rank: usize) -> Answer {
        read_answer(&self.0.details(rank), &self.record(rank))
    }

    fn call(&self, rank: usize) {
        self.0.wake(rank);
    }

    fn threads(&self, _: usize) -> Option<Threads> {
        None
    }

    fn is_leaving(&self, rank: usize) -> bool {
        !self.takes_part(rank)
    }
}
