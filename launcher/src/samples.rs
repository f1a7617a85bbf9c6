//! What the live table shows of ranks: what their pages say, and the kernel of their processes; and what comes of two
//! looks one after the other.

use crate::report::RankState;
use crate::wire::RankSeen;
use rwmpi_core::Partner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Bytes of a page, in which the kernel counts.
const PAGE: u64 = 4096;
/// What is new counts so much in a rank's share of waiting.
const NEWS: f64 = 0.2;

/// A look at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) seen: RankSeen,
    /// Bytes that it has copied.
    pub(crate) copied: u64,
    pub(crate) process: Option<ProcessSample>,
}

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessSample {
    /// The letter of its state.
    state: char,
    /// The processor on which it ran last.
    core: u32,
    /// Bytes of memory that it has.
    memory: u64,
}

impl ProcessSample {
    pub(crate) fn of(pid: i32) -> Option<ProcessSample> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        Self::parse(&stat, &statm)
    }

    fn parse(stat: &str, statm: &str) -> Option<ProcessSample> {
        // The name may hold anything, parentheses too.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?.chars().next()?;
        let core = fields.nth(35)?.parse().ok()?;
        let memory = statm.split(' ').nth(1)?.parse::<u64>().ok()?.checked_mul(PAGE)?;
        Some(ProcessSample { state, core, memory })
    }

    fn words(self) -> &'static str {
        match self.state {
            'R' => "runs",
            'S' => "sleeps",
            'D' => "disk",
            'T' | 't' => "stopped",
            'Z' | 'X' => "ended",
            _ => "other",
        }
    }
}

/// What was seen of a rank before.
#[derive(Clone, Copy, Debug)]
struct Before {
    when: Instant,
    copied: u64,
    share: f64,
}

/// All looks so far.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    before: BTreeMap<usize, Before>,
}

/// A rank, its host, what was seen of it, and what is made of that.
pub(crate) type Looked<'a> = (&'a str, Sample, RankState);

impl Samples {
    /// The lines for the table (`launcher/console/src/snapshot.rs` reads them).
    pub(crate) fn lines(&mut self, now: Instant, looked: &[Looked<'_>]) -> String {
        let states: Vec<&RankState> = looked.iter().map(|(_, _, state)| state).collect();
        let holds_up = holds_up(&states);
        let mut text = String::new();
        for (host, sample, state) in looked {
            let (share, rate) = self.compare(now, sample, state);
            let waited = state.wait.as_ref().map(|(_, waited)| waited.as_secs_f64());
            let process = sample.process;
            let doing = match process {
                _ if waited.is_some() => "waits",
                Some(process) => process.words(),
                None => "-",
            };
            let _ = writeln!(
                text,
                "rank\t{}\t{host}\t{}\t{doing}\t{}\t{}\t{}\t{}\t{share:.3}\t{}\t{}\t{}",
                state.rank,
                state.pid,
                state.doing.trim_start_matches("last call: "),
                or_dash(waited),
                waits_for(state),
                holds_up.get(&state.rank).copied().unwrap_or(0),
                or_dash(rate),
                or_dash(process.map(|process| process.memory)),
                or_dash(process.map(|process| process.core)),
            );
        }
        text
    }

    /// Which part of its time a rank waits, and how many bytes it copies in a second.
    fn compare(&mut self, now: Instant, sample: &Sample, state: &RankState) -> (f64, Option<f64>) {
        let waited = state.wait.as_ref().map_or(Duration::ZERO, |&(_, waited)| waited);
        let Some(before) = self.before.get(&state.rank).copied() else {
            let share = if waited > Duration::ZERO { 1.0 } else { 0.0 };
            self.before.insert(state.rank, Before { when: now, copied: sample.copied, share });
            return (share, None);
        };
        let passed = now.saturating_duration_since(before.when).as_secs_f64().max(1e-3);
        let of_it = (waited.as_secs_f64() / passed).min(1.0);
        let share = before.share + NEWS * (of_it - before.share);
        self.before.insert(state.rank, Before { when: now, copied: sample.copied, share });
        (share, Some(sample.copied.saturating_sub(before.copied) as f64 / passed))
    }
}

fn waits_for(state: &RankState) -> String {
    state.wait.as_ref().map_or(String::new(), |(wait, _)| match wait.partner {
        Partner::Rank(rank) => format!("rank {rank}"),
        Partner::Any => "any rank".to_owned(),
        Partner::Unknown => String::new(),
    })
}

fn or_dash<T: std::fmt::Display>(number: Option<T>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

/// How many ranks wait for each, be it for what others do first that wait for it.
fn holds_up(states: &[&RankState]) -> BTreeMap<usize, usize> {
    let waits_for: BTreeMap<usize, usize> = states
        .iter()
        .filter_map(|state| match state.wait.as_ref()?.0.partner {
            Partner::Rank(partner) => Some((state.rank, partner)),
            Partner::Any | Partner::Unknown => None,
        })
        .collect();
    let mut counts = BTreeMap::new();
    for &waiting in waits_for.keys() {
        let mut passed = vec![waiting];
        while let Some(&next) = passed.last().and_then(|last| waits_for.get(last))
            && !passed.contains(&next)
        {
            *counts.entry(next).or_default() += 1;
            passed.push(next);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use rwmpi_core::Wait;

    fn state(rank: usize, waits_for: Option<usize>) -> RankState {
        let wait = waits_for.map(|partner| Wait { since: 1, partner: Partner::Rank(partner), what: "receive".into() });
        let wait = wait.map(|wait| (wait, Duration::from_millis(500)));
        RankState { rank, pid: 100, doing: "last call: receive".into(), wait, takes_part: true }
    }

    fn sample(rank: usize, copied: u64) -> Sample {
        let seen = RankSeen { rank, pid: 100, joined: true, finished: false, activity: None, now: 0 };
        Sample { seen, copied, process: Some(ProcessSample { state: 'R', core: 3, memory: 4096 }) }
    }

    #[test]
    fn who_holds_up_whom_is_counted_along_the_way() {
        let states = [state(0, Some(1)), state(1, Some(2)), state(2, None), state(3, Some(2)), state(4, Some(4))];
        let counts = holds_up(&states.iter().collect::<Vec<_>>());
        assert_eq!(counts, BTreeMap::from([(1, 1), (2, 3)]));
        let cycle = [state(0, Some(1)), state(1, Some(0))];
        assert_eq!(holds_up(&cycle.iter().collect::<Vec<_>>()), BTreeMap::from([(0, 1), (1, 1)]));
    }

    #[test]
    fn rates_are_differences() {
        let mut samples = Samples::default();
        let start = Instant::now();
        let first = samples.lines(start, &[("atlas", sample(1, 1000), state(1, Some(0)))]);
        assert_eq!(first, "rank\t1\tatlas\t100\twaits\treceive\t0.5\trank 0\t0\t1.000\t-\t4096\t3\n");
        let later = samples.lines(start + Duration::from_secs(2), &[("atlas", sample(1, 5000), state(1, None))]);
        assert_eq!(later, "rank\t1\tatlas\t100\truns\treceive\t-\t\t0\t0.800\t2000\t4096\t3\n");
    }

    #[test]
    fn the_kernels_words_are_understood() {
        let numbers: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = format!("77 (a) b (c) S {}", numbers.join(" "));
        let parsed = ProcessSample::parse(&stat, "100 25 3 1 0 9 0\n");
        assert_eq!(parsed, Some(ProcessSample { state: 'S', core: 39, memory: 25 * 4096 }));
        assert!(ProcessSample::of(std::process::id() as i32).is_some_and(|own| own.memory > 0));
        assert_eq!(ProcessSample::parse("nonsense", ""), None);
    }
}
