//! Where the ranks' output goes: the launcher's own standard output and standard error, or memory.
//!
//! Nothing here blocks but [`say`], which speaks before and after a job. Before each write the descriptor is asked
//! whether it has room (the launcher's output belongs to others too, so it is not made non-blocking), and a pipe that
//! has room takes `PIPE_BYTES` without waiting. While too much waits to be written, the ranks' pipes are left unread,
//! so that the ranks wait instead of our memory growing.

use crate::error::exit_code;
use crate::held_output::Held;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

/// Most that a pipe with room takes without blocking.
const PIPE_BYTES: usize = 4096;
/// Most that is written to a file at once, so that signals are looked at in between.
const FILE_BYTES: usize = 1 << 20;
/// Above that much unwritten output the ranks are no longer read.
pub(crate) const UNWRITTEN_BYTES_MAX: usize = 1 << 20;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Which {
    Stdout = 0,
    Stderr = 1,
}

impl Which {
    pub(crate) const BOTH: [Which; 2] = [Which::Stdout, Which::Stderr];
}

/// Output that could not be written, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostOutput {
    which: Which,
    error: Errno,
}

impl LostOutput {
    /// That `error` came of writing to standard output.
    pub(crate) fn of_stdout(error: &io::Error) -> LostOutput {
        LostOutput { which: Which::Stdout, error: Errno::from_io_error(error).unwrap_or(Errno::IO) }
    }

    /// The exit code of a launcher that has nothing worse to say: where the reader has gone, as of any program that
    /// goes on writing.
    pub(crate) fn exit_code(self) -> u8 {
        match self.error {
            Errno::PIPE => exit_code::SIGNAL_BASE + libc::SIGPIPE as u8,
            _ => exit_code::OUTPUT_LOST,
        }
    }
}

impl fmt::Display for LostOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = match self.which {
            Which::Stdout => "standard output",
            Which::Stderr => "standard error",
        };
        write!(f, "{which} can no longer be written: {}", io::Error::from(self.error))
    }
}

/// Both outputs.
#[derive(Debug)]
pub(crate) struct Outputs {
    destinations: [Destination; 2],
}

impl Outputs {
    /// `capture`: keep everything instead of writing it.
    pub(crate) fn new(capture: bool) -> Self {
        let destination = |which| if capture { Destination::keep() } else { Destination::to(which) };
        Outputs { destinations: Which::BOTH.map(destination) }
    }

    /// Takes lines of a rank, whole but for the last that it wrote; [`Outputs::write`] writes them.
    pub(crate) fn append(&mut self, which: Which, mut lines: Vec<u8>) {
        let destination = &mut self.destinations[which as usize];
        if let Some(&last) = lines.last()
            && destination.broken.is_none()
        {
            destination.in_line = last != b'\n';
            if let Some(held) = &mut destination.held
                && held.append(&lines).is_ok()
            {
                return;
            }
            destination.pending.append(&mut lines);
        }
    }

    /// Ends a line that a rank left unfinished on standard error, so that what the launcher says next has lines of its
    /// own.
    pub(crate) fn end_line(&mut self) {
        if self.destinations[Which::Stderr as usize].in_line {
            self.append(Which::Stderr, b"\n".to_vec());
        }
    }

    /// Puts a message of the launcher's own among the ranks' lines on standard error.
    pub(crate) fn note(&mut self, text: &str) {
        self.end_line();
        let lines: String = text.lines().map(|line| format!("mpiexec: {line}\n")).collect();
        self.append(Which::Stderr, lines.into_bytes());
    }

    /// Those to wait for until they have room again.
    pub(crate) fn waiting_for_room(&self) -> impl Iterator<Item = BorrowedFd<'static>> {
        self.destinations.iter().filter(|destination| !destination.is_empty()).filter_map(Destination::descriptor)
    }

    /// Whether everything was written.
    pub(crate) fn all_written(&self) -> bool {
        self.destinations.iter().all(Destination::is_empty)
    }

    /// Whether so much waits to be written that no more should be read.
    pub(crate) fn congested(&self) -> bool {
        self.destinations
            .iter()
            .any(|destination| destination.target.is_some() && destination.unwritten().len() > UNWRITTEN_BYTES_MAX)
    }

    /// What could not be written, if something could not.
    pub(crate) fn lost(&self) -> Option<LostOutput> {
        let lost = |which: Which| self.destinations[which as usize].broken.map(|error| LostOutput { which, error });
        Which::BOTH.into_iter().find_map(lost)
    }

    /// Writes what can be written without waiting; tells which output has just turned out to be broken.
    pub(crate) fn write(&mut self) -> impl Iterator<Item = Which> {
        let broke = self.destinations.each_mut().map(|destination| {
            let was_whole = destination.broken.is_none();
            destination.write();
            was_whole && destination.broken.is_some()
        });
        Which::BOTH.into_iter().filter(move |&which| broke[which as usize])
    }

    /// Takes what is kept of one of them so far.
    pub(crate) fn take_kept(&mut self, which: Which) -> Vec<u8> {
        std::mem::take(&mut self.destinations[which as usize].pending)
    }

    /// Keeps what would go to a terminal, in a file without a name, until [`Outputs::let_go`].
    pub(crate) fn hold_back(&mut self) {
        for destination in &mut self.destinations {
            if destination.descriptor().is_some_and(rustix::termios::isatty) {
                destination.held = Held::new().ok();
            }
        }
    }

    /// Has it written.
    pub(crate) fn let_go(&mut self) {
        self.destinations.iter_mut().filter_map(|destination| destination.held.as_mut()).for_each(Held::let_go);
    }

    /// What was kept of standard output and standard error.
    pub(crate) fn into_captured(self) -> (String, String) {
        let [stdout, stderr] = self.destinations;
        (stdout.into_text(), stderr.into_text())
    }
}

/// One of the launcher's two outputs.
#[derive(Debug)]
struct Destination {
    /// `None`: everything is kept in `pending`.
    target: Option<Target>,
    pending: Vec<u8>,
    /// How much of `pending` was written already.
    written: usize,
    /// Whether the last line taken is unfinished.
    in_line: bool,
    broken: Option<Errno>,
    /// What is to be written first.
    held: Option<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    which: Which,
    /// Most that may be written at once.
    chunk_bytes: usize,
}

impl Destination {
    fn keep() -> Self {
        Destination { target: None, pending: Vec::new(), written: 0, in_line: false, broken: None, held: None }
    }

    fn to(which: Which) -> Self {
        let file = rustix::fs::fstat(descriptor(which))
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile);
        let chunk_bytes = if file { FILE_BYTES } else { PIPE_BYTES };
        Destination { target: Some(Target { which, chunk_bytes }), ..Destination::keep() }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'static>> {
        self.target.map(|target| descriptor(target.which))
    }

    fn unwritten(&self) -> &[u8] {
        &self.pending[self.written..]
    }

    /// Whether nothing waits to be written.
    fn is_empty(&self) -> bool {
        let is_released = self.held.as_ref().is_some_and(|held| held.is_let_go);
        self.target.is_none() || (self.unwritten().is_empty() && !is_released)
    }

    fn write(&mut self) {
        let Some(target) = self.target else { return };
        self.fetch();
        while !self.unwritten().is_empty() && self.broken.is_none() && has_room(descriptor(target.which)) {
            let unwritten = self.unwritten();
            let chunk = &unwritten[..unwritten.len().min(target.chunk_bytes)];
            match rustix::io::write(descriptor(target.which), chunk) {
                Ok(length) => self.written += length,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => self.broken = Some(error),
            }
        }
        if self.unwritten().is_empty() || self.broken.is_some() {
            self.pending.clear();
            self.written = 0;
        } else if self.written > UNWRITTEN_BYTES_MAX {
            self.pending.drain(..self.written);
            self.written = 0;
        }
    }

    /// Takes up the next piece of what was held back, if it is time for it.
    fn fetch(&mut self) {
        let is_time = self.unwritten().is_empty();
        let Some(held) = self.held.as_mut().filter(|held| is_time && held.is_let_go) else { return };
        let piece = held.next_piece();
        if piece.is_empty() || self.broken.is_some() {
            self.held = None;
        } else {
            (self.pending, self.written) = (piece, 0);
        }
    }

    fn into_text(self) -> String {
        if self.target.is_some() { String::new() } else { String::from_utf8_lossy(&self.pending).into_owned() }
    }
}

fn descriptor(which: Which) -> BorrowedFd<'static> {
    match which {
        Which::Stdout => rustix::stdio::stdout(),
        Which::Stderr => rustix::stdio::stderr(),
    }
}

/// Whether a write would not block. An error is room too: the write will say which.
fn has_room(descriptor: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
    rustix::event::poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Writes lines of the launcher's own to standard error, in one piece; there is nowhere to complain if that fails.
pub(crate) fn say(text: &str) {
    let lines: String = text.lines().map(|line| format!("mpiexec: {line}\n")).collect();
    let _ = io::stderr().write_all(lines.as_bytes());
}
