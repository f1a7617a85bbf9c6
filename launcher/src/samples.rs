//! What the live table shows of ranks: what their pages say, and the kernel of their processes; and what comes of two
//! looks one after the other.

use crate::rank_state::{RankSeen, RankState};
use rwmpi_core::Partner;
use rwmpi_core::profile::recorded::Totals;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// Bytes of a page, in which the kernel counts.
const PAGE: u64 = 4096;

/// A look at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) seen: RankSeen,
    /// What it has noted so far.
    pub(crate) noted: Option<Noted>,
    pub(crate) process: Option<ProcessSample>,
}

/// [`Totals`], as a host sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    now: u64,
    inside: u64,
    waited: u64,
    bytes: u64,
    waits: bool,
}

impl From<Totals> for Noted {
    fn from(Totals { now, inside, waited, bytes, waits }: Totals) -> Noted {
        Noted { now, inside, waited, bytes, waits }
    }
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

/// All looks so far: what each rank had noted at the last.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    before: BTreeMap<usize, (Instant, Noted)>,
}

/// What two looks at a rank say.
#[derive(Default)]
struct Shares {
    /// The part of its time that it was in MPI.
    inside: Option<f64>,
    /// The part of its time that it waited.
    waiting: Option<f64>,
    /// Bytes a second that its calls are for.
    rate: Option<f64>,
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
            let Shares { inside, waiting, rate } = self.compare(now, sample);
            let waited = state.wait.as_ref().map(|(_, waited)| waited.as_secs_f64());
            let process = sample.process;
            let doing = match process {
                _ if waited.is_some() || sample.noted.is_some_and(|noted| noted.waits) => "waits",
                Some(process) => process.words(),
                None => "-",
            };
            let _ = writeln!(
                text,
                "rank\t{}\t{host}\t{}\t{doing}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                state.rank,
                state.pid,
                state.doing.trim_start_matches("last call: "),
                or_dash(waited),
                waits_for(state),
                holds_up.get(&state.rank).copied().unwrap_or(0),
                or_dash(inside),
                or_dash(waiting),
                or_dash(rate),
                or_dash(process.map(|process| process.memory)),
                or_dash(process.map(|process| process.core)),
            );
        }
        text
    }

    /// What a rank has done since the last look.
    fn compare(&mut self, now: Instant, sample: &Sample) -> Shares {
        let Some(noted) = sample.noted else { return Shares::default() };
        let Some((when, before)) = self.before.insert(sample.seen.rank, (now, noted)) else {
            return Shares::default();
        };
        let passed = noted.now.saturating_sub(before.now).max(1) as f64;
        let share = |total: u64, before: u64| Some((total.saturating_sub(before) as f64 / passed).min(1.0));
        let seconds = now.saturating_duration_since(when).as_secs_f64().max(1e-3);
        Shares {
            inside: share(noted.inside, before.inside),
            waiting: share(noted.waited, before.waited),
            rate: Some(noted.bytes.saturating_sub(before.bytes) as f64 / seconds),
        }
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
    use std::time::Duration;

    fn state(rank: usize, waits_for: Option<usize>) -> RankState {
        let wait = waits_for.map(|partner| Wait { since: 1, partner: Partner::Rank(partner), what: "receive".into() });
        let wait = wait.map(|wait| (wait, Duration::from_millis(500)));
        RankState { rank, pid: 100, doing: "last call: receive".into(), wait, takes_part: true }
    }

    fn sample(rank: usize, noted: Option<Noted>) -> Sample {
        let seen = RankSeen { rank, pid: 100, joined: true, finished: false, activity: None, now: 0 };
        Sample { seen, noted, process: Some(ProcessSample { state: 'R', core: 3, memory: 4096 }) }
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
    fn shares_are_differences() {
        let mut samples = Samples::default();
        let start = Instant::now();
        let noted = Noted { now: 1000, inside: 500, waited: 100, bytes: 1000, waits: false };
        let first = samples.lines(start, &[("atlas", sample(1, Some(noted)), state(1, Some(0)))]);
        assert_eq!(first, "rank\t1\tatlas\t100\twaits\treceive\t0.5\trank 0\t0\t-\t-\t-\t4096\t3\n");
        let noted = Noted { now: 2000, inside: 1250, waited: 350, bytes: 5000, waits: false };
        let later = samples.lines(start + Duration::from_secs(2), &[("atlas", sample(1, Some(noted)), state(1, None))]);
        assert_eq!(later, "rank\t1\tatlas\t100\truns\treceive\t-\t\t0\t0.75\t0.25\t2000\t4096\t3\n");
        let waits = Noted { waits: true, ..noted };
        let short = samples.lines(start, &[("atlas", sample(1, Some(waits)), state(1, None))]);
        assert!(short.contains("\twaits\t"), "{short}");
        let silent = samples.lines(start, &[("atlas", sample(1, None), state(1, None))]);
        assert!(silent.contains("\t0\t-\t-\t-\t4096"), "{silent}");
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
