//! What the figures of a study say, in words. Every sentence is computed from the records; none is written by hand.
//!
//! Two modes are told apart only if the faster one wins more pairings of one of its runs with one of the other's than
//! chance would explain (the rank test of Mann and Whitney): a single run disturbed by the machine cannot decide it
//! either way, and small gains show where there are many runs.

use crate::{Benchmark, Traffic};

use super::format::{bytes, count, list, percent, plural, seconds};
use super::plan::{Mode, title, wants_squares};
use super::record::{Record, Study};
use super::thesis;

/// Runs that each side needs before the spread says anything.
const REPEATS_MIN: usize = 4;
/// Two modes are told apart if chance alone would set one of them, whichever, so far apart from the other at most so
/// often.
const CHANCE_MAX: f64 = 0.05;
/// Generous costs of communication, to tell when it cannot matter: seconds per message, and bytes per second.
const SECONDS_PER_MESSAGE: f64 = 5e-6;
const BYTES_PER_SECOND: f64 = 2e9;
/// Below this share of the time, communication cannot matter.
const SHARE_THAT_MATTERS: f64 = 0.01;
/// Messages below this size are cheaper to copy than to ask for.
const SMALL_MESSAGE_BYTES: f64 = 4096.0;
/// Above this spread, runs differ too much to show small gains.
const WIDE_SPREAD: f64 = 0.1;
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
        } else if a == b || 2.0 * chance(first.repeats.len(), second.repeats.len(), pairings - won) > CHANCE_MAX {
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

/// How often the one of two modes that do not differ would lose at most `lost` of the pairings of its `ours` runs with
/// `theirs` of the other's: the distribution of the statistic U of Mann and Whitney, by their recurrence on which side
/// has the slowest run.
fn chance(ours: usize, theirs: usize, lost: usize) -> f64 {
    let most = ours * theirs;
    // For each number of their runs, how likely it is to lose just so many pairings; run by run of ours.
    let mut shares = vec![vec![0.0; most + 1]; theirs + 1];
    shares.iter_mut().for_each(|share| share[0] = 1.0);
    for a in 1..=ours {
        for b in 1..=theirs {
            let slowest_is_ours = a as f64 / (a + b) as f64;
            for pairings in (0..=most).rev() {
                let with_ours = if pairings >= b { shares[b][pairings - b] } else { 0.0 };
                shares[b][pairings] = slowest_is_ours * with_ours + (1.0 - slowest_is_ours) * shares[b - 1][pairings];
            }
        }
    }
    shares[theirs][..=lost].iter().sum()
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
    /// Data that ranks put into the others' memory against messages by AUTO.
    pub one_sided_to_auto: Option<Comparison>,
    /// In words.
    pub sentences: Vec<String>,
}

impl Verdict {
    /// The verdict on a benchmark of a study.
    pub fn on(study: &Study, benchmark: Benchmark) -> Verdict {
        let ranks = study.widest(benchmark);
        let mut verdict = Verdict {
            benchmark,
            ranks,
            sr_to_nsr: None,
            auto_to_better: None,
            one_sided_to_auto: None,
            sentences: Vec::new(),
        };
        let Some(ranks) = ranks else {
            verdict.sentences.push(alone(study, benchmark));
            return verdict;
        };
        let of = |mode| study.record(benchmark, ranks, mode).filter(|record| record.seconds.is_some());
        if let (Some(sr), Some(nsr)) = (of(Mode::Sr), of(Mode::Nsr)) {
            let comparison = Comparison::of(sr, nsr).expect("both have a verified run");
            verdict.sr_to_nsr = Some(comparison);
            verdict.sentences.push(sr_against_nsr(&comparison, sr, nsr));
            verdict.sentences.push(reason(&comparison, sr, nsr));
            verdict.sentences.extend(in_the_thesis(benchmark));
        }
        let better = [Mode::Sr, Mode::Nsr].into_iter().filter_map(of).min_by(|a, b| a.min.partial_cmp(&b.min).unwrap());
        if let (Some(auto), Some(better)) = (of(Mode::Auto), better) {
            let comparison = Comparison::of(auto, better).expect("both have a verified run");
            verdict.auto_to_better = Some((comparison, better.protocol));
            verdict.sentences.push(auto_against(&comparison, auto, better));
        }
        if let (Some(put), Some(auto)) = (of(Mode::OneSided), of(Mode::Auto)) {
            let comparison = Comparison::of(put, auto).expect("both have a verified run");
            verdict.one_sided_to_auto = Some(comparison);
            verdict.sentences.push(put_against_auto(&comparison));
        }
        if verdict.sentences.is_empty() {
            verdict.sentences.push(format!("Only one mode ran on {ranks} processes: there is nothing to compare."));
        }
        verdict
    }
}

fn alone(study: &Study, benchmark: Benchmark) -> String {
    let failed = study.failed().any(|record| record.benchmark == benchmark && record.ranks > 1);
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
fn reason(comparison: &Comparison, sr: &Record, nsr: &Record) -> String {
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
        let (messages, each, share) = (count(traffic.messages), bytes(mean), SHARE_THAT_MATTERS * 100.0);
        return if comparison.standing == Standing::Level || (comparison.ratio - 1.0).abs() < WIDE_SPREAD {
            format!(
                "It hardly communicates: {messages} messages of {each} on average take less than {share:.0}\u{a0}% of its time, so no \
                 protocol can matter much ({written})."
            )
        } else {
            format!(
                "Its {messages} messages of {each} on average take less than {share:.0}\u{a0}% of its time by themselves: what differs \
                 is how long processes wait for one another ({written})."
            )
        };
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
        Standing::Level if scatter(sr, nsr) > WIDE_SPREAD => format!(
            "{}, but runs of the same mode differ by up to {}, which hides what that gains; {size}.",
            capitalized(&written),
            percent(scatter(sr, nsr))
        ),
        Standing::Level => {
            format!("{}, but the copies saved are too small a part of the time to show; {size}.", capitalized(&written))
        }
    }
}

/// The wider spread of the two.
fn scatter(first: &Record, second: &Record) -> f64 {
    first.spread.unwrap_or(0.0).max(second.spread.unwrap_or(0.0))
}

/// How SR stood to NSR in the thesis.
fn in_the_thesis(benchmark: Benchmark) -> Option<String> {
    let ratio = thesis::sr_over_nsr(benchmark)?;
    let workstations = if wants_squares(benchmark) { 9 } else { 8 };
    let availability = percent(thesis::characteristics(benchmark)?.availability);
    let difference = if ratio == 1.0 {
        "as much time as".to_owned()
    } else {
        let more = if ratio < 1.0 { "less" } else { "more" };
        format!("{} {more} time than", percent((ratio - 1.0).abs()))
    };
    Some(format!(
        "In 1999, SR took {difference} NSR on {workstations} workstations, with {availability} of the bytes written remotely."
    ))
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
    let written = ways_of_auto(&auto.traffic);
    match comparison.standing {
        Standing::Level if scatter(auto, better) > WIDE_SPREAD => {
            format!(
                "AUTO and the better one, {name}, cannot be told apart: AUTO takes {difference}, {evidence}.{written}"
            )
        }
        Standing::Level => {
            format!("AUTO keeps up with the better one, {name}: it takes {difference}, {evidence}.{written}")
        }
        Standing::Slower => {
            format!("AUTO falls behind the better one, {name}: it takes {difference}, {evidence}.{written}")
        }
        _ => format!("AUTO takes {difference} than the better one, {name}, {evidence}.{written}"),
    }
}

fn put_against_auto(comparison: &Comparison) -> String {
    let (difference, evidence) = (comparison.difference(), comparison.evidence());
    match comparison.standing {
        Standing::Level => format!(
            "Data put into the memory of others and messages by AUTO cannot be told apart: PUT takes {difference}, {evidence}."
        ),
        _ => format!("Data put into the memory of others takes {difference} than messages by AUTO, {evidence}."),
    }
}

/// How AUTO's bytes travelled, as a sentence to follow another.
fn ways_of_auto(traffic: &Traffic) -> String {
    let Some(written) = traffic.availability_by_bytes() else { return String::new() };
    let written = format!(" It wrote {} of the bytes directly", percent(written));
    match traffic.copied_once() {
        Some(once) => {
            format!("{written}; of those in messages of 8 KB and more, {} were copied once only.", percent(once))
        }
        None => format!("{written}; no message had 8 KB or more."),
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
    sentences.extend(summary_of_one_sided(verdicts));
    sentences.extend(summary_of_scatter(study));
    let alone: Vec<String> = verdicts.iter().filter(|it| it.ranks.is_none()).map(|it| title(it.benchmark)).collect();
    if !alone.is_empty() {
        let names = list(&alone);
        let failed = study
            .failed()
            .any(|it| it.ranks > 1 && verdicts.iter().any(|v| v.ranks.is_none() && v.benchmark == it.benchmark));
        let why =
            if failed { "no run on more than one process ended well" } else { "no run had more than one process" };
        sentences.push(format!("Nothing can be compared for {names}: {why}."));
    }
    let failures: usize = study.failed().map(|record| record.failures.len()).sum();
    if failures > 0 {
        sentences.push(format!("{} did not end well.", plural(failures, "run")));
    }
    if study.missing > 0 {
        sentences.push(format!("The study is not complete: {} still to come.", plural(study.missing, "run")));
    }
    sentences
}

/// Whether the machine was too busy with other things for the figures to mean much.
fn summary_of_scatter(study: &Study) -> Option<String> {
    let repeated = study.records.iter().filter(|it| it.repeats.len() > 1);
    let mut spreads: Vec<f64> = repeated.filter_map(|it| it.spread).collect();
    spreads.sort_by(f64::total_cmp);
    let typical = *spreads.get(spreads.len() / 2)?;
    (typical > WIDE_SPREAD).then(|| {
        let typical = percent(typical);
        format!(
            "The machine was not quiet: the slowest run of a kind typically took {typical} longer than the fastest."
        )
    })
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
    let start = format!("Of {} compared, requests for send make", plural(compared.len(), "benchmark"));
    let first = match faster.as_slice() {
        [] => format!("{start} none faster beyond the spread"),
        some => format!("{start} {} faster beyond the spread: {}", some.len(), list(some)),
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
        [] => "AUTO falls behind the better of SR and NSR nowhere beyond the spread".to_owned(),
        some => format!("AUTO falls behind the better of SR and NSR in {}", list(some)),
    };
    let second = if ahead.is_empty() { String::new() } else { format!(", and is ahead of both in {}", list(&ahead)) };
    Some(format!("{first}{second}."))
}

fn summary_of_one_sided(verdicts: &[Verdict]) -> Option<String> {
    let compared: Vec<String> =
        verdicts.iter().filter_map(|it| Some(with_difference(it, &it.one_sided_to_auto?))).collect();
    (!compared.is_empty()).then(|| format!("Without messages, beside AUTO: {}.", list(&compared)))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn record(mode: Mode, repeats: &[f64]) -> Record {
        let cell = super::super::plan::Cell { benchmark: Benchmark::Cg, ranks: 2, mode };
        let mut record = Record::new(cell, crate::Class::S);
        record.repeats = repeats.to_vec();
        record.seconds = repeats.iter().copied().min_by(f64::total_cmp);
        record
    }

    fn compare(first: &[f64], second: &[f64]) -> Comparison {
        Comparison::of(&record(Mode::Sr, first), &record(Mode::Nsr, second)).unwrap()
    }

    /// Against the tables of the test: the largest U that counts at 5 %, both sides.
    #[test]
    fn chance_is_that_of_the_rank_test() {
        for (ours, theirs, largest) in [(4, 4, 0), (5, 5, 2), (4, 6, 2), (9, 9, 17), (20, 20, 127)] {
            assert!(2.0 * chance(ours, theirs, largest) <= 0.05, "{ours} and {theirs}");
            assert!(2.0 * chance(ours, theirs, largest + 1) > 0.05, "{ours} and {theirs}");
        }
        assert!((chance(7, 4, 28) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_difference_counts_only_if_most_pairings_show_it() {
        assert_eq!(compare(&[1.0, 1.1, 1.2, 1.2], &[1.3, 1.4, 1.5, 1.6]).standing, Standing::Faster);
        assert_eq!(compare(&[1.3, 1.4, 1.5, 1.6], &[1.0, 1.1, 1.2, 1.2]).standing, Standing::Slower);
        assert_eq!(compare(&[1.0, 1.4, 1.5, 1.6], &[1.1, 1.2, 1.3, 1.3]).standing, Standing::Level);
        // One disturbed run among five decides nothing.
        assert_eq!(compare(&[1.0, 1.1, 1.1, 1.2, 9.0], &[1.3, 1.4, 1.5, 1.3, 1.4]).standing, Standing::Level);
        assert_eq!(compare(&[1.0, 1.1, 1.1, 1.2, 1.35], &[1.3, 1.4, 1.5, 1.4, 1.4]).standing, Standing::Faster);
    }

    #[test]
    fn three_runs_of_each_prove_nothing() {
        let comparison = compare(&[1.0, 1.0, 1.1], &[2.0, 2.0, 2.1]);
        assert_eq!(comparison.standing, Standing::Unknown);
        assert_eq!(comparison.difference(), "50.0\u{a0}% less time");
    }

    #[test]
    fn no_verified_run_no_comparison() {
        assert_eq!(Comparison::of(&record(Mode::Sr, &[]), &record(Mode::Nsr, &[1.0])), None);
    }

    #[test]
    fn sentences_follow_the_figures() {
        let study = fixture::study(2, 5, 2);
        let text = |benchmark| Verdict::on(&study, benchmark).sentences.join(" ").replace('\u{a0}', " ");
        let sort = text(Benchmark::Is);
        assert!(sort.contains("SR takes 2") && sort.contains("% less time than NSR on 2 processes"), "{sort}");
        assert!(sort.contains("beyond the spread") && sort.contains("which saves a copy of each"), "{sort}");
        let waves = text(Benchmark::Lu);
        assert!(waves.contains("% more time than NSR") && waves.contains("came too late"), "{waves}");
        assert!(text(Benchmark::Ep).contains("It hardly communicates: 12 messages of 80 B"), "{}", text(Benchmark::Ep));
        assert!(sort.contains("In 1999, SR took 22.0 % less time than NSR on 8 workstations, with 99.2 %"), "{sort}");
        assert!(text(Benchmark::Bt).contains("It wants a square number of processes and ran on one only"));
        assert!(text(Benchmark::Ft).contains("copied once only"), "{}", text(Benchmark::Ft));
    }

    #[test]
    fn where_messages_take_no_time_waiting_explains_differences() {
        let (mut sr, nsr) = (record(Mode::Sr, &[9.0, 9.1, 9.2, 9.3]), record(Mode::Nsr, &[3.0, 3.1, 3.2, 3.3]));
        sr.traffic = Traffic { messages: 100, bytes: 1000, ..Traffic::default() };
        let text = reason(&Comparison::of(&sr, &nsr).unwrap(), &sr, &nsr);
        assert!(text.contains("how long processes wait for one another"), "{text}");
        let level = reason(&Comparison::of(&sr, &sr).unwrap(), &sr, &sr);
        assert!(level.starts_with("It hardly communicates"), "{level}");
    }

    #[test]
    fn the_summary_names_winners_and_losers() {
        let mut study = fixture::study(2, 5, 2);
        study.missing = 3;
        study.records[0].failed(1, "rank 1 was killed".to_owned());
        let verdicts: Vec<Verdict> = study.benchmarks().into_iter().map(|it| Verdict::on(&study, it)).collect();
        let text = summary(&study, &verdicts).join(" ").replace('\u{a0}', " ");
        assert!(
            text.starts_with("Of 6 benchmarks compared, requests for send make 3 faster beyond the spread: CG ("),
            "{text}"
        );
        assert!(text.contains("they make 2 slower: MG ("), "{text}");
        assert!(text.contains("Nothing can be compared for SP and BT: no run had more than one process."), "{text}");
        assert!(text.contains("1 run did not end well.") && text.contains("3 runs still to come"), "{text}");
    }
}
