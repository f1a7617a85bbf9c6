//! What becomes readable when a child process ends.

use rustix::io::retry_on_intr;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{self, JoinHandle};

/// The stack of a thread that makes one system call.
const STACK_BYTES: usize = 64 << 10;

/// Readable once the process has ended: its process descriptor, or, where the kernel has none or a sandbox forbids it,
/// a pipe that a thread closes.
#[derive(Debug)]
pub(crate) struct EndNotice {
    descriptor: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl EndNotice {
    pub(crate) fn of(child: Pid) -> io::Result<EndNotice> {
        match rustix::process::pidfd_open(child, PidfdFlags::empty()) {
            Ok(descriptor) => Ok(EndNotice { descriptor, thread: None }),
            Err(_) => EndNotice::by_thread(child),
        }
    }

    fn by_thread(child: Pid) -> io::Result<EndNotice> {
        let (descriptor, closed_at_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let wait = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| rustix::process::waitid(WaitId::Pid(child), options));
            drop(closed_at_end);
        };
        let thread = thread::Builder::new().name("end of a rank".to_owned()).stack_size(STACK_BYTES).spawn(wait)?;
        Ok(EndNotice { descriptor, thread: Some(thread) })
    }

    /// Waits for the end of the process. To be called before the process is reaped, so that its number is still its
    /// own.
    pub(crate) fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl AsFd for EndNotice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::process::{Command, Stdio};

    fn is_readable(notice: &EndNotice, seconds: i64) -> bool {
        let timeout = Timespec { tv_sec: seconds, tv_nsec: 0 };
        retry_on_intr(|| poll(&mut [PollFd::new(notice, PollFlags::IN)], Some(&timeout))).unwrap() > 0
    }

    #[test]
    fn both_ways_tell_of_the_end_and_leave_the_process_unreaped() {
        for way in [EndNotice::of, EndNotice::by_thread] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let mut notice = way(Pid::from_child(&child)).unwrap();
            assert!(!is_readable(&notice, 0));
            drop(child.stdin.take());
            assert!(is_readable(&notice, 60));
            notice.wait();
            assert!(child.wait().unwrap().success());
        }
    }
}
