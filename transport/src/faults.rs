//! Where a process was when a fault of its own killed it: it says so to its launcher, in raw numbers, before it dies.
//!
//! A handler of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT writes a record to the launcher's pipe, and lets happen
//! what would have happened without it: what there was before is put back, and the signal comes once more, with the
//! same state of the processor, so that a core file shows the fault and not the handler.
//!
//! Invariants:
//! 1. A program that handles one of these signals itself (Python's faulthandler, sanitizers, Java) keeps its handler.
//!    Rust's own, which tells an overflow of the stack from other faults, is called after ours.
//! 2. The handler calls nothing but system calls and the unwinder, which takes no lock since glibc 2.35; it allocates
//!    nothing. What it needs was made before. If it fails nevertheless, the kernel ends the process by the same signal,
//!    as these are blocked meanwhile.
//! 3. Nobody waits for the pipe: what does not fit is lost.
#![allow(unsafe_code)]

mod record;

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use nix::libc;

use record::{Frames, RECORD_MAX};

/// The signals of faults.
const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// Stack for the handler where a thread has none: the thread's own may be what has overflowed.
const STACK: usize = 64 << 10;
/// How long a thread that faults, too, waits until the first one has written, in milliseconds.
const PATIENCE: u32 = 1000;

/// What the handler needs. Never freed: a fault may come at any time.
struct Reporter {
    pipe: RawFd,
    process: u32,
    place: usize,
    /// What there was before for each of [`FAULTS`].
    previous: [libc::sigaction; FAULTS.len()],
    scratch: UnsafeCell<Scratch>,
    /// 0: nobody has faulted; 1: one thread has, which changed it (swap, AcqRel) and alone uses `scratch`; 2: it has
    /// written (Release), which other threads that fault wait for (Acquire).
    state: AtomicU32,
}

struct Scratch {
    frames: Frames,
    record: [u8; RECORD_MAX],
}

/// Stored (Release) before there is a handler; loaded (Acquire) by the handler.
static REPORTER: AtomicPtr<Reporter> = AtomicPtr::new(ptr::null_mut());

/// Has faults of this process, which is in that place of those of its node, reported to `pipe`. Works once in a
/// process.
///
/// # Errors
/// If the system refuses it.
pub(crate) fn report_to(pipe: OwnedFd, place: usize) -> io::Result<()> {
    rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::NONBLOCK)?;
    let mut previous = Vec::new();
    for signal in FAULTS {
        previous.push(change(signal, None)?);
    }
    let previous: [libc::sigaction; FAULTS.len()] = previous.try_into().map_err(|_| io::ErrorKind::Other)?;
    // The first use of the unwinder may load it, which the handler must not.
    unwind(&mut |_| false);
    give_stack()?;
    let reporter = Box::new(Reporter {
        pipe: pipe.as_raw_fd(),
        process: std::process::id(),
        place,
        previous,
        scratch: UnsafeCell::new(Scratch { frames: Frames::new(), record: [0; RECORD_MAX] }),
        state: AtomicU32::new(0),
    });
    let first =
        REPORTER.compare_exchange(ptr::null_mut(), Box::into_raw(reporter), Ordering::AcqRel, Ordering::Relaxed);
    if first.is_err() {
        return Ok(());
    }
    // Open as long as the process lives.
    std::mem::forget(pipe);
    for (place, signal) in FAULTS.into_iter().enumerate() {
        if is_free(place, &previous) {
            change(signal, Some(&ours()))?;
        }
    }
    Ok(())
}

/// Whether nobody handles that one of [`FAULTS`], or only the runtime of Rust does.
fn is_free(place: usize, previous: &[libc::sigaction; FAULTS.len()]) -> bool {
    let [segv, bus, others @ ..] = previous.map(|action| action.sa_sigaction);
    // It handles these two alike, and leaves the others alone.
    let is_rusts = segv == bus && segv != libc::SIG_IGN && others == [libc::SIG_DFL; 3];
    previous[place].sa_sigaction == libc::SIG_DFL || (is_rusts && place < 2)
}

fn ours() -> libc::sigaction {
    // SAFETY: a struct of numbers, for which zeros are valid.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in FAULTS {
        // SAFETY: the set is valid, and the signal exists.
        unsafe { libc::sigaddset(&raw mut action.sa_mask, signal) };
    }
    action
}

/// Sets what happens on a signal, if something is to be set; what happened before.
fn change(signal: c_int, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut before = MaybeUninit::zeroed();
    let new = action.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both point to what they are to, or nowhere; our handler is fit to be one, and others' were handlers.
    match unsafe { libc::sigaction(signal, new, before.as_mut_ptr()) } {
        // SAFETY: the call has filled it in.
        0 => Ok(unsafe { before.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives the present thread a stack for handlers, unless it has one.
fn give_stack() -> io::Result<()> {
    let mut present = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: asks only, and has room for the answer.
    if unsafe { libc::sigaltstack(ptr::null(), present.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled in by the call.
    if unsafe { present.assume_init() }.ss_flags & libc::SS_DISABLE == 0 {
        return Ok(());
    }
    // Not from the heap, where it would be a leak to whoever looks for these.
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: fresh memory, at no address in particular.
    let memory = unsafe { libc::mmap(ptr::null_mut(), STACK, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK };
    // SAFETY: memory that is never freed, and that nobody else uses.
    if unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: not null, since there is a handler, and never freed.
    let reporter = unsafe { &*REPORTER.load(Ordering::Acquire) };
    // SAFETY: the kernel's own, for as long as the handler runs.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    // A child has its parent's handlers and is nobody of the job.
    // SAFETY: the call has no conditions.
    if unsafe { libc::getpid() } as u32 == reporter.process {
        reporter.report(signal, info, context);
    }
    let place = FAULTS.iter().position(|&fault| fault == signal);
    place.map(|place| change(signal, Some(&reporter.previous[place])));
    if info.si_code <= 0 {
        // Somebody has sent it: it does not come again by itself. It is blocked until the handler returns.
        // SAFETY: the call touches no memory.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal) };
    }
}

impl Reporter {
    fn report(&self, signal: c_int, info: &libc::siginfo_t, context: &libc::ucontext_t) {
        let state = self.state.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        if state.is_err() {
            for _ in 0..PATIENCE {
                if self.state.load(Ordering::Acquire) == 2 {
                    return;
                }
                let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                // SAFETY: the time is valid, and what is left of it is nobody's business.
                unsafe { libc::nanosleep(&raw const millisecond, ptr::null_mut()) };
            }
            return;
        }
        // SAFETY: this thread alone has changed the state from 0, so nobody else has this.
        let Scratch { frames, record } = unsafe { &mut *self.scratch.get() };
        unwind(&mut |address| frames.push(address));
        let register = |which: c_int| context.uc_mcontext.gregs[which as usize] as usize;
        frames.begin_at(register(libc::REG_RIP), word_at(register(libc::REG_RSP)));
        place_all(frames);
        // SAFETY: for these signals it is an address, or, if somebody has sent the signal, a number that says whose.
        let address = unsafe { info.si_addr() } as usize;
        let said = frames.record(self.place, signal as u32, address, record);
        // SAFETY: the bytes are there; the pipe may be full, or something else by now, which is not to matter.
        unsafe { libc::write(self.pipe, said.as_ptr().cast(), said.len()) };
        self.state.store(2, Ordering::Release);
    }
}

/// What lies at that address, without a fault if nothing does.
fn word_at(address: usize) -> Option<usize> {
    let mut word = 0_usize;
    let local = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<usize>() };
    let remote = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(address), iov_len: size_of::<usize>() };
    // SAFETY: the word has room; the kernel looks whether there is anything at the other address.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    (read == size_of::<usize>() as isize).then_some(word)
}

/// Says of each frame which file lies there.
fn place_all(frames: &mut Frames) {
    // SAFETY: a string that ends with a zero.
    let list = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if list < 0 {
        return;
    }
    frames.place_all(|piece| {
        // SAFETY: so much room is there.
        let count = unsafe { libc::read(list, piece.as_mut_ptr().cast(), piece.len()) };
        usize::try_from(count).unwrap_or(0)
    });
    // SAFETY: opened above.
    unsafe { libc::close(list) };
}

mod unwinder {
    use std::ffi::{c_int, c_void};

    pub(super) const GO_ON: c_int = 0;
    pub(super) const END: c_int = 5;

    pub(super) type Look = extern "C" fn(*mut c_void, *mut c_void) -> c_int;

    // The unwinder, with which all of Rust is linked.
    unsafe extern "C" {
        pub(super) fn _Unwind_Backtrace(look: Look, argument: *mut c_void) -> c_int;
        pub(super) fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }
}

/// Calls `take` with the address of each frame, the innermost first, until it wants no more.
fn unwind(take: &mut dyn FnMut(usize) -> bool) {
    let mut take = take;
    // SAFETY: `look` takes what it is given here, which nobody else uses meanwhile.
    unsafe { unwinder::_Unwind_Backtrace(look, (&raw mut take).cast()) };
}

extern "C" fn look(context: *mut c_void, take: *mut c_void) -> c_int {
    // SAFETY: what `unwind` passes on, which waits for the unwinder.
    let take = unsafe { &mut *take.cast::<&mut dyn FnMut(usize) -> bool>() };
    // SAFETY: the unwinder's own context.
    let address = unsafe { unwinder::_Unwind_GetIP(context) };
    if take(address) { unwinder::GO_ON } else { unwinder::END }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signals_that_nobody_handles_are_taken() {
        let actions = |handlers: [usize; 5]| {
            handlers.map(|handler| {
                // SAFETY: a struct of numbers, for which zeros are valid.
                let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
                action.sa_sigaction = handler;
                action
            })
        };
        let free = |handlers| std::array::from_fn::<bool, 5, _>(|place| is_free(place, &actions(handlers)));
        assert_eq!(free([libc::SIG_DFL; 5]), [true; 5]);
        assert_eq!(free([77, 77, 0, 0, 0]), [true; 5], "Rust's runtime");
        assert_eq!(free([77; 5]), [false; 5], "Python's faulthandler");
        assert_eq!(free([77, 77, 0, 77, 0]), [false, false, true, false, true], "a sanitizer");
        assert_eq!(free([77, 0, 0, 0, 0]), [false, true, true, true, true]);
        assert_eq!(free([libc::SIG_IGN; 5]), [false; 5]);
    }

    #[test]
    fn words_are_read_where_there_are_any() {
        let word = 0x1234_usize;
        assert_eq!(word_at((&raw const word).expose_provenance()), Some(0x1234));
        assert_eq!(word_at(8), None);
    }

    #[test]
    fn frames_are_the_callers() {
        let mut addresses = Vec::new();
        unwind(&mut |address| {
            addresses.push(address);
            addresses.len() < 3
        });
        assert_eq!(addresses.len(), 3);
    }
}
