//! The one report of a job that did not go well.

use crate::error::exit_code;
use crate::faults::Backtrace;
use crate::phrases::{counted, plural, ranges};
use crate::rank_state::{Ending, RankState};
use crate::signals;
use crate::waits;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::time::Duration;

/// Why a job ended other than by all ranks succeeding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A rank failed by itself.
    Failed(Failure),
    /// A rank asked for the job to end.
    Aborted { rank: Option<usize>, code: i32, text: String },
    /// The time allowed was over.
    TimedOut { limit: Duration, running: usize, states: String },
    /// The user, or the system, told the launcher to end.
    Interrupted { signal: i32 },
    /// The ranks of a host could not be started.
    NotStarted { host: String, text: String, code: u8 },
    /// A job failed that ranks of this one had spawned: what its report says.
    OfSpawned { by: usize, text: String, code: u8 },
    /// A host, or the way to it, was lost while ranks ran there.
    HostLost { host: String, ranks: Vec<usize>, what: String },
}

/// The first rank to fail, as it was at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) rank: usize,
    pub(crate) pid: i32,
    pub(crate) ending: Ending,
    /// Whether it had joined the others.
    pub(crate) attached: bool,
    /// Whether it had finalized.
    pub(crate) finished: bool,
    /// Its present or last call, if any.
    pub(crate) call: Option<String>,
    /// How many others were running.
    pub(crate) others: usize,
}

impl Verdict {
    /// Whether this may be why that happened, though it was heard of later: who hears that another has aborted the job
    /// fails, maybe on a host whose word is here first.
    pub(crate) fn explains(&self, other: &Verdict) -> bool {
        let failed = |failure: &Failure| matches!(failure.ending, Ending::Exited { .. });
        matches!((self, other), (Verdict::Aborted { .. }, Verdict::Failed(failure)) if failed(failure))
    }

    /// The job's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Verdict::Failed(failure) => failure.exit_code(),
            Verdict::Aborted { code: 0, .. } => 0,
            // An exit code has eight bits; an error must not become a success by losing the others.
            Verdict::Aborted { code, .. } => ((code & 0xff) as u8).max(1),
            Verdict::TimedOut { .. } => exit_code::TIMEOUT,
            Verdict::Interrupted { signal } => signal_code(*signal),
            Verdict::NotStarted { code, .. } | Verdict::OfSpawned { code, .. } => *code,
            Verdict::HostLost { .. } => exit_code::HOST_LOST,
        }
    }

    /// Whether a rank was killed because it wrote what nobody takes, or is a shell that says so of its child.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        const SAID_BY_SHELLS: u8 = exit_code::SIGNAL_BASE + libc::SIGPIPE as u8;
        let Verdict::Failed(failure) = self else { return false };
        matches!(failure.ending, Ending::Killed { signal: libc::SIGPIPE, .. } | Ending::Exited { code: SAID_BY_SHELLS })
    }

    /// The report, without the program's name before its lines.
    pub(crate) fn text(&self, program: impl Fn(usize) -> String, host_of: impl Fn(usize) -> String) -> String {
        match self {
            Verdict::Failed(failure) => failure.text(program, host_of),
            Verdict::Aborted { rank, code, text } => {
                let who = rank.map_or("somebody".to_owned(), |rank| format!("rank {rank} on {}", host_of(rank)));
                let mut report = format!("{who} aborted the job with code {code}\n");
                for line in text.lines() {
                    let _ = writeln!(report, "  {line}");
                }
                report
            }
            Verdict::TimedOut { limit, running, states } => {
                let (seconds, running) = (limit.as_secs_f64(), counted(*running, "rank"));
                format!(
                    "the job was ended after {seconds} s (--timeout, or MPIEXEC_TIMEOUT): {running} still ran\n{states}"
                )
            }
            Verdict::Interrupted { signal } => format!("the job was ended by {}\n", signals::name(*signal)),
            Verdict::NotStarted { host, text, .. } => format!("host {host}: {text}\n"),
            Verdict::OfSpawned { by, text, .. } => of_spawned(*by) + text,
            Verdict::HostLost { host, ranks, what } => {
                format!("host {host} was lost, with {} {}: {what}\n", plural(ranks.len(), "rank"), ranges(ranks))
            }
        }
    }
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self.ending {
            Ending::Exited { code: 0 } | Ending::Vanished { .. } => exit_code::LEFT_EARLY,
            Ending::Exited { code } => code,
            Ending::Killed { signal, .. } => signal_code(signal),
        }
    }

    fn text(&self, program: impl Fn(usize) -> String, host_of: impl Fn(usize) -> String) -> String {
        let mut report = format!("rank {} (pid {} on {}) ", self.rank, self.pid, host_of(self.rank));
        report += &match self.ending {
            Ending::Exited { code: 0 } if self.attached => "exited without finalizing".to_owned(),
            Ending::Exited { code: 0 } => {
                "exited without joining the others, which had begun to communicate".to_owned()
            }
            Ending::Exited { code } => format!("exited with code {code}"),
            Ending::Vanished { replaced: true } => "became another program (exec) without finalizing".to_owned(),
            Ending::Vanished { replaced: false } => {
                "ended without finalizing; what mpiexec has started in its place goes on".to_owned()
            }
            Ending::Killed { signal, core_dumped } => {
                let core = if core_dumped { "; core dumped" } else { "" };
                format!("was killed by {}{core}", signals::name(signal))
            }
        };
        if self.others > 0 {
            let _ = write!(report, ", while {} still ran", counted(self.others, "other rank"));
        }
        report.push('\n');
        let _ = writeln!(report, "  program: {}", program(self.rank));
        match &self.call {
            Some(call) => _ = writeln!(report, "  last call: {call}"),
            None if self.finished => report.push_str("  it had finalized\n"),
            None if self.attached => report.push_str("  last call: none yet\n"),
            None => {}
        }
        report
    }
}

/// One line for ranks that do the same.
pub(crate) fn table(states: &[RankState]) -> String {
    let mut by_state: BTreeMap<&str, Vec<&RankState>> = BTreeMap::new();
    for state in states {
        by_state.entry(&state.doing).or_default().push(state);
    }
    let mut groups: Vec<_> = by_state.into_iter().collect();
    groups.sort_by_key(|(_, members)| members[0].rank);
    let mut text = String::new();
    for (doing, members) in groups {
        let waiting = waits::least(&members).map(|least| format!(", waiting for {:.1} s", least.as_secs_f64()));
        let waiting = waiting.unwrap_or_default();
        let _ = match members[..] {
            [one] => writeln!(text, "  rank {} (pid {}): {doing}{waiting}", one.rank, one.pid),
            _ => {
                let ranks: Vec<usize> = members.iter().map(|member| member.rank).collect();
                writeln!(text, "  ranks {}: {doing}{waiting}", ranges(&ranks))
            }
        };
    }
    text + &waits::text(states)
}

/// Where ranks were that faults of their own have killed.
pub(crate) fn backtraces(backtraces: &[Backtrace]) -> String {
    let mut text = String::new();
    for Backtrace { ranks, lines } in backtraces {
        let times = if ranks.len() > 1 { format!(" (×{})", ranks.len()) } else { String::new() };
        let verb = if ranks.len() == 1 { "was" } else { "were" };
        let _ = writeln!(text, "  {} {} {verb} here{times}:", plural(ranks.len(), "rank"), ranges(ranks));
        for (number, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "    #{number} {line}");
        }
    }
    text
}

/// What stands before sentences about a job that a rank has spawned.
pub(crate) fn of_spawned(by: usize) -> String {
    format!("of the job that rank {by} spawned, ")
}

/// How all ranks ended, one line.
pub(crate) fn endings(endings: &[(usize, Ending)]) -> String {
    let mut by_ending: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for &(rank, ending) in endings {
        let words = match ending {
            Ending::Exited { code } => code.to_string(),
            Ending::Killed { signal, .. } => format!("signal {signal}"),
            Ending::Vanished { .. } => "gone".to_owned(),
        };
        by_ending.entry(words).or_default().push(rank);
    }
    let mut groups: Vec<(String, Vec<usize>)> = by_ending.into_iter().collect();
    groups.iter_mut().for_each(|(_, ranks)| ranks.sort_unstable());
    groups.sort_by_key(|(_, ranks)| ranks[0]);
    let words =
        groups.iter().map(|(words, ranks)| format!("{words} of {} {}", plural(ranks.len(), "rank"), ranges(ranks)));
    format!("exit codes: {}", words.collect::<Vec<_>>().join(", "))
}

/// A program and its arguments, shortened to what fits a line.
pub(crate) fn command_line(program: &OsStr, arguments: &[OsString]) -> String {
    const CHARACTERS_MAX: usize = 200;
    let mut text = program.display().to_string();
    for argument in arguments {
        let _ = write!(text, " {}", argument.display());
    }
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

fn signal_code(signal: i32) -> u8 {
    exit_code::SIGNAL_BASE.saturating_add(u8::try_from(signal).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(ending: Ending) -> Failure {
        Failure { rank: 3, pid: 77, ending, attached: true, finished: false, call: None, others: 2 }
    }

    #[test]
    fn a_failure_names_rank_signal_and_call() {
        let mut failure = failure(Ending::Killed { signal: 11, core_dumped: true });
        failure.call = Some("receive from rank 2, tag 7".to_owned());
        let verdict = Verdict::Failed(failure);
        let text = verdict.text(|_| "./heat 1000".to_owned(), |_| "node7".to_owned());
        assert!(text.starts_with("rank 3 (pid 77 on node7) "), "{text}");
        assert!(
            text.contains("SIGSEGV, invalid memory access; core dumped, while 2 other ranks still ran\n"),
            "{text}"
        );
        assert!(text.contains("  program: ./heat 1000\n  last call: receive from rank 2, tag 7\n"), "{text}");
        assert_eq!(verdict.exit_code(), 139);
    }

    #[test]
    fn backtraces_are_told_once_for_all_at_the_same_place() {
        let of = |ranks: &[usize]| Backtrace { ranks: ranks.to_vec(), lines: vec!["f at a.c:1".into(), "main".into()] };
        assert_eq!(
            backtraces(&[of(&[3]), of(&[0, 1, 2, 7])]),
            "  rank 3 was here:\n    #0 f at a.c:1\n    #1 main\n  \
             ranks 0-2,7 were here (×4):\n    #0 f at a.c:1\n    #1 main\n"
        );
    }

    #[test]
    fn leaving_early_is_no_success() {
        let verdict = Verdict::Failed(failure(Ending::Exited { code: 0 }));
        assert!(verdict.text(|_| String::new(), |_| String::new()).contains("exited without finalizing"));
        assert_eq!(verdict.exit_code(), exit_code::LEFT_EARLY);
    }

    #[test]
    fn abort_codes_keep_success_and_failure_apart() {
        let code = |code| Verdict::Aborted { rank: Some(0), code, text: String::new() }.exit_code();
        assert_eq!([code(0), code(7), code(256), code(-1)], [0, 7, 1, 255]);
    }

    #[test]
    fn an_abort_explains_that_others_fail_and_not_the_other_way_round() {
        let aborted = Verdict::Aborted { rank: Some(1), code: 3, text: String::new() };
        let exited = Verdict::Failed(failure(Ending::Exited { code: 1 }));
        let killed = Verdict::Failed(failure(Ending::Killed { signal: 9, core_dumped: false }));
        assert!(aborted.explains(&exited));
        assert!(!aborted.explains(&killed) && !aborted.explains(&aborted) && !exited.explains(&aborted));
    }

    #[test]
    fn endings_are_one_line() {
        let killed = Ending::Killed { signal: 9, core_dumped: false };
        let exited = |code| Ending::Exited { code };
        let all = [(2, exited(0)), (1, exited(3)), (0, exited(0)), (3, killed)];
        assert_eq!(endings(&all), "exit codes: 0 of ranks 0,2, 3 of rank 1, signal 9 of rank 3");
    }

    #[test]
    fn ranks_that_do_the_same_share_a_line() {
        let state =
            |rank, doing: &str| RankState { rank, pid: 100, doing: doing.to_owned(), wait: None, takes_part: true };
        let text = table(&[state(0, "send"), state(1, "barrier"), state(2, "barrier"), state(3, "barrier")]);
        assert_eq!(text, "  rank 0 (pid 100): send\n  ranks 1-3: barrier\n");
    }
}
