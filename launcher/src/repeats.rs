//! What several ranks write alike on standard error as a job fails is shown once, and how many wrote it.
//!
//! Whatever a rank writes that no other has just written is passed on at once. A line that another rank of the host has
//! written a moment ago waits, with what its rank writes after it: if a rank fails meanwhile, the job's ranks very
//! likely fail of the same, and all that waits is told as a number at the end; if none does, it is passed on unchanged.
//! So nothing of a job that goes well is ever left out, and only repetitions are late, by less than can be noticed.
//!
//! Lines are the same if they differ in nothing but what a rank calls itself: its number after the word "rank", or its
//! process's.

use crate::phrases::ranges;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a repetition waits.
const HOLD: Duration = Duration::from_millis(250);
/// How long a line that was passed on is remembered.
const MEMORY: Duration = Duration::from_secs(3);
/// Lines that are remembered at most.
const LINES_MAX: usize = 4000;
/// What a rank may have waiting at most, bytes; more than that is passed on.
const HELD_BYTES_MAX: usize = 64 << 10;

/// Who writes to standard error.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) rank: usize,
    pub(crate) pid: i32,
    /// Bytes that the launcher puts before each line.
    pub(crate) prefix: usize,
}

#[derive(Debug)]
struct Pending {
    writer: Writer,
    /// The numbers of its process and its rank, as a text has them.
    own: [String; 2],
    lines: Vec<u8>,
    since: Option<Instant>,
}

/// A line that was passed on.
#[derive(Debug)]
struct Passed {
    writer: usize,
    key: Rc<[u8]>,
    when: Instant,
}

/// Who has written a line that is remembered, and how often each.
type Writers = Vec<(usize, usize)>;

/// The standard error of all ranks of a host.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    pending: Vec<Pending>,
    passed: VecDeque<Passed>,
    /// The same, to be found by the line: each is looked for once for every line of another rank.
    known: HashMap<Rc<[u8]>, Writers>,
    /// Whether the job fails.
    failing: bool,
}

impl Repeats {
    /// Adds one who writes; gives its number.
    pub(crate) fn add(&mut self, writer: Writer) -> usize {
        let own = [writer.pid.to_string(), writer.rank.to_string()];
        self.pending.push(Pending { writer, own, lines: Vec::new(), since: None });
        self.pending.len() - 1
    }

    /// Takes what one has written, and appends to `out` what is to be passed on.
    pub(crate) fn take(&mut self, number: usize, lines: &[u8], now: Instant, out: &mut Vec<u8>) {
        if self.pending.len() == 1 {
            return out.extend_from_slice(lines);
        }
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let key = self.key(number, line);
            let held = &self.pending[number];
            if held.since.is_none() && !self.is_repetition(number, &key, now) {
                self.pass(number, key, now);
                out.extend_from_slice(line);
                continue;
            }
            let held = &mut self.pending[number];
            held.since.get_or_insert(now);
            held.lines.extend_from_slice(line);
            if held.lines.len() > HELD_BYTES_MAX {
                self.release(number, now, out);
            }
        }
    }

    /// A rank has failed, or the job is about to end.
    pub(crate) fn fail(&mut self) {
        self.failing = true;
    }

    /// When [`Repeats::go_on`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        if self.failing {
            return None;
        }
        self.pending.iter().filter_map(|pending| pending.since).min().map(|since| since + HOLD)
    }

    /// Passes on what has waited long enough.
    pub(crate) fn go_on(&mut self, now: Instant, out: &mut Vec<u8>) {
        while self.due().is_some_and(|due| due <= now) {
            let oldest = (0..self.pending.len())
                .filter(|&number| self.pending[number].since.is_some())
                .min_by_key(|&number| self.pending[number].since);
            oldest.into_iter().for_each(|number| self.release(number, now, out));
        }
    }

    /// All has been written: passes on what still waits, or, if the job has failed, says who has written it, each text
    /// once.
    pub(crate) fn finish(&mut self, now: Instant, out: &mut Vec<u8>) {
        if !self.failing {
            return (0..self.pending.len()).for_each(|number| self.release(number, now, out));
        }
        let mut groups: Vec<(Vec<Vec<u8>>, Vec<usize>)> = Vec::new();
        for number in (0..self.pending.len()).filter(|&number| self.pending[number].since.is_some()) {
            let keys = self.keys(number);
            match groups.iter_mut().find(|(known, _)| *known == keys) {
                Some((_, numbers)) => numbers.push(number),
                None => groups.push((keys, vec![number])),
            }
        }
        for (keys, mut numbers) in groups {
            let first = self.first_with(&keys).unwrap_or_else(|| {
                let first = numbers.remove(0);
                self.release(first, now, out);
                first
            });
            self.say(first, &keys, &numbers, out);
            for number in numbers {
                let pending = &mut self.pending[number];
                (pending.lines, pending.since) = (Vec::new(), None);
            }
        }
    }

    /// Says that these wrote what another one has.
    fn say(&self, first: usize, keys: &[Vec<u8>], numbers: &[usize], out: &mut Vec<u8>) {
        if numbers.is_empty() {
            return;
        }
        let mut ranks: Vec<usize> = numbers.iter().map(|&number| self.pending[number].writer.rank).collect();
        ranks.sort_unstable();
        let (who, times) = (if ranks.len() == 1 { "rank" } else { "ranks" }, ranks.len());
        let what = if keys.len() == 1 { "this line".to_owned() } else { format!("these {} lines", keys.len()) };
        let last = keys.iter().rev().find(|key| !key.trim_ascii().is_empty());
        let last = String::from_utf8_lossy(last.map_or(&b""[..], |key| key.trim_ascii())).into_owned();
        let first = self.pending[first].writer.rank;
        let text =
            format!("mpiexec: ×{times}: {who} {} wrote {what}, as rank {first} did, up to: {last}\n", ranges(&ranks));
        out.extend_from_slice(text.as_bytes());
    }

    /// Who has written all these lines, one after the other, and had them passed on.
    fn first_with(&self, keys: &[Vec<u8>]) -> Option<usize> {
        (0..self.pending.len()).find(|&number| {
            let own: Vec<&[u8]> =
                self.passed.iter().filter(|passed| passed.writer == number).map(|passed| &passed.key[..]).collect();
            own.windows(keys.len()).any(|window| window.iter().copied().eq(keys.iter().map(|key| &key[..])))
        })
    }

    fn is_repetition(&mut self, number: usize, key: &[u8], now: Instant) -> bool {
        while self.passed.front().is_some_and(|passed| now.saturating_duration_since(passed.when) > MEMORY) {
            self.forget_oldest();
        }
        self.known.get(key).is_some_and(|writers| writers.iter().any(|&(writer, _)| writer != number))
    }

    fn pass(&mut self, writer: usize, key: Vec<u8>, when: Instant) {
        if self.passed.len() == LINES_MAX {
            self.forget_oldest();
        }
        let key = match self.known.get_key_value(&key[..]) {
            Some((key, _)) => key.clone(),
            None => Rc::from(key),
        };
        let writers = self.known.entry(key.clone()).or_default();
        match writers.iter_mut().find(|(known, _)| *known == writer) {
            Some((_, times)) => *times += 1,
            None => writers.push((writer, 1)),
        }
        self.passed.push_back(Passed { writer, key, when });
    }

    fn forget_oldest(&mut self) {
        let Some(Passed { writer, key, .. }) = self.passed.pop_front() else { return };
        let Some(writers) = self.known.get_mut(&key) else { return };
        if let Some(place) = writers.iter().position(|&(known, _)| known == writer) {
            writers[place].1 -= 1;
            if writers[place].1 == 0 {
                writers.swap_remove(place);
            }
        }
        if writers.is_empty() {
            self.known.remove(&key);
        }
    }

    fn release(&mut self, number: usize, now: Instant, out: &mut Vec<u8>) {
        let pending = &mut self.pending[number];
        pending.since = None;
        let lines = std::mem::take(&mut pending.lines);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let key = self.key(number, line);
            self.pass(number, key, now);
        }
        out.extend_from_slice(&lines);
    }

    fn keys(&self, number: usize) -> Vec<Vec<u8>> {
        let lines = &self.pending[number].lines;
        lines.split_inclusive(|&byte| byte == b'\n').map(|line| self.key(number, line)).collect()
    }

    /// The line without what only its rank would write.
    fn key(&self, number: usize, line: &[u8]) -> Vec<u8> {
        let Pending { writer, own, .. } = &self.pending[number];
        let line = line.get(writer.prefix..).unwrap_or_default();
        let mut key = Vec::with_capacity(line.len());
        for word in line.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
            let is_own = word == own[0].as_bytes() || (word == own[1].as_bytes() && key.ends_with(b"rank "));
            key.extend_from_slice(if is_own { b"N" } else { word });
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_three() -> Repeats {
        let mut repeats = Repeats::default();
        for rank in 0..3 {
            repeats.add(Writer { rank, pid: 1000 + rank as i32, prefix: 0 });
        }
        repeats
    }

    fn take(repeats: &mut Repeats, number: usize, text: &str, now: Instant) -> String {
        let mut out = Vec::new();
        repeats.take(number, text.as_bytes(), now, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn finish(repeats: &mut Repeats, now: Instant) -> String {
        let mut out = Vec::new();
        repeats.finish(now, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_all_write_as_they_fail_is_shown_once() {
        let (mut repeats, now) = (of_three(), Instant::now());
        let trace = |rank: usize| format!("thread 'main' ({}) panicked\nrank {rank}: no such file\n", 1000 + rank);
        assert_eq!(take(&mut repeats, 1, &trace(1), now), trace(1));
        assert_eq!(take(&mut repeats, 0, &trace(0), now), "");
        repeats.fail();
        assert_eq!(take(&mut repeats, 2, &trace(2), now), "");
        assert_eq!(repeats.due(), None);
        assert_eq!(
            finish(&mut repeats, now),
            "mpiexec: ×2: ranks 0,2 wrote these 2 lines, as rank 1 did, up to: rank N: no such file\n"
        );
        assert_eq!(finish(&mut repeats, now), "");
    }

    #[test]
    fn a_job_that_goes_on_loses_nothing() {
        let (mut repeats, now) = (of_three(), Instant::now());
        assert_eq!(take(&mut repeats, 0, "warning\n", now), "warning\n");
        assert_eq!(take(&mut repeats, 1, "warning\n", now), "");
        assert_eq!(take(&mut repeats, 1, "more\n", now), "", "lines of a rank stay in their order");
        assert_eq!(take(&mut repeats, 2, "other\n", now), "other\n");
        let mut out = Vec::new();
        repeats.go_on(now, &mut out);
        assert!(out.is_empty());
        repeats.go_on(repeats.due().unwrap(), &mut out);
        assert_eq!(out, b"warning\nmore\n");
        assert_eq!(repeats.due(), None);
        assert_eq!(take(&mut repeats, 2, "warning\n", now), "");
        assert_eq!(finish(&mut repeats, now), "warning\n", "it ends before that was due");
    }

    #[test]
    fn a_text_that_only_begins_alike_is_shown() {
        let (mut repeats, now) = (of_three(), Instant::now());
        take(&mut repeats, 0, "Traceback:\nValueError\n", now);
        take(&mut repeats, 1, "Traceback:\nKeyError\n", now);
        take(&mut repeats, 2, "Traceback:\nKeyError\n", now);
        repeats.fail();
        assert_eq!(
            finish(&mut repeats, now),
            "Traceback:\nKeyError\nmpiexec: ×1: rank 2 wrote these 2 lines, as rank 1 did, up to: KeyError\n"
        );
    }

    #[test]
    fn lines_of_long_ago_and_of_oneself_are_no_repetitions() {
        let (mut repeats, now) = (of_three(), Instant::now());
        assert_eq!(take(&mut repeats, 0, "tick\ntick\n", now), "tick\ntick\n");
        assert_eq!(take(&mut repeats, 1, "tick\n", now + MEMORY * 2), "tick\n");
    }

    #[test]
    fn what_is_known_is_what_is_remembered() {
        let (mut repeats, now) = (of_three(), Instant::now());
        for line in 0..3 * LINES_MAX {
            // No number that is a process's.
            let text = format!("{}\n", 1_000_000 + line % (LINES_MAX + 5));
            assert_eq!(take(&mut repeats, line % 2, &text, now), text, "nobody else has just written it");
        }
        assert_eq!(repeats.passed.len(), LINES_MAX);
        let times: usize = repeats.known.values().flatten().map(|(_, times)| times).sum();
        assert_eq!((times, repeats.known.len()), (LINES_MAX, LINES_MAX));
        take(&mut repeats, 2, "late\n", now + MEMORY * 2);
        assert_eq!((repeats.passed.len(), repeats.known.len()), (1, 1));
    }

    #[test]
    fn very_much_is_not_held_back() {
        let (mut repeats, now) = (of_three(), Instant::now());
        let long = "x".repeat(HELD_BYTES_MAX) + "\n";
        assert_eq!(take(&mut repeats, 0, &long, now).len(), long.len());
        assert_eq!(take(&mut repeats, 1, &long, now).len(), long.len());
    }

    #[test]
    fn what_stands_before_a_line_makes_no_difference() {
        let mut repeats = Repeats::default();
        for rank in 0..2 {
            repeats.add(Writer { rank, pid: 7, prefix: 4 });
        }
        let now = Instant::now();
        assert_eq!(take(&mut repeats, 0, "[0] bad\n", now), "[0] bad\n");
        assert_eq!(take(&mut repeats, 1, "[1] bad\n", now), "");
        repeats.fail();
        assert_eq!(finish(&mut repeats, now), "mpiexec: ×1: rank 1 wrote this line, as rank 0 did, up to: bad\n");
    }
}
