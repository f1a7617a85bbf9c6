//! Signals that reach the launcher.

use crate::error::LaunchError;
use rustix::process::Signal;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The signals that mean something to a job.
pub(crate) const MEANINGFUL: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT];

/// Collects signals until they are asked for.
pub(crate) struct Signals {
    delivery: Option<SignalDelivery<UnixStream, SignalOnly>>,
}

impl Signals {
    /// Leaves every signal its default effect.
    pub(crate) fn ignored() -> Self {
        Signals { delivery: None }
    }

    /// Collects from now on, except those that this process was started to ignore (`nohup`).
    pub(crate) fn collect() -> Result<Self, LaunchError> {
        let collect = || -> io::Result<_> {
            let ignored = signals_ignored()?;
            let (read, write) = UnixStream::pair()?;
            let wanted = MEANINGFUL.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
            SignalDelivery::with_pipe(read, write, SignalOnly, wanted)
        };
        let delivery = collect().map_err(LaunchError::system("prepare for signals"))?;
        Ok(Signals { delivery: Some(delivery) })
    }

    /// Readable when a signal has come.
    pub(crate) fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.delivery.as_ref().map(|delivery| delivery.get_read().as_fd())
    }

    /// The signals that came since the last call; one that came several times counts once.
    pub(crate) fn take(&mut self) -> Vec<Signal> {
        let pending = self.delivery.as_mut().map(SignalDelivery::pending);
        pending.into_iter().flatten().filter_map(Signal::from_named_raw).collect()
    }
}

/// The mask of signals that this process ignores: bit 0 is signal 1.
fn signals_ignored() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .ok_or_else(|| io::Error::other("/proc/self/status has no SigIgn line"))
}

/// A signal in words: `SIGSEGV, invalid memory access`.
pub(crate) fn name(signal: i32) -> String {
    let (name, meaning) = match signal {
        libc::SIGHUP => ("SIGHUP", "hang-up"),
        libc::SIGINT => ("SIGINT", "interrupted"),
        libc::SIGQUIT => ("SIGQUIT", "asked to quit"),
        libc::SIGILL => ("SIGILL", "an instruction this processor does not have"),
        libc::SIGTRAP => ("SIGTRAP", "breakpoint"),
        libc::SIGABRT => ("SIGABRT", "the program gave up by abort()"),
        libc::SIGBUS => ("SIGBUS", "access to memory that is not there: a file cut short, or memory used up"),
        libc::SIGFPE => ("SIGFPE", "arithmetic error such as division by zero"),
        libc::SIGKILL => {
            ("SIGKILL", "killed from outside; if nobody did, the kernel may have been out of memory: see dmesg")
        }
        libc::SIGSEGV => ("SIGSEGV", "invalid memory access"),
        libc::SIGPIPE => ("SIGPIPE", "wrote to a pipe that nobody reads"),
        libc::SIGALRM => ("SIGALRM", "alarm clock"),
        libc::SIGTERM => ("SIGTERM", "asked to end"),
        libc::SIGUSR1 => ("SIGUSR1", "user-defined"),
        libc::SIGUSR2 => ("SIGUSR2", "user-defined"),
        libc::SIGXCPU => ("SIGXCPU", "CPU time limit exceeded"),
        libc::SIGXFSZ => ("SIGXFSZ", "file size limit exceeded"),
        libc::SIGSYS => ("SIGSYS", "a system call that is not allowed"),
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}: {name}, {meaning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        assert_eq!(name(11), "signal 11: SIGSEGV, invalid memory access");
        assert_eq!(name(40), "signal 40");
    }
}
