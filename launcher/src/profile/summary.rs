//! What the notes of all ranks say together, and how numbers are told.

use super::answer::{self, Sums};
use super::gathered::Job;
use rwmpi_core::profile::recorded::{Function, Reason};
use std::collections::BTreeMap;

/// Less of the ranks' time than this, per mille, is not worth a word.
pub(super) const LITTLE: u64 = 50;

/// A job in numbers.
pub(super) struct Summary {
    /// The functions of all ranks, those that cost most first.
    pub(super) functions: Vec<Function>,
    /// The ranks that others waited for, the worst first.
    pub(super) awaited: Vec<Awaited>,
    /// How long all ranks waited.
    pub(super) waited: u64,
    /// Why the job takes as long as it does.
    pub(super) answer: Vec<String>,
}

/// A rank that others waited for.
pub(super) struct Awaited {
    pub(super) rank: usize,
    /// How long all others did, together.
    pub(super) time: u64,
    /// For what most of it.
    pub(super) reason: Reason,
    /// Who did most, and how long.
    pub(super) most: (usize, u64),
}

/// The summary of a job.
pub(super) fn of(job: &Job) -> Summary {
    let functions = functions(job);
    let awaited = awaited(job);
    let inside = job.noted().map(|(_, _, notes)| notes.inside).sum();
    let waited = job.noted().map(|(_, _, notes)| notes.waited).sum();
    let answer = answer::of(job, &Sums { functions: &functions, awaited: &awaited, inside, waited });
    Summary { functions, awaited, waited, answer }
}

fn functions(job: &Job) -> Vec<Function> {
    let mut sums: BTreeMap<&str, Function> = BTreeMap::new();
    for function in job.noted().flat_map(|(_, _, notes)| &notes.functions) {
        let sum = sums.entry(&function.name).or_default();
        sum.name.clone_from(&function.name);
        sum.calls += function.calls;
        sum.time += function.time;
        sum.waiting += function.waiting;
        sum.longest = sum.longest.max(function.longest);
        sum.bytes += function.bytes;
    }
    let mut functions: Vec<Function> = sums.into_values().collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.time));
    functions
}

fn awaited(job: &Job) -> Vec<Awaited> {
    let of_rank = |rank: usize| {
        let waits = job.noted().filter_map(|(number, _, notes)| Some((number, notes.peers.get(rank)?.waits)));
        let (mut time, mut most, mut by_reason) = (0, (0, 0), [0; Reason::ALL.len()]);
        for (number, waits) in waits {
            let waited: u64 = waits.iter().map(|[_, time]| time).sum();
            time += waited;
            if waited > most.1 {
                most = (number, waited);
            }
            by_reason.iter_mut().zip(waits).for_each(|(sum, [_, time])| *sum += time);
        }
        let reason = Reason::ALL.into_iter().max_by_key(|&reason| by_reason[reason as usize])?;
        (time > 0).then_some(Awaited { rank, time, reason, most })
    };
    let mut awaited: Vec<Awaited> = (0..job.ranks.len()).filter_map(of_rank).collect();
    awaited.sort_by_key(|awaited| std::cmp::Reverse(awaited.time));
    awaited
}

pub(super) fn per_mille(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 1000 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// A share in words.
pub(super) fn per_cent(part: u64, whole: u64) -> String {
    match per_mille(part, whole) {
        0 if part == 0 => "0 %".to_owned(),
        0 => "< 0.1 %".to_owned(),
        little @ 1..100 => format!("{}.{} %", little / 10, little % 10),
        much => format!("{} %", (much + 5) / 10),
    }
}

/// A time in words: three digits and a unit.
pub(super) fn time(nanoseconds: u64) -> String {
    let (value, unit) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (nanoseconds as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (nanoseconds as f64 / 1e6, "ms"),
        _ => (nanoseconds as f64 / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A length in words.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

fn three_digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(
            [999, 1000, 12_345, 123_456_789, 61_000_000_000].map(time),
            ["999 ns", "1.00 µs", "12.3 µs", "123 ms", "61.0 s"]
        );
        assert_eq!([0, 1023, 1024, 1 << 20, 5 << 40].map(bytes), ["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "5.00 TiB"]);
        assert_eq!([0, 1, 99, 5000].map(|part| per_cent(part, 10_000)), ["0 %", "< 0.1 %", "0.9 %", "50 %"]);
    }
}
