//! Cuts what a rank writes into whole lines, so that lines of different ranks never mix.

use std::time::{Duration, Instant, SystemTime};

/// A longer line is passed on in pieces.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How long the beginning of a line waits for the rest. It is passed on then: it may be a question to the user.
const PARTIAL_LINE_WAIT: Duration = Duration::from_millis(200);

/// What stands before each line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefix {
    pub(crate) text: Vec<u8>,
    /// Whether the time is before that.
    pub(crate) timed: bool,
}

impl Prefix {
    fn append_to(&self, out: &mut Vec<u8>) {
        if self.timed {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            out.extend_from_slice(timestamp(now).as_bytes());
        }
        out.extend_from_slice(&self.text);
    }
}

/// `2026-01-31T23:59:59.123Z ` for a time since 1970.
fn timestamp(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    let millisecond = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z ")
}

/// Year, month and day of a day since 1970, in the calendar of Gregory.
fn date(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

/// One output stream of one rank.
#[derive(Debug, Default)]
pub(crate) struct LineStream {
    /// Written before each line. If there is one, lines are passed on whole or not at all.
    prefix: Option<Prefix>,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// When `partial` last grew.
    since: Option<Instant>,
}

impl LineStream {
    pub(crate) fn new(prefix: Option<Prefix>) -> Self {
        LineStream { prefix, ..LineStream::default() }
    }

    /// Takes what the rank wrote and appends the lines that are complete now to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, now: Instant) {
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        match &self.prefix {
            None => {
                if complete > 0 {
                    out.append(&mut self.partial);
                    out.extend_from_slice(&bytes[..complete]);
                }
            }
            Some(prefix) => {
                for line in bytes[..complete].split_inclusive(|&byte| byte == b'\n') {
                    prefix.append_to(out);
                    out.append(&mut self.partial);
                    out.extend_from_slice(line);
                }
            }
        }
        self.partial.extend_from_slice(&bytes[complete..]);
        self.since = (!self.partial.is_empty()).then_some(now);
        if self.partial.len() > LINE_BYTES_MAX {
            self.flush(out);
        }
    }

    /// When [`LineStream::flush_waiting`] is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        if self.prefix.is_some() {
            return None;
        }
        self.since.map(|since| since + PARTIAL_LINE_WAIT)
    }

    /// Passes on the beginning of a line that has waited long enough.
    pub(crate) fn flush_waiting(&mut self, out: &mut Vec<u8>, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            self.flush(out);
        }
    }

    /// Passes on what is left, as a line of its own if there is a prefix.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if self.partial.is_empty() {
            return;
        }
        if let Some(prefix) = &self.prefix {
            prefix.append_to(out);
            self.partial.push(b'\n');
        }
        out.append(&mut self.partial);
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(stream: &mut LineStream, text: &str) -> String {
        let mut out = Vec::new();
        stream.push(text.as_bytes(), &mut out, Instant::now());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_passed_on_when_they_are_whole() {
        let mut stream = LineStream::new(None);
        assert_eq!(push(&mut stream, "one\ntw"), "one\n");
        assert_eq!(push(&mut stream, "o"), "");
        assert_eq!(push(&mut stream, " three\nfour\nfi"), "two three\nfour\n");
        let mut rest = Vec::new();
        stream.flush(&mut rest);
        assert_eq!(rest, b"fi");
    }

    #[test]
    fn every_line_gets_the_prefix_once() {
        let mut stream = LineStream::new(Some(Prefix { text: b"[3] ".to_vec(), timed: false }));
        assert_eq!(push(&mut stream, "a"), "");
        assert_eq!(push(&mut stream, "b\n\nc"), "[3] ab\n[3] \n");
        let mut rest = Vec::new();
        stream.flush(&mut rest);
        assert_eq!(rest, b"[3] c\n");
        assert_eq!(stream.due(), None);
    }

    #[test]
    fn times_are_written_in_full() {
        let written = |seconds| timestamp(Duration::from_secs(seconds) + Duration::from_millis(7));
        assert_eq!(written(0), "1970-01-01T00:00:00.007Z ");
        assert_eq!(written(951_782_399), "2000-02-28T23:59:59.007Z ");
        assert_eq!(written(951_782_400), "2000-02-29T00:00:00.007Z ");
        assert_eq!(written(1_798_761_599), "2026-12-31T23:59:59.007Z ");
        let mut stream = LineStream::new(Some(Prefix { text: b"[3] ".to_vec(), timed: true }));
        let line = push(&mut stream, "a\n");
        assert!(line.starts_with("20") && line.ends_with("Z [3] a\n"), "{line}");
    }

    #[test]
    fn the_beginning_of_a_line_waits_for_a_while() {
        let mut stream = LineStream::new(None);
        let mut out = Vec::new();
        let now = Instant::now();
        stream.push(b"How many? ", &mut out, now);
        stream.flush_waiting(&mut out, now);
        assert!(out.is_empty());
        stream.flush_waiting(&mut out, stream.due().unwrap());
        assert_eq!(out, b"How many? ");
        assert_eq!(stream.due(), None);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let mut stream = LineStream::new(None);
        let mut out = Vec::new();
        for _ in 0..40 {
            stream.push(&[b'x'; 65536], &mut out, Instant::now());
            assert!(stream.partial.len() <= LINE_BYTES_MAX);
        }
        stream.flush(&mut out);
        assert_eq!(out.len(), 40 * 65536);
    }
}
