//! The process that the rank is in: how it ends, and what is called when it ends by itself or forks.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Has `function` called when the process ends by itself.
pub(crate) fn at_exit(function: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function lies in this library, which stays loaded. If the list has no room the launcher says that the
    // rank left without a word.
    unsafe { atexit(function) };
}

/// Has `function` called whenever the process is about to fork.
pub(crate) fn before_fork(function: extern "C" fn()) {
    // SAFETY: as in `at_exit`. If the list has no room, the allocator copies more than it need.
    unsafe { libc::pthread_atfork(Some(function), None, None) };
}

/// Has `function` called in every child that the process forks. It may only do what a signal handler may.
pub(crate) fn in_forked_child(function: extern "C" fn()) {
    // SAFETY: as in `at_exit`; the function promises to do what is allowed there.
    unsafe { libc::pthread_atfork(None, None, Some(function)) };
}

/// Ends the process at once, and so the job, wherever other threads are, or the rank itself.
pub(crate) fn end_at_once(text: &str) -> ! {
    eprintln!("{text}");
    // SAFETY: nothing of the process is used any more.
    unsafe { libc::_exit(1) }
}

/// Ends the process, which is no rank.
pub(crate) fn end_process(code: c_int, text: &str) -> ! {
    eprintln!("{text}");
    exit(code)
}

/// Whether the process ends because this thread wants it to: functions that it has called at its exit then find no rank
/// to leave.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.get()
}

/// Ends the process; at once if this thread is about to do that, and has been interrupted, or runs functions of the
/// program.
pub(crate) fn exit(code: c_int) -> ! {
    if IS_ENDING.replace(true) {
        // SAFETY: may be called at any time.
        unsafe { libc::_exit(code) }
    }
    std::process::exit(code)
}
