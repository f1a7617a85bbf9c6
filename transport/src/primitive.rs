//! Atomics, cells and futexes that become loom's under `cfg(loom)`.
//!
//! Only the algorithms that are model-checked (the ring, the sleep/wake handshake) use this module. What is laid over
//! mapped memory elsewhere uses the standard atomics: loom's cannot be laid over a mapping.

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    use std::time::Duration;

    use rustix::thread::{MembarrierCommand, futex, membarrier, membarrier_query};
    use rustix::time::Timespec;

    /// `std`'s cell with the closure interface of loom's, so that one source serves both.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Reads through a raw pointer.
        #[inline(always)]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// Writes through a raw pointer.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }

        /// For rings that tests build in ordinary memory.
        #[cfg(test)]
        pub(crate) fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }
    }

    /// How a cell is published.
    #[inline(always)]
    pub(crate) fn publishing() -> Ordering {
        Ordering::Release
    }

    /// Keeps the compiler from moving accesses across; the processor still may.
    #[inline(always)]
    pub(crate) fn keep_program_order() {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    /// The same, where others have the kernel put barriers on this core.
    #[inline(always)]
    pub(crate) fn where_others_put_barriers() {
        keep_program_order();
    }

    pub(crate) use crate::thread_number::this_thread;

    /// Offers the processor to others.
    pub(crate) fn yield_now() {
        rustix::thread::sched_yield();
    }

    /// The processor on which this thread runs.
    pub(crate) fn processor() -> u32 {
        rustix::thread::sched_getcpu() as u32
    }

    /// Leaves the processor for so long.
    pub(crate) fn pause(time: Duration) {
        std::thread::sleep(time);
    }

    /// Asks to take part in barriers of this process's own threads; whether that was granted.
    pub(crate) fn register_for_own_barriers() -> bool {
        membarrier_query().contains_command(MembarrierCommand::PrivateExpedited)
            && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    }

    /// The sleeper's side of the handshake.
    pub(crate) fn fence_of_sleeper() {
        fence(Ordering::SeqCst);
    }

    /// A full barrier on every core that runs a process which asked to take part.
    pub(crate) fn barrier_on_all_cores() {
        // Cannot fail: it was registered for.
        let _ = membarrier(MembarrierCommand::GlobalExpedited);
    }

    /// The same on every core that runs a thread of this process.
    pub(crate) fn barrier_on_own_cores() {
        // Cannot fail: it was registered for.
        let _ = membarrier(MembarrierCommand::PrivateExpedited);
    }

    /// Sleeps while `word` is `value`, at most so long; may return early.
    pub(crate) fn futex_wait(word: &AtomicU32, value: u32, longest: Duration) {
        let longest = Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos() as _ };
        // Every way to return is a way to wake up.
        let _ = futex::wait(word, futex::Flags::empty(), value, Some(&longest));
    }

    /// Wakes all that sleep on `word`.
    pub(crate) fn futex_wake(word: &AtomicU32) {
        // Cannot fail: the address is valid.
        let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
    }
}

#[cfg(loom)]
mod modelled {
    use std::cell::Cell;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::time::Duration;

    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        /// The kernel's queue of sleepers: one for all words, so a wake-up may be spurious.
        static ref SLEEPERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    std::thread_local! {
        /// What a test has broken on purpose, to see that the model notices.
        pub(crate) static BROKEN: Cell<Broken> = const { Cell::new(Broken::Nothing) };
    }

    /// A defect.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Broken {
        Nothing,
        /// Cells are published without Release.
        Publish,
        /// The sleeper does not fence between its flag and its last look.
        SleeperFence,
        /// Who withdraws the favour puts no barrier where the favoured thread is.
        NoBarrier,
        /// Who gives up the favour does so after it has left.
        GivenUpOutside,
    }

    /// Whether this is broken.
    pub(crate) fn is_broken(how: Broken) -> bool {
        BROKEN.get() == how
    }

    /// How a cell is published.
    pub(crate) fn publishing() -> Ordering {
        match BROKEN.get() {
            Broken::Publish => Ordering::Relaxed,
            _ => Ordering::Release,
        }
    }

    /// Not modelled, as the barrier that it relies on.
    pub(crate) fn keep_program_order() {
        unreachable!("the model runs with fences");
    }

    /// In the model a fence of its own stands for the barriers of others.
    pub(crate) fn where_others_put_barriers() {
        fence(Ordering::SeqCst);
    }

    /// The other half of that.
    pub(crate) fn barrier_on_own_cores() {
        if BROKEN.get() != Broken::NoBarrier {
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn register_for_own_barriers() -> bool {
        true
    }

    /// Tells threads apart; not 0, and a multiple of 8.
    pub(crate) fn this_thread() -> u64 {
        let mut hasher = DefaultHasher::new();
        loom::thread::current().id().hash(&mut hasher);
        (hasher.finish() & !7) | 8
    }

    pub(crate) fn yield_now() {
        loom::thread::yield_now();
    }

    pub(crate) fn pause(_: Duration) {
        loom::thread::yield_now();
    }

    /// The sleeper's side of the handshake.
    pub(crate) fn fence_of_sleeper() {
        if BROKEN.get() != Broken::SleeperFence {
            fence(Ordering::SeqCst);
        }
    }

    /// Not modelled: loom knows no barrier on behalf of others.
    pub(crate) fn barrier_on_all_cores() {
        unreachable!("the model runs with fences");
    }

    /// Sleeps while `word` is `value`. The model has no safety net: a lost wake-up is a deadlock.
    pub(crate) fn futex_wait(word: &AtomicU32, value: u32, _longest: Duration) {
        let mut queue = SLEEPERS.0.lock().expect("no model panics inside");
        while word.load(Ordering::Relaxed) == value {
            queue = SLEEPERS.1.wait(queue).expect("no model panics inside");
        }
    }

    /// Wakes all sleepers.
    pub(crate) fn futex_wake(_word: &AtomicU32) {
        let _queue = SLEEPERS.0.lock().expect("no model panics inside");
        SLEEPERS.1.notify_all();
    }
}
