//! The ranks' output: read from their pipes, cut into lines, written on.
//!
//! Nothing here blocks. Before each write the descriptor is asked whether it has room (the launcher's output belongs to others
//! too, so it is not made non-blocking), and a pipe that has room takes `PIPE_BYTES` without waiting. While too much waits to
//! be written, the ranks' pipes are left unread, so that the ranks wait instead of our memory growing.

use crate::error::LaunchError;
use crate::spawn::RankPipes;
use crate::streams::LineStream;
use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Most that a pipe with room takes without blocking.
const PIPE_BYTES: usize = 4096;
/// Most that is written to a file at once, so that signals are looked at in between.
const FILE_BYTES: usize = 1 << 20;
/// Above that much unwritten output the ranks are no longer read.
const UNWRITTEN_BYTES_MAX: usize = 1 << 20;
/// Most that is read from a rank at once, so that none starves the others.
const READ_BYTES: usize = 1 << 16;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Stdout = 0,
    Stderr = 1,
}

/// One pipe from a rank.
#[derive(Debug)]
struct Source {
    pipe: OwnedFd,
    lines: LineStream,
    to: Which,
}

/// All pipes from the ranks, and where they lead.
#[derive(Debug)]
pub(crate) struct Outputs {
    epoll: OwnedFd,
    sources: Vec<Option<Source>>,
    open: usize,
    destinations: [Destination; 2],
    buffer: Vec<u8>,
}

/// What one look at the pipes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Something was read.
    Read,
    /// There was nothing to read now.
    Nothing,
}

impl Outputs {
    /// `capture`: keep everything instead of writing it.
    pub(crate) fn new(capture: bool) -> Result<Self, LaunchError> {
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LaunchError::system("watch the output of the ranks"))?;
        let destination = |which| if capture { Destination::keep() } else { Destination::to(which) };
        Ok(Outputs {
            epoll,
            sources: Vec::new(),
            open: 0,
            destinations: [destination(Which::Stdout), destination(Which::Stderr)],
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Takes over a new rank's pipes; `prefix` goes before each line.
    pub(crate) fn add(&mut self, pipes: RankPipes, prefix: Option<Vec<u8>>) -> Result<(), LaunchError> {
        if let Some(pipe) = pipes.stdout {
            self.add_source(pipe.into(), prefix.clone(), Which::Stdout)?;
        }
        self.add_source(pipes.stderr.into(), prefix, Which::Stderr)
    }

    fn add_source(&mut self, pipe: OwnedFd, prefix: Option<Vec<u8>>, to: Which) -> Result<(), LaunchError> {
        let key = epoll::EventData::new_u64(self.sources.len() as u64);
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK)
            .and_then(|()| epoll::add(&self.epoll, &pipe, key, epoll::EventFlags::IN))
            .map_err(LaunchError::system("watch the output of a rank"))?;
        self.sources.push(Some(Source { pipe, lines: LineStream::new(prefix), to }));
        self.open += 1;
        Ok(())
    }

    /// Puts a message of the launcher's own among the ranks' lines on standard error.
    pub(crate) fn note(&mut self, text: &str) {
        let pending = &mut self.destinations[Which::Stderr as usize].pending;
        for line in text.lines() {
            pending.extend_from_slice(format!("mpiexec: {line}\n").as_bytes());
        }
    }

    /// Readable when a rank has written something that may be read now; `None`: do not wait for it.
    pub(crate) fn readable(&self) -> Option<BorrowedFd<'_>> {
        (self.open > 0 && !self.congested()).then(|| self.epoll.as_fd())
    }

    /// Those to wait for until they have room again.
    pub(crate) fn waiting_for_room(&self) -> impl Iterator<Item = BorrowedFd<'static>> {
        self.destinations.iter().filter(|destination| !destination.is_empty()).filter_map(Destination::descriptor)
    }

    /// When to pump again though nothing becomes readable.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.sources.iter().flatten().filter_map(|source| source.lines.due()).min()
    }

    /// Whether every pipe is at its end.
    pub(crate) fn all_closed(&self) -> bool {
        self.open == 0
    }

    /// Whether everything read was also written.
    pub(crate) fn all_written(&self) -> bool {
        self.destinations.iter().all(Destination::is_empty)
    }

    /// Why the ranks' output can no longer be written, if so.
    pub(crate) fn broken(&self) -> Option<&io::Error> {
        self.destinations.iter().find_map(|destination| destination.broken.as_ref())
    }

    /// Reads what there is and writes what can be written, without waiting.
    pub(crate) fn pump(&mut self, now: Instant) -> Pumped {
        let mut pumped = Pumped::Nothing;
        if self.readable().is_some() {
            let mut events =
                [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
            // Interrupted: the next round reads.
            let count = epoll::wait(&self.epoll, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
            for event in &events[..count] {
                let data = event.data;
                self.read_source(data.u64() as usize, now);
                pumped = Pumped::Read;
            }
        }
        for source in self.sources.iter_mut().flatten() {
            source.lines.flush_waiting(&mut self.destinations[source.to as usize].pending, now);
        }
        self.write();
        pumped
    }

    /// Passes on the beginnings of lines whose ends will never come.
    pub(crate) fn close_all(&mut self) {
        for index in 0..self.sources.len() {
            self.close_source(index);
        }
        self.write();
    }

    /// What was kept of standard output and standard error.
    pub(crate) fn into_captured(self) -> (String, String) {
        let [stdout, stderr] = self.destinations;
        (stdout.into_text(), stderr.into_text())
    }

    fn congested(&self) -> bool {
        self.destinations
            .iter()
            .any(|destination| destination.target.is_some() && destination.unwritten().len() > UNWRITTEN_BYTES_MAX)
    }

    fn read_source(&mut self, index: usize, now: Instant) {
        let Some(source) = &mut self.sources[index] else { return };
        match rustix::io::read(&source.pipe, &mut self.buffer) {
            Ok(length) if length > 0 => {
                let pending = &mut self.destinations[source.to as usize].pending;
                source.lines.push(&self.buffer[..length], pending, now);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(_) | Err(_) => self.close_source(index),
        }
    }

    fn close_source(&mut self, index: usize) {
        if let Some(mut source) = self.sources[index].take() {
            source.lines.flush(&mut self.destinations[source.to as usize].pending);
            self.open -= 1;
        }
    }

    /// Writes what can be written. Where nothing can be any more, the ranks' pipes are closed, so that they learn of it as they
    /// would without a launcher in between.
    fn write(&mut self) {
        for which in [Which::Stdout, Which::Stderr] {
            let destination = &mut self.destinations[which as usize];
            let was_whole = destination.broken.is_none();
            destination.write();
            if was_whole && destination.broken.is_some() {
                for source in &mut self.sources {
                    if source.as_ref().is_some_and(|source| source.to == which) {
                        *source = None;
                        self.open -= 1;
                    }
                }
            }
        }
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
    broken: Option<io::Error>,
}

#[derive(Clone, Copy, Debug)]
struct Target {
    which: Which,
    /// Most that may be written at once.
    chunk_bytes: usize,
}

impl Destination {
    fn keep() -> Self {
        Destination { target: None, pending: Vec::new(), written: 0, broken: None }
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
        self.target.is_none() || self.unwritten().is_empty()
    }

    fn write(&mut self) {
        let Some(target) = self.target else { return };
        while !self.is_empty() && self.broken.is_none() && has_room(descriptor(target.which)) {
            let unwritten = self.unwritten();
            let chunk = &unwritten[..unwritten.len().min(target.chunk_bytes)];
            match rustix::io::write(descriptor(target.which), chunk) {
                Ok(length) => self.written += length,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => self.broken = Some(error.into()),
            }
        }
        if self.is_empty() || self.broken.is_some() {
            self.pending.clear();
            self.written = 0;
        } else if self.written > UNWRITTEN_BYTES_MAX {
            self.pending.drain(..self.written);
            self.written = 0;
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
