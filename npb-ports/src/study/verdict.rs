//! What the figures of a study say, in words. Every sentence is computed from the records; none is written by hand.
//!
//! Two modes are told apart only if the faster one wins at least nine of ten pairings of one of its runs with one of the other's:
//! that is a rank test, so a single run disturbed by the machine cannot decide it either way.

use crate::{Benchmark, Traffic};

use super::format::{bytes, count, list, percent, plural, seconds};
use super::plan::{Mode, title, wants_squares};
use super::record::{Record, Study};

/// Runs that each side needs before the spread says anything.
const REPEATS_MIN: usize = 3;
/// Pairings that the faster of two must win.
const PAIRINGS_WON_MIN: f64 = 0.9;
/// Generous costs of communication, to tell when it cannot matter: seconds per message, and bytes per second.
const SECONDS_PER_MESSAGE: f64 = 1e-6;
const BYTES_PER_SECOND: f64 = 10e9;
/// Below this share of the time, communication cannot matter.
const SHARE_THAT_MATTERS: f64 = 0.01;
/// Messages below this size are cheaper to copy than to ask for.
const SMALL_MESSAGE_BYTES: f64 = 4096.0;
/// Below this share of the bytes, remote writes explain nothing.
const LITTLE_AVAILABILITY: f64 = 0.25;

/// How the first of two records stands to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Beyond the spread.
    Faster,
    /// Beyond the spread.
    Slower,
    /// Not told apart by these runs.
    Level,
    /// Too few repeats for a spread.
    Unknown,
}

/// Two records compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// How the first stands to the second.
    pub standing: Standing,
    /// Fastest time of the first over fastest time of the second.
    pub ratio: f64,
    /// Pairings of runs that the one with the shorter fastest time won.
    pub won: usize,
    /// All pairings.
    pub pairings: usize,
}

impl Comparison {
    /// Compares the first with the second; none if either has no verified run.
    pub fn of(first: &Record, second: &Record) -> Option<Comparison> {
        let (a, b) = (first.seconds?, second.seconds?);
        let pairings = first.repeats.len() * second.repeats.len();
        let wins = |these: &[f64], those: &[f64]| {
            these.iter().map(|this| those.iter().filter(|that| this < *that).count()).sum::<usize>()
        };
        let won = if a <= b { wins(&first.repeats, &second.repeats) } else { wins(&second.repeats, &first.repeats) };
        let standing = if first.repeats.len().min(second.repeats.len()) < REPEATS_MIN {
            Standing::Unknown
        } else if (won as f64) < PAIRINGS_WON_MIN * pairings as f64 || a == b {
            Standing::Level
        } else if a < b {
            Standing::Faster
        } else {
            Standing::Slower
        };
        Some(Comparison { standing, ratio: a / b, won, pairings })
    }

    /// By how much the first differs: `3.2 % less time`.
    pub fn difference(&self) -> String {
        let more = self.ratio - 1.0;
        format!("{} {} time", percent(more.abs()), if more <= 0.0 { "less" } else { "more" })
    }

    fn evidence(&self) -> String {
        match self.standing {
            Standing::Unknown => format!("fewer than {REPEATS_MIN} runs of each, so whether by chance is not known"),
            Standing::Level => {
                format!(
                    "within the spread: the faster one won only {} of {} pairings of their runs",
                    self.won, self.pairings
                )
            }
            _ => format!(
                "beyond the spread: the faster one won {} of {} pairings of their runs",
                self.won, self.pairings
            ),
        }
    }
}

/// What is to be said of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which benchmark.
    pub benchmark: Benchmark,
    /// Processes that it is about; none if it never ran on more than one.
    pub ranks: Option<usize>,
    /// SR against NSR.
    pub sr_to_nsr: Option<Comparison>,
    /// AUTO against the better of the two, and which that is.
    pub auto_to_better: Option<(Comparison, Mode)>,
    /// In words.
    pub sentences: Vec<String>,
}

impl Verdict {
    /// The verdict on a benchmark of a study.
    pub fn on(study: &Study, benchmark: Benchmark) -> Verdict {
        let ranks = study.widest(benchmark);
        let mut verdict = Verdict { benchmark, ranks, sr_to_nsr: None, auto_to_better: None, sentences: Vec::new() };
        let Some(ranks) = ranks else {
            verdict.sentences.push(alone(study, benchmark));
            return verdict;
        };
        let of = |mode| study.record(benchmark, ranks, mode).filter(|record| record.seconds.is_some());
        if let (Some(sr), Some(nsr)) = (of(Mode::Sr), of(Mode::Nsr)) {
            let comparison = Comparison::of(sr, nsr).expect("both have a verified run");
            verdict.sr_to_nsr = Some(comparison);
            verdict.sentences.push(sr_against_nsr(&comparison, sr, nsr));
            verdict.sentences.push(reason(&comparison, sr));
        }
        let better = [Mode::Sr, Mode::Nsr].into_iter().filter_map(of).min_by(|a, b| a.min.partial_cmp(&b.min).unwrap());
        if let (Some(auto), Some(better)) = (of(Mode::Auto), better) {
            let comparison = Comparison::of(auto, better).expect("both have a verified run");
            verdict.auto_to_better = Some((comparison, better.protocol));
            verdict.sentences.push(auto_against(&comparison, auto, better));
        }
        if verdict.sentences.is_empty() {
            verdict.sentences.push(format!("Only one mode ran on {ranks} processes: there is nothing to compare."));
        }
        verdict
    }
}

fn alone(study: &Study, benchmark: Benchmark) -> String {
    let failed = study.failures().any(|(record, _)| record.benchmark == benchmark && record.ranks > 1);
    if failed {
        return "No run on more than one process ended well: see the list of failures.".to_owned();
    }
    let (wants, next) = if wants_squares(benchmark) { (" wants a square number of processes and", 4) } else { ("", 2) };
    format!("It{wants} ran on one only, so no message was sent: give -n {next} or more to compare the modes.")
}

fn sr_against_nsr(comparison: &Comparison, sr: &Record, nsr: &Record) -> String {
    let times =
        format!("{}\u{a0}s against {}\u{a0}s", seconds(sr.seconds.unwrap_or(0.0)), seconds(nsr.seconds.unwrap_or(0.0)));
    let (difference, evidence) = (comparison.difference(), comparison.evidence());
    let on = format!("on {} processes", sr.ranks);
    match comparison.standing {
        Standing::Level => {
            format!("SR and NSR cannot be told apart {on}: SR takes {difference} ({times}), {evidence}.")
        }
        _ => format!("SR takes {difference} than NSR {on} ({times}), {evidence}."),
    }
}

/// Why SR stands to NSR as it does, as far as the counters tell.
fn reason(comparison: &Comparison, sr: &Record) -> String {
    let traffic = &sr.traffic;
    let (Some(by_bytes), Some(by_messages), Some(mean)) =
        (traffic.availability_by_bytes(), traffic.availability_by_messages(), traffic.mean_message_bytes())
    else {
        return "It sent no message in the timed part.".to_owned();
    };
    let written = format!(
        "{} of its bytes and {} of its messages were written straight into the receiver's buffer",
        percent(by_bytes),
        percent(by_messages)
    );
    let size = format!("a message has {} on average", bytes(mean));
    if communication_share(sr) < SHARE_THAT_MATTERS {
        return format!(
            "It hardly communicates: {} messages of {} on average take less than {:.0}\u{a0}% of its time, so no protocol can matter \
             much ({written}).",
            count(traffic.messages),
            bytes(mean),
            SHARE_THAT_MATTERS * 100.0
        );
    }
    match comparison.standing {
        Standing::Unknown => format!("{}; {size}.", capitalized(&written)),
        Standing::Faster if by_bytes >= LITTLE_AVAILABILITY => {
            format!("Why: {written}, which saves a copy of each; {size}.")
        }
        Standing::Faster => format!("Remote writes are hardly the reason, though: {written}; {size}."),
        Standing::Slower if by_bytes < LITTLE_AVAILABILITY => {
            format!("Why: only {written}, while {}; {size}.", requests_lost(traffic))
        }
        Standing::Slower if mean < SMALL_MESSAGE_BYTES => format!(
            "Why: {size}, less than a request for send costs to post and to match: {} were posted for {} messages, though {written}.",
            count(traffic.requests_posted),
            count(traffic.messages)
        ),
        Standing::Slower => format!("Yet {written}: the copy saved costs less here than the request; {size}."),
        Standing::Level if by_bytes < LITTLE_AVAILABILITY => {
            format!("Only {written}, while {}; {size}.", requests_lost(traffic))
        }
        Standing::Level => {
            format!("{}, but the copies saved are too small a part of the time to show; {size}.", capitalized(&written))
        }
    }
}

/// What became of the requests that no sender used.
fn requests_lost(traffic: &Traffic) -> String {
    if traffic.requests_posted == 0 {
        return "no receive could be advertised to its sender".to_owned();
    }
    let fates = [
        (traffic.requests_stale, "came too late"),
        (traffic.requests_skipped, "were skipped"),
        (traffic.requests_dropped, "were dropped"),
    ];
    let lost: Vec<String> = fates
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, fate)| format!("{} {fate}", count(*number)))
        .collect();
    let posted = format!("{} requests were posted", count(traffic.requests_posted));
    if lost.is_empty() { posted } else { format!("of {posted}, {}", list(&lost)).replace("requests were", "requests") }
}

fn auto_against(comparison: &Comparison, auto: &Record, better: &Record) -> String {
    let name = better.protocol.title();
    let (difference, evidence) = (comparison.difference(), comparison.evidence());
    let by_bytes = auto.traffic.availability_by_bytes().map(percent);
    let written = by_bytes.map_or(String::new(), |share| format!(" It wrote {share} of the bytes directly."));
    match comparison.standing {
        Standing::Level => {
            format!("AUTO keeps up with the better one, {name}: it takes {difference}, {evidence}.{written}")
        }
        Standing::Slower => {
            format!("AUTO falls behind the better one, {name}: it takes {difference}, {evidence}.{written}")
        }
        _ => format!("AUTO takes {difference} than the better one, {name}, {evidence}.{written}"),
    }
}

/// The part of a run's time that its communication takes at a generous cost per message and byte.
fn communication_share(record: &Record) -> f64 {
    let Some(time) = record.seconds.filter(|time| *time > 0.0) else { return 0.0 };
    let per_rank = |total: u64| total as f64 / record.ranks as f64;
    let cost =
        per_rank(record.traffic.messages) * SECONDS_PER_MESSAGE + per_rank(record.traffic.bytes) / BYTES_PER_SECOND;
    cost / time
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn with_difference(verdict: &Verdict, comparison: &Comparison) -> String {
    format!("{} ({})", title(verdict.benchmark), comparison.difference())
}

/// What the whole study says, in a few sentences.
pub fn summary(study: &Study, verdicts: &[Verdict]) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(summary_of_requests(verdicts));
    sentences.extend(summary_of_auto(verdicts));
    let alone: Vec<String> = verdicts.iter().filter(|it| it.ranks.is_none()).map(|it| title(it.benchmark)).collect();
    if !alone.is_empty() {
        sentences.push(format!("Nothing can be said yet of {}, which ran on one process only.", list(&alone)));
    }
    let failures = study.failures().count();
    if failures > 0 {
        sentences.push(format!("{} did not end well.", plural(failures, "run")));
    }
    if study.missing > 0 {
        sentences.push(format!("The study is not complete: {} still to come.", plural(study.missing, "run")));
    }
    sentences
}

fn summary_of_requests(verdicts: &[Verdict]) -> Option<String> {
    let compared: Vec<(&Verdict, Comparison)> = verdicts.iter().filter_map(|it| Some((it, it.sr_to_nsr?))).collect();
    if compared.is_empty() {
        return None;
    }
    let named = |standing| -> Vec<String> {
        let with_it = compared.iter().filter(|(_, comparison)| comparison.standing == standing);
        with_it.map(|(verdict, it)| with_difference(verdict, it)).collect()
    };
    let (faster, slower) = (named(Standing::Faster), named(Standing::Slower));
    let of = format!("of {}", plural(compared.len(), "benchmark"));
    let first = match faster.as_slice() {
        [] => format!("Requests for send make none {of} faster beyond the spread"),
        some => format!("Requests for send make {} {of} faster beyond the spread: {}", some.len(), list(some)),
    };
    let second = match slower.as_slice() {
        [] => "they make none slower".to_owned(),
        some => format!("they make {} slower: {}", some.len(), list(some)),
    };
    let unknown = compared.iter().any(|(_, comparison)| comparison.standing == Standing::Unknown);
    let caution = if unknown { " Some have too few repeats to tell." } else { "" };
    Some(format!("{first}; {second}.{caution}"))
}

fn summary_of_auto(verdicts: &[Verdict]) -> Option<String> {
    let compared: Vec<(&Verdict, Comparison)> =
        verdicts.iter().filter_map(|it| Some((it, it.auto_to_better?.0))).collect();
    if compared.is_empty() || compared.iter().all(|(_, it)| it.standing == Standing::Unknown) {
        return None;
    }
    let behind: Vec<String> = compared
        .iter()
        .filter(|(_, it)| it.standing == Standing::Slower)
        .map(|(verdict, it)| with_difference(verdict, it))
        .collect();
    let ahead: Vec<String> = compared
        .iter()
        .filter(|(_, it)| it.standing == Standing::Faster)
        .map(|(verdict, it)| with_difference(verdict, it))
        .collect();
    let first = match behind.as_slice() {
        [] => "AUTO falls behind the better of SR and NSR nowhere".to_owned(),
        some => format!("AUTO falls behind the better of SR and NSR in {}", list(some)),
    };
    let second = if ahead.is_empty() { String::new() } else { format!(", and is ahead of both in {}", list(&ahead)) };
    Some(format!("{first}{second}."))
}
