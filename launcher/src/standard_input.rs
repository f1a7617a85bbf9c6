//! Rank 0's standard input.
//!
//! A file or a pipe is simply inherited: rank 0 then takes from it what it needs and no more, as it would without a launcher. A
//! terminal has to be read by the launcher, since ranks are not in the terminal's foreground process group and would be stopped.

use crate::job_spec::Output;
use crate::spawn::Rank0Input;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::process::ChildStdin;

/// Most that is read from the terminal at once.
const READ_BYTES: usize = 4096;

/// What rank 0 is to read.
pub(crate) fn choose(output: Output) -> Rank0Input {
    match output {
        Output::Capture => Rank0Input::Nothing,
        Output::Forward if rustix::termios::isatty(rustix::stdio::stdin()) => Rank0Input::Piped,
        Output::Forward => Rank0Input::Inherited,
    }
}

/// Passes what the user types on to rank 0, until either side ends.
#[derive(Debug, Default)]
pub(crate) struct StandardInput {
    /// `None`: nothing to pass on, or nobody to pass it to.
    rank_0: Option<ChildStdin>,
    /// Typed but not yet taken by rank 0.
    pending: Vec<u8>,
}

impl StandardInput {
    pub(crate) fn new(rank_0: Option<ChildStdin>) -> Self {
        // If this fails, writing can block; the pipe holds far more than a user types ahead.
        let _ = rank_0.as_ref().map(|pipe| rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK));
        StandardInput { rank_0, pending: Vec::new() }
    }

    /// What to wait for before the next [`StandardInput::pump`].
    pub(crate) fn poll(&self) -> Option<PollFd<'_>> {
        let rank_0 = self.rank_0.as_ref()?;
        if !self.pending.is_empty() {
            return Some(PollFd::new(rank_0, PollFlags::OUT));
        }
        // Reading a terminal from the background would stop the launcher, and with it the job.
        let terminal = rustix::stdio::stdin();
        let foreground = rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp());
        foreground.then(|| PollFd::from_borrowed_fd(terminal, PollFlags::IN))
    }

    /// Moves what can be moved; called when what [`StandardInput::poll`] named is ready.
    pub(crate) fn pump(&mut self) {
        let Some(rank_0) = &self.rank_0 else { return };
        let mut over = false;
        if self.pending.is_empty() {
            let mut typed = [0; READ_BYTES];
            match rustix::io::read(rustix::stdio::stdin(), &mut typed) {
                Ok(length) if length > 0 => self.pending.extend_from_slice(&typed[..length]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok(_) | Err(_) => over = true,
            }
        }
        if !self.pending.is_empty() {
            match rustix::io::write(rank_0, &self.pending) {
                Ok(length) => {
                    self.pending.drain(..length);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => over = true,
            }
        }
        if over {
            self.rank_0 = None;
        }
    }
}
