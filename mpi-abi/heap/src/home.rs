//! Whether this is still the process that took the heap. Asked for every block, so it is no system call: the answer
//! stands on a page that the kernel empties in every child, whichever way that was made.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::Pid;

pub(crate) enum Home {
    /// True here, false in children.
    Marked(&'static AtomicBool),
    /// For kernels that empty no pages (before 4.14).
    Process(Pid),
}

impl Home {
    /// The process that asks.
    pub(crate) fn here() -> Home {
        marked().map_or_else(|| Home::Process(rustix::process::getpid()), Home::Marked)
    }

    /// Whether the process that asks is that one, or shares its memory (`vfork`).
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Home::Marked(mark) => mark.load(Ordering::Relaxed),
            Home::Process(process) => rustix::process::getpid() == *process,
        }
    }
}

/// A mark that children do not have.
fn marked() -> Option<&'static AtomicBool> {
    let (len, protection) = (size_of::<AtomicBool>(), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping, wherever there is room for it.
    let page = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: the mapping is ours; emptied, it holds `false`.
    if unsafe { rustix::mm::madvise(page, len, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: nobody else knows of it.
        let _ = unsafe { rustix::mm::munmap(page, len) };
        return None;
    }
    // SAFETY: zeroed memory of at least that size, aligned to a page, which stays mapped. Written once, here, before
    // anybody else can know of it.
    let mark: &'static AtomicBool = unsafe { &*page.cast() };
    mark.store(true, Ordering::Relaxed);
    Some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_somewhere_else() {
        for home in [Home::here(), Home::Process(rustix::process::getpid())] {
            assert!(home.is_here());
            // SAFETY: the child only looks at its memory and leaves.
            let child = unsafe { libc::syscall(libc::SYS_fork) } as libc::pid_t;
            if child == 0 {
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(home.is_here().into()) };
            }
            let mut status = 0;
            // SAFETY: waits for the child just made.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
            assert!(home.is_here());
        }
    }
}
