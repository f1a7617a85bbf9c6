//! A thread of the library's own that makes progress while the program's threads are elsewhere.
//!
//! It never waits for the lock and never keeps anybody from it: it takes it if it is idle ([`BigLock::lock_if_idle`]),
//! when nobody has called for a while, and before it goes it sees to it that whoever has something for this peer rings
//! it. From then on it sleeps, and costs nothing. Where it finds the program's threads at work, it is not needed: then
//! it naps, or, if they sleep, sleeps until they are woken.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

use crate::BigLock;
use crate::big_lock::IdleGuard;
use crate::descriptor::raised;
use crate::primitive::{self, AtomicU32, Ordering, fence};
use crate::segment::Segment;
use crate::sleep::AWAKE;

/// How long nobody must have called before it comes.
const NAP: Duration = Duration::from_micros(500);
/// The same where it has come in vain several times, or found the program at work: a wake-up takes time from the
/// program.
const LONGEST_NAP: Duration = Duration::from_millis(4);
/// Longest sleep: a safety net, no wake-up depends on it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

const NO: u32 = 0;
const YES: u32 = 1;

/// Where a progress thread sleeps: known to it and to its peer's fabric.
pub struct SleepState {
    segment: Arc<Segment>,
    me: usize,
    sockets: Option<Sockets>,
    /// Whether it sleeps there, or is about to. Written by it; read by the fabric when it has taken back the peer's
    /// sleeping flag.
    occupied: AtomicU32,
    /// Whether it is to end.
    over: AtomicU32,
}

/// What wakes a progress thread whose peer listens to sockets.
struct Sockets {
    /// Readable when one of these has something.
    all: OwnedFd,
    /// Readable when the peer itself wakes the progress thread.
    own: OwnedFd,
}

impl SleepState {
    pub(crate) fn new(segment: Arc<Segment>, me: usize, sockets: Option<OwnedFd>) -> io::Result<SleepState> {
        let own = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(raised);
        let sockets = sockets.map(|all| io::Result::Ok(Sockets { all, own: own()? })).transpose()?;
        Ok(SleepState { segment, me, sockets, occupied: AtomicU32::new(NO), over: AtomicU32::new(NO) })
    }

    /// Sleeps after it has made progress, or has found the program at work. Until the peer is rung, if its sleeping
    /// flag is raised, by whomever; else for a nap.
    fn sleep(&self, was_idle: bool, nap: Duration) {
        let flag = &self.segment.control(self.me).sleeping;
        if !was_idle || flag.load(Ordering::Relaxed) == AWAKE {
            // Whoever is at work there may leave for long what would wake us.
            thread::park_timeout(nap);
        }
        let how = flag.load(Ordering::Relaxed);
        if how == AWAKE {
            return;
        }
        self.occupied.store(YES, Ordering::Relaxed);
        // Pairs with that in `wake`: either who takes the flag back sees that somebody is here, or this sees that the
        // flag has changed.
        fence(Ordering::SeqCst);
        if flag.load(Ordering::Relaxed) == how && self.over.load(Ordering::Relaxed) == NO {
            match &self.sockets {
                None => primitive::futex_wait(flag, how, LONGEST_SLEEP),
                Some(sockets) => sockets.wait(),
            }
        }
        self.occupied.store(NO, Ordering::Relaxed);
    }

    /// The sleeping flag has been taken back by the peer itself: whoever sleeps behind it is woken.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.occupied.load(Ordering::Relaxed) == YES {
            match &self.sockets {
                None => primitive::futex_wake(&self.segment.control(self.me).sleeping),
                Some(sockets) => sockets.ring(),
            }
        }
    }

    /// Has the progress thread end soon.
    fn end(&self) {
        self.over.store(YES, Ordering::Relaxed);
        self.segment.control(self.me).sleeping.store(AWAKE, Ordering::Relaxed);
        self.wake();
    }
}

impl Sockets {
    fn wait(&self) {
        let longest = Timespec { tv_sec: LONGEST_SLEEP.as_secs() as _, tv_nsec: 0 };
        let mut both = [&self.all, &self.own].map(|one| PollFd::from_borrowed_fd(one.as_fd(), PollFlags::IN));
        // Every way to return is a way to wake up.
        let _ = poll(&mut both, Some(&longest));
        let _ = rustix::io::read(&self.own, &mut [0; 8]);
    }

    fn ring(&self) {
        // If it can't take more, it has been rung often enough.
        let _ = rustix::io::write(&self.own, &1_u64.to_ne_bytes());
    }
}

/// A thread that makes progress when the lock is idle.
pub struct ProgressThread {
    sleep_state: Arc<SleepState>,
    thread: JoinHandle<()>,
    /// Its process: a forked child has no such thread.
    process: u32,
}

impl ProgressThread {
    /// Starts one. `progress` is what it does with the lock; it says whether there was anything to do, or that this
    /// was the last time.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(
        lock: &'static BigLock,
        sleep_state: Arc<SleepState>,
        mut progress: impl FnMut(&IdleGuard<'_>) -> ControlFlow<(), bool> + Send + 'static,
    ) -> io::Result<ProgressThread> {
        let its_state = sleep_state.clone();
        let work = move || {
            let mut before = lock.coming_and_going();
            let mut nap = NAP;
            while its_state.over.load(Ordering::Relaxed) == NO {
                let is_quiet = lock.coming_and_going() == before;
                let was_idle = if is_quiet { lock.lock_if_idle().map(|guard| progress(&guard)) } else { None };
                nap = match was_idle {
                    Some(ControlFlow::Break(())) => return,
                    Some(ControlFlow::Continue(true)) => NAP,
                    Some(ControlFlow::Continue(false)) | None => (2 * nap).min(LONGEST_NAP),
                };
                before = lock.coming_and_going();
                its_state.sleep(was_idle.is_some(), nap);
            }
        };
        // Signals are for the program's threads. A new thread inherits the mask.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let started = thread::Builder::new().name("rwmpi-progress".to_owned()).spawn(work);
        mask.thread_set_mask()?;
        Ok(ProgressThread { sleep_state, thread: started?, process: std::process::id() })
    }

    /// Returns when it has ended: it does not come any more. The present thread may have the lock.
    pub fn stop(self) {
        if self.process == std::process::id() && self.thread.thread().id() != thread::current().id() {
            self.sleep_state.end();
            self.thread.thread().unpark();
            // A panic of its is nobody's any more.
            let _ = self.thread.join();
        }
    }
}

impl std::fmt::Debug for ProgressThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgressThread").field("process", &self.process).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
