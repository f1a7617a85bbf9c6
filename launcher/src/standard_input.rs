//! The ranks' standard input: rank 0 reads it, unless the user names others.
//!
//! A file or a pipe is simply inherited where rank 0 is a child of the launcher: it then takes from it what it needs
//! and no more, as it would without a launcher. A terminal has to be read by the launcher, since ranks are not in the
//! terminal's foreground process group and would be stopped; and so has everything if rank 0 is on another host.

use crate::job_spec::{JobSpec, Output};
use crate::redirect::Readers;
use crate::spawn::RankInputKind;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use std::os::fd::{AsFd, OwnedFd};

/// Most that is read at once, and on its way to rank 0.
const READ_BYTES: usize = 4096;

/// What the readers are to read that run here.
pub(crate) fn choose(spec: &JobSpec) -> RankInputKind {
    let is_one = match &spec.streams.input {
        Readers::First => true,
        Readers::Nobody => return RankInputKind::Nothing,
        Readers::All => spec.section_of().len() == 1,
        Readers::Ranks(ranks) => ranks.len() == 1,
    };
    match spec.output {
        Output::Capture => RankInputKind::Nothing,
        // Keys are for the table.
        Output::Forward if spec.live && rustix::termios::isatty(rustix::stdio::stdin()) => RankInputKind::Nothing,
        // Of what several inherit each would get a part.
        Output::Forward if !is_one || rustix::termios::isatty(rustix::stdio::stdin()) => RankInputKind::Piped,
        Output::Forward => RankInputKind::Inherited,
    }
}

/// Reads the launcher's standard input, piece by piece, each once rank 0 has taken the one before.
#[derive(Debug)]
pub(crate) struct StandardInput {
    /// Whether rank 0 can take something.
    wanted: bool,
}

impl StandardInput {
    /// `wanted`: whether rank 0 reads what the launcher reads.
    pub(crate) fn new(wanted: bool) -> Self {
        StandardInput { wanted }
    }

    /// What to wait for before the next [`StandardInput::read`].
    pub(crate) fn poll(&self) -> Option<PollFd<'static>> {
        let stdin = rustix::stdio::stdin();
        // Reading a terminal from the background would stop the launcher, and with it the job. A group that is led from
        // outside of this PID namespace has the number 0, which is an error to `rustix`.
        let foreground = || rustix::termios::tcgetpgrp(stdin).map_or(0, Pid::as_raw_pid);
        let may_read = || !rustix::termios::isatty(stdin) || foreground() == nix::unistd::getpgrp().as_raw();
        (self.wanted && may_read()).then(|| PollFd::from_borrowed_fd(stdin, PollFlags::IN))
    }

    /// The next piece for rank 0, empty at the end; called when what [`StandardInput::poll`] named is ready.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        let mut piece = [0; READ_BYTES];
        match rustix::io::read(rustix::stdio::stdin(), &mut piece) {
            Err(Errno::AGAIN | Errno::INTR) => None,
            read => {
                self.wanted = false;
                Some(piece[..read.unwrap_or(0)].to_vec())
            }
        }
    }

    /// Rank 0 has taken the last piece.
    pub(crate) fn taken(&mut self) {
        self.wanted = true;
    }
}

/// The pipe that rank 0 reads from.
#[derive(Debug, Default)]
pub(crate) struct RankInput {
    /// `None`: nobody reads, or nothing more will come.
    pipe: Option<OwnedFd>,
    /// Not taken yet.
    pending: Vec<u8>,
}

impl RankInput {
    pub(crate) fn new(pipe: Option<OwnedFd>) -> Self {
        // If this fails, writing can block; the pipe holds more than is ever on its way.
        let _ = pipe.as_ref().map(|pipe| rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK));
        RankInput { pipe, pending: Vec::new() }
    }

    /// What to wait for before the next [`RankInput::write`].
    pub(crate) fn poll(&self) -> Option<PollFd<'_>> {
        let waits = !self.pending.is_empty();
        self.pipe.as_ref().filter(|_| waits).map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT))
    }

    /// Takes a piece; nothing: the input is at its end.
    pub(crate) fn give(&mut self, piece: Vec<u8>) {
        if piece.is_empty() {
            self.pipe = None;
        } else {
            self.pending = piece;
        }
    }

    /// Writes what its rank takes; true when that has taken the whole piece.
    pub(crate) fn write(&mut self) -> bool {
        let Some(pipe) = self.pipe.as_ref().filter(|_| !self.pending.is_empty()) else { return false };
        match rustix::io::write(pipe, &self.pending) {
            Ok(length) => drop(self.pending.drain(..length)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.pipe = None,
        }
        self.pipe.is_some() && self.pending.is_empty()
    }

    /// Whether it has yet to be read by its rank.
    fn waits(&self) -> bool {
        self.pipe.is_some() && !self.pending.is_empty()
    }
}

/// Those of a host.
#[derive(Debug, Default)]
pub(crate) struct RankInputs {
    pipes: Vec<RankInput>,
    /// Whether a piece was given that not all have taken.
    given: bool,
}

impl RankInputs {
    pub(crate) fn add(&mut self, pipe: OwnedFd) {
        self.pipes.push(RankInput::new(Some(pipe)));
    }

    /// What to wait for before the next [`RankInputs::write`].
    pub(crate) fn poll(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.pipes.iter().filter_map(RankInput::poll)
    }

    /// Takes a piece for all; nothing: the input is at its end.
    pub(crate) fn give(&mut self, piece: &[u8]) {
        self.given = !piece.is_empty();
        self.pipes.iter_mut().for_each(|pipe| pipe.give(piece.to_vec()));
    }

    /// Writes what the ranks take; true when all have taken the piece. One alone that reads no more leaves the rest of
    /// the input to others; of several, those that do read must not wait for it.
    pub(crate) fn write(&mut self) -> bool {
        let took = self.pipes.iter_mut().map(RankInput::write).fold(false, |any, took| any | took);
        let is_done = self.given && !self.pipes.iter().any(RankInput::waits) && (took || self.pipes.len() > 1);
        self.given &= !is_done;
        is_done
    }
}
