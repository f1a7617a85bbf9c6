//! The ranks' pipes: read without blocking and cut into lines.

use crate::error::LaunchError;
use crate::output::Which;
use crate::repeats::{Repeats, Writer};
use crate::streams::{LineStream, Prefix};
use rustix::event::{Timespec, epoll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Instant;

/// Most that is read from a rank at once, so that none starves the others.
const READ_BYTES: usize = 1 << 16;

/// One pipe from a rank.
#[derive(Debug)]
struct Source {
    pipe: OwnedFd,
    lines: LineStream,
    to: Destinations,
    /// Its number among those whose repetitions are told as a number.
    repeats: Option<usize>,
}

/// Where the lines of a pipe go.
#[derive(Clone, Debug)]
pub(crate) struct Destinations {
    /// Which of the launcher's outputs it belongs to.
    pub(crate) which: Which,
    /// Whether they are passed on to it.
    pub(crate) shown: bool,
    pub(crate) files: Vec<Rc<File>>,
}

impl Destinations {
    /// That output, and nowhere else.
    pub(crate) fn output(which: Which) -> Destinations {
        Destinations { which, shown: true, files: Vec::new() }
    }

    /// Has lines written by `write` arrive. What a full disk does not take is lost, as the rank's own would be.
    fn take(&self, passes: &mut Passes<'_>, repeats: Option<usize>, write: impl FnOnce(&mut Vec<u8>)) {
        let mut written = Vec::new();
        write(&mut written);
        for file in &self.files {
            let mut file: &File = file;
            let _ = file.write_all(&written);
        }
        let out = &mut passes.lines[self.which as usize];
        match repeats {
            _ if !self.shown || written.is_empty() => {}
            Some(number) => passes.repeats.take(number, &written, passes.now, out),
            None => out.append(&mut written),
        }
    }
}

/// What becomes of lines.
struct Passes<'a> {
    lines: &'a mut Lines,
    repeats: &'a mut Repeats,
    now: Instant,
}

/// All pipes from the ranks of a host.
#[derive(Debug)]
pub(crate) struct Sources {
    epoll: OwnedFd,
    sources: Vec<Option<Source>>,
    open: usize,
    repeats: Repeats,
    buffer: Vec<u8>,
}

/// Whole lines that were read, for standard output and standard error.
pub(crate) type Lines = [Vec<u8>; 2];

impl Sources {
    pub(crate) fn new() -> Result<Self, LaunchError> {
        let epoll =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(LaunchError::system("watch the output of the ranks"))?;
        Ok(Sources { epoll, sources: Vec::new(), open: 0, repeats: Repeats::default(), buffer: vec![0; READ_BYTES] })
    }

    /// Takes over a pipe; `prefix` goes before each line. What `writer` repeats of others as the job fails is told as a
    /// number.
    pub(crate) fn add(
        &mut self,
        pipe: OwnedFd,
        prefix: Option<Prefix>,
        to: Destinations,
        writer: Option<Writer>,
    ) -> Result<(), LaunchError> {
        let key = epoll::EventData::new_u64(self.sources.len() as u64);
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK)
            .and_then(|()| epoll::add(&self.epoll, &pipe, key, epoll::EventFlags::IN))
            .map_err(LaunchError::system("watch the output of a rank"))?;
        let repeats = writer.map(|writer| self.repeats.add(writer));
        self.sources.push(Some(Source { pipe, lines: LineStream::new(prefix), to, repeats }));
        self.open += 1;
        Ok(())
    }

    /// Readable when a rank has written something; `None`: nobody will any more.
    pub(crate) fn readable(&self) -> Option<BorrowedFd<'_>> {
        (self.open > 0).then(|| self.epoll.as_fd())
    }

    /// When to pump again though nothing becomes readable.
    pub(crate) fn due(&self) -> Option<Instant> {
        let lines = self.sources.iter().flatten().filter_map(|source| source.lines.due());
        lines.chain(self.repeats.due()).min()
    }

    /// Whether every pipe is at its end.
    pub(crate) fn all_closed(&self) -> bool {
        self.open == 0
    }

    /// Reads what there is, without waiting; whether there was anything.
    pub(crate) fn pump(&mut self, now: Instant, lines: &mut Lines) -> bool {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 64];
        // Interrupted: the next round reads.
        let count = epoll::wait(&self.epoll, &mut events[..], Some(&Timespec::default())).unwrap_or(0);
        for event in &events[..count] {
            let data = event.data;
            self.read_source(data.u64() as usize, now, lines);
        }
        let mut passes = Passes { lines, repeats: &mut self.repeats, now };
        for source in self.sources.iter_mut().flatten() {
            let Source { lines: stream, to, repeats, .. } = source;
            to.take(&mut passes, *repeats, |out| stream.flush_waiting(out, now));
        }
        self.repeats.go_on(now, &mut lines[Which::Stderr as usize]);
        count > 0
    }

    /// A rank has failed, or the job is about to end: what ranks repeat of each other from now on is told at the end.
    pub(crate) fn fail(&mut self) {
        self.repeats.fail();
    }

    /// Passes on the beginnings of lines whose ends will never come, and says what ranks have repeated.
    pub(crate) fn close_all(&mut self, now: Instant, lines: &mut Lines) {
        for index in 0..self.sources.len() {
            self.close_source(index, now, lines);
        }
        self.repeats.finish(now, &mut lines[Which::Stderr as usize]);
    }

    /// Closes the pipes whose output nobody takes any more, so that the ranks learn of it as they would without a
    /// launcher in between.
    pub(crate) fn give_up(&mut self, which: Which) {
        for source in self.sources.iter_mut().filter(|source| {
            source.as_ref().is_some_and(|source| source.to.which == which && source.to.files.is_empty())
        }) {
            *source = None;
            self.open -= 1;
        }
    }

    fn read_source(&mut self, index: usize, now: Instant, lines: &mut Lines) {
        let Some(source) = &mut self.sources[index] else { return };
        match rustix::io::read(&source.pipe, &mut self.buffer) {
            Ok(length) if length > 0 => {
                let Source { lines: stream, to, repeats, .. } = source;
                let mut passes = Passes { lines, repeats: &mut self.repeats, now };
                to.take(&mut passes, *repeats, |out| stream.push(&self.buffer[..length], out, now));
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(_) | Err(_) => self.close_source(index, now, lines),
        }
    }

    fn close_source(&mut self, index: usize, now: Instant, lines: &mut Lines) {
        if let Some(Source { lines: mut stream, to, repeats, .. }) = self.sources[index].take() {
            let mut passes = Passes { lines, repeats: &mut self.repeats, now };
            to.take(&mut passes, repeats, |out| stream.flush(out));
            self.open -= 1;
        }
    }
}
