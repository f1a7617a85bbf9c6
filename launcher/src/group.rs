//! A process group for a program, which the program does not lead.
//!
//! A process that leads its group may not begin a session: `setsid()` fails, and the command `setsid` leaves the
//! program to a child and ends at once, which would look like the end of the program. So the leader is a process of its
//! own, which has ended, and is kept unreaped so that the group's number stays the group's.
#![allow(unsafe_code)]

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use std::io;

/// The group. Dropping it gives its number back.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Pid,
}

impl Group {
    /// A group that nobody is in.
    pub(crate) fn new() -> io::Result<Group> {
        // SAFETY: the child makes system calls only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: neither call has conditions; the second does not return.
            unsafe {
                libc::setpgid(0, 0);
                libc::_exit(0)
            }
        }
        let leader = Pid::from_raw(child).filter(|_| child > 0).ok_or_else(io::Error::last_os_error)?;
        let group = Group { leader };
        retry_on_intr(|| rustix::process::waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT))?;
        Ok(group)
    }

    /// Its number.
    pub(crate) fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Sends `signal` to all in it, and to `member`, which is not reaped yet, with those that it leads if it has left.
    pub(crate) fn signal(&self, member: Pid, signal: Signal) {
        // There can be nobody left who accepts signals: then there is nobody to tell.
        let _ = rustix::process::kill_process_group(self.leader, signal);
        // `nix`, since a group led from outside of this PID namespace has the number 0, which `rustix` does not allow
        // for.
        let group =
            nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(member.as_raw_pid()))).map(nix::unistd::Pid::as_raw);
        match group {
            Ok(group) if group == self.number() => {}
            Ok(group) if group == member.as_raw_pid() => _ = rustix::process::kill_process_group(member, signal),
            _ => _ = rustix::process::kill_process(member, signal),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = retry_on_intr(|| rustix::process::waitpid(Some(self.leader), WaitOptions::empty()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn who_is_in_it_may_begin_a_session_and_is_reached_all_the_same() {
        let group = Group::new().unwrap();
        let mut child = Command::new("setsid").args(["sleep", "60"]).process_group(group.number()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let begun = nix::unistd::Pid::from_raw(pid.as_raw_pid());
        while nix::unistd::getsid(Some(begun)) != Ok(begun) {
            std::thread::yield_now();
        }
        group.signal(pid, Signal::KILL);
        assert!(!child.wait().unwrap().success());
    }
}
