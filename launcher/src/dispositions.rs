//! What becomes of signals: in the launcher, to which its starter may have left them ignored or blocked, and in the
//! programs that it starts.
//!
//! What `exec` passes on is which signals are ignored and which are blocked. Nothing here relies on what that is.
#![allow(unsafe_code)]

use crate::signals::MEANINGFUL;
use std::mem;
use std::ptr;

/// For a process that is a launcher and nothing else, as its first act: it hears of signals, of the ends of its
/// children, and of files that may not become longer.
pub(crate) fn prepare_launcher() {
    block_nothing();
    learn_of_ends();
    // A write beyond the limit on the size of files (`ulimit -f`) then fails, and can be reported.
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Has the kernel keep what became of this process's children until it is asked. It does not where SIGCHLD is ignored.
pub(crate) fn learn_of_ends() {
    // SAFETY: all-zero is a valid value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: only reads, into a valid place.
    if unsafe { libc::sigaction(libc::SIGCHLD, ptr::null(), &mut action) } != 0 {
        return;
    }
    let ignored = action.sa_sigaction == libc::SIG_IGN;
    if ignored || action.sa_flags & libc::SA_NOCLDWAIT != 0 {
        action.sa_flags &= !libc::SA_NOCLDWAIT;
        if ignored {
            action.sa_sigaction = libc::SIG_DFL;
        }
        // SAFETY: the handler, if there is one, is the one that was there.
        unsafe { libc::sigaction(libc::SIGCHLD, &action, ptr::null_mut()) };
    }
}

/// For a new process between `fork` and `exec`: no signal is blocked, and none ignored but those that users have
/// ignored on purpose (`nohup`, `trap '' TERM`). Only makes system calls.
pub(crate) fn prepare_program() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !MEANINGFUL.contains(signal)) {
        // SAFETY: no handler is installed. Where it may not be changed, it is as it should be.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    block_nothing();
}

fn block_nothing() {
    // SAFETY: all-zero is a valid value.
    let mut none: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: the set is a valid place; the calls touch nothing else of ours.
    unsafe {
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}
