//! `#[rwmpi::test]`: a test whose ranks are threads, and what becomes of one that hangs.
//!
//! Nobody starts such a job from outside, so a thread beside the ranks looks at it as the launcher would. It ends a job
//! that is proved to hang, or has had its time: then the ranks' calls fail, the ranks end, and the test says why.

use crate::hang::{HangCheck, Next, SETTLED, Waiting};
use crate::hang_report;
use crate::rank_state::RankState;
use crate::report;
use rwmpi_core::{describe_activity, describe_wait, read_answer};
use rwmpi_transport::{Job, Presence, monotonic_nanoseconds};
use std::io::{Write, stderr};
use std::process::exit;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// From one look at the ranks to the next.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long ranks may take to end once their calls fail.
const GRACE: Duration = Duration::from_secs(10);
/// What test programs exit with that fail.
const FAILED: i32 = 101;

/// Looks at the job of a test until that has ended, or hangs, or has had its time: then ends it, and says why.
pub fn watch_test(job: &Job, ended: &Receiver<()>, limit: Duration) -> Option<String> {
    let (start, mut check, ranks) = (Instant::now(), HangCheck::new(true), Rows(job));
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let text = match ranks.look_for_hang(&mut check) {
            Some(hung) => format!("the test hangs: all ranks wait, and none can go on any more\n{hung}"),
            None if start.elapsed() < limit => continue,
            None => format!("the test is not over after {} s\n{}", limit.as_secs(), report::table(&ranks.states())),
        };
        job.set_aborted(1, "the test hangs");
        if ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
            // Past what captures the output of tests, which nobody would show any more.
            let text = format!("{text}  A rank makes no call, so that only the end of the test program ends it.\n");
            let _ = stderr().write_all(text.as_bytes());
            exit(FAILED);
        }
        return Some(text);
    }
    None
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

    /// Looks once, if it is time; what there is to say if the job hangs.
    fn look_for_hang(&self, check: &mut HangCheck) -> Option<String> {
        let now = Instant::now();
        if !check.is_due(now) {
            return None;
        }
        match check.take(now, self.all_waiting()) {
            Next::Nothing => None,
            Next::Call => {
                (0..self.0.peers()).for_each(|rank| self.0.wake(rank));
                None
            }
            Next::Hangs(hung) => Some(hang_report::details(&hung)),
        }
    }

    /// The ranks that take part, if each of them has waited for long.
    fn all_waiting(&self) -> Option<Vec<Waiting>> {
        let now = monotonic_nanoseconds();
        let waiting = |rank: usize| {
            let record = self.record(rank);
            let waited = Duration::from_nanos(now.saturating_sub(describe_wait(&record)?.since));
            let answer = read_answer(&self.0.details(rank), &record);
            (waited >= SETTLED).then_some(Waiting { rank, answer, threads: None, is_leaving: false })
        };
        (0..self.0.peers()).filter(|&rank| self.takes_part(rank)).map(waiting).collect()
    }
}
