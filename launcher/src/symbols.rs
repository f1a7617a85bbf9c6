//! Names for places in programs: asked of `rwmpi-console`, the program beside this one that can read what compilers
//! leave for debuggers. Without it, or if it takes too long, places are numbers.
//!
//! A question is a line for each frame, the number of its backtrace, the place and the file; the answers are lines with
//! that number and the text to be shown.

use crate::console;
use crate::faults::Frame;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most of an answer that is read.
const ANSWER_BYTES_MAX: usize = 1 << 18;
/// Lines of a backtrace at most.
const LINES_MAX: usize = 16;

/// A question that has been asked. Dropping it ends whoever was asked.
#[derive(Debug)]
pub(crate) struct Question {
    backtraces: Vec<Vec<Frame>>,
    asked: Option<(Child, OwnedFd)>,
    answer: Vec<u8>,
    until: Instant,
}

impl Question {
    pub(crate) fn ask(backtraces: Vec<Vec<Frame>>) -> Question {
        let asked = ask(&backtraces);
        Question { backtraces, asked, answer: Vec::new(), until: Instant::now() + PATIENCE }
    }

    /// What to wait for.
    pub(crate) fn poll(&self) -> Option<PollFd<'_>> {
        self.asked.as_ref().map(|(_, answer)| PollFd::new(answer, PollFlags::IN))
    }

    /// The lines of each backtrace, once they are known.
    pub(crate) fn answer(&mut self, now: Instant) -> Option<Vec<Vec<String>>> {
        if let Some((_, pipe)) = &self.asked {
            let mut piece = [0; 4096];
            loop {
                match rustix::io::read(pipe, &mut piece) {
                    Ok(count @ 1..) if self.answer.len() < ANSWER_BYTES_MAX => {
                        self.answer.extend_from_slice(&piece[..count]);
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) if now < self.until => return None,
                    _ => break,
                }
            }
        }
        let text = String::from_utf8_lossy(&self.answer).into_owned();
        Some(self.backtraces.iter().enumerate().map(|(index, frames)| lines_of(index, frames, &text)).collect())
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.asked {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn ask(backtraces: &[Vec<Frame>]) -> Option<(Child, OwnedFd)> {
    let mut question = String::new();
    for (index, frames) in backtraces.iter().enumerate() {
        for Frame { offset, file } in frames {
            let _ = writeln!(question, "{index} {offset:x} {}", file.as_deref().unwrap_or_default());
        }
    }
    let mut command = console::command("symbols")?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let written = child.stdin.take()?.write_all(question.as_bytes());
    let answer: OwnedFd = child.stdout.take()?.into();
    let ready = rustix::fs::fcntl_setfl(&answer, rustix::fs::OFlags::NONBLOCK);
    if written.is_err() || ready.is_err() {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    Some((child, answer))
}

/// What was answered for that backtrace, or what is known without.
fn lines_of(index: usize, frames: &[Frame], answer: &str) -> Vec<String> {
    let own = answer.lines().filter_map(|line| line.split_once(' '));
    let own = own.filter(|(number, _)| number.parse() == Ok(index)).map(|(_, text)| text.to_owned());
    let named: Vec<String> = own.take(LINES_MAX).collect();
    if named.is_empty() { frames.iter().take(LINES_MAX).map(without_name).collect() } else { named }
}

fn without_name(frame: &Frame) -> String {
    match &frame.file {
        Some(file) => format!("{:#x} in {file}", frame.offset),
        None => format!("{:#x}, where no program is", frame.offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_places_are_numbers() {
        let frames =
            [Frame { offset: 0x1123, file: Some("/usr/bin/a program".to_owned()) }, Frame { offset: 0, file: None }];
        assert_eq!(lines_of(0, &frames, ""), ["0x1123 in /usr/bin/a program", "0x0, where no program is"]);
        assert_eq!(lines_of(1, &frames, "0 other\n1 main at a.c:7\nnonsense\n1 more\n"), ["main at a.c:7", "more"]);
        assert_eq!(lines_of(0, &vec![frames[0].clone(); 100], "").len(), LINES_MAX);
    }
}
