//! Memory-Based Signal: reach a peer that is not calling the library.
//!
//! A signal is a bit in the receiver's control block. The sender then wakes the receiver if it sleeps, and, if the
//! receiver asked for it, interrupts its thread by `SIGURG`, whose default action is to do nothing.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal as Posix, sigaction};

use crate::segment::Segment;
use crate::sleep::{self, AWAKE};
use crate::{Signal, SignalSet};

/// Sets `signal` at `peer` and sees to it that the peer learns of it. True: it has to be rung; else it learns of it by
/// its safety net.
pub(crate) fn send(segment: &Segment, peer: usize, signal: Signal) -> bool {
    let control = segment.control(peer);
    control.signals.fetch_or(signal as u32, Ordering::AcqRel);
    // Between the bit and the look at the flag; pairs with the fence in `sleep::announce`.
    fence(Ordering::SeqCst);
    let how = control.sleeping.load(Ordering::Relaxed);
    let must_ring = how != AWAKE && sleep::wake(&control.sleeping, how);
    let thread = control.identity.interrupt_thread.load(Ordering::Acquire);
    if thread != 0 {
        let pid = control.identity.pid.load(Ordering::Relaxed);
        // SAFETY: the call has no effect on memory. A thread that is gone is none of our business.
        unsafe { libc::syscall(libc::SYS_tgkill, pid as libc::pid_t, thread as libc::pid_t, libc::SIGURG) };
    }
    must_ring
}

/// The signals of `peer`, which takes them.
#[inline]
pub(crate) fn take(segment: &Segment, peer: usize) -> SignalSet {
    let word = &segment.control(peer).signals;
    if word.load(Ordering::Relaxed) == 0 {
        return SignalSet::default();
    }
    SignalSet(word.swap(0, Ordering::AcqRel))
}

/// What the handler of this thread needs. Never freed: a signal may be on its way at any time.
struct Interrupt {
    segment: Arc<Segment>,
    peer: usize,
    handler: fn(SignalSet),
}

thread_local! {
    /// Has no destructor and is initialised at compile time, so that a signal handler may look at it.
    static INTERRUPT: Cell<*const Interrupt> = const { Cell::new(ptr::null()) };
}

/// Has `handler` called on the present thread whenever a signal for `peer` arrives.
///
/// # Errors
/// If the system refuses a handler for `SIGURG`.
pub(crate) fn interrupt_this_thread(
    segment: &Arc<Segment>,
    peer: usize,
    handler: fn(SignalSet),
) -> std::io::Result<()> {
    let interrupt = Box::leak(Box::new(Interrupt { segment: segment.clone(), peer, handler }));
    INTERRUPT.set(interrupt);
    let action = SigAction::new(SigHandler::Handler(on_urgent), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: `on_urgent` does nothing but atomic loads and the call of a function that promised to be fit for it.
    unsafe { sigaction(Posix::SIGURG, &action) }?;
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    segment.control(peer).identity.interrupt_thread.store(thread, Ordering::Release);
    Ok(())
}

extern "C" fn on_urgent(_: libc::c_int) {
    let interrupt = INTERRUPT.get();
    if interrupt.is_null() {
        return;
    }
    // SAFETY: not null, so it was leaked by `interrupt_this_thread`.
    let interrupt = unsafe { &*interrupt };
    let signals = interrupt.segment.control(interrupt.peer).signals.load(Ordering::Acquire);
    if signals != 0 {
        (interrupt.handler)(SignalSet(signals));
    }
}
