//! Futures: who polls them, and who makes progress meanwhile.
//!
//! In Rust the library has no thread that could complete a request behind the program's back, so an executor must keep
//! calling it. One that knows nothing of MPI does so because every pending request asks to be polled again at once.
//! [`Process::run`] knows: it makes progress itself, sleeps as any call that waits, and polls when an
//! operation has completed.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rwmpi_transport::{Backoff, Doorbell};

use crate::engine::Failure;
use crate::process::Process;
use crate::process::departure::{DepartureWatch, Several, WatchedWait};
use crate::waiting::{Awaited, PUBLISHED_AFTER};
use crate::wakers::Waiting;

/// How long a rank whose transport has failed sleeps between looks at what else its future waits for.
const NOTHING_TO_DRIVE: Duration = Duration::from_millis(1);

/// The references to what wakes the future that [`Process::run`] itself has: its own, and that of the waker
/// that it polls with.
const OWN_WAKERS: usize = 2;

impl Process {
    /// Sees to it that `waker` is woken when an operation, such as `awaited`, may have completed.
    pub fn wake_later(&self, waker: &Waker, awaited: Awaited) {
        if !self.wakers.add(waker, awaited) {
            waker.wake_by_ref();
        }
    }

    /// How many wakers wait for requests, and what the rank fails with if none of these can complete any more.
    fn waits_in_vain(&self) -> (usize, Option<Failure>) {
        match self.wakers.waiting() {
            Some((wakers, awaited)) => {
                (wakers, self.departed_of(Several::Any, &|each| awaited.iter().for_each(|&awaited| each(awaited))))
            }
            None => (0, None),
        }
    }
}

/// While it lives, the rank drives its futures. What drove them before goes on afterwards.
struct Driving<'a> {
    process: &'a Process,
    before: Option<Waiting>,
}

impl<'a> Driving<'a> {
    fn new(process: &'a Process) -> Self {
        Driving { process, before: process.wakers.replace(Some(Waiting::default())) }
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        drop(self.process.wakers.replace(self.before.take()));
    }
}

/// Whether the future is to be polled.
struct Woken {
    flag: Mutex<bool>,
    /// The thread that polls; others ring, since it may sleep.
    driver: ThreadId,
    doorbell: Option<Doorbell>,
}

impl Woken {
    fn new(process: &Process) -> Self {
        // Without a doorbell, for which there was no descriptor, a sleeping rank looks once in a second.
        Woken { flag: Mutex::default(), driver: thread::current().id(), doorbell: process.engine().doorbell().ok() }
    }

    fn set(&self, woken: bool) -> bool {
        std::mem::replace(&mut *self.flag.lock().unwrap_or_else(PoisonError::into_inner), woken)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        if !self.set(true)
            && thread::current().id() != self.driver
            && let Some(doorbell) = &self.doorbell
        {
            doorbell.ring();
        }
    }
}

/// The wait of a future that [`Process::run`] runs.
struct DrivenWait<'a> {
    process: &'a Process,
    woken: &'a Arc<Woken>,
}

impl WatchedWait for DrivenWait<'_> {
    /// Whoever else has a waker may still wake the future, whatever becomes of its requests.
    fn departed(&self) -> Option<Failure> {
        let (wakers, failure) = self.process.waits_in_vain();
        failure.filter(|_| Arc::strong_count(self.woken) == OWN_WAKERS + wakers)
    }

    /// Other threads, timers and the like may end it.
    fn answer(&self, quiet_in: u32) -> u32 {
        self.process.answer(quiet_in, Several::Any, &|_| {})
    }
}

impl Process {
    /// Runs a future to its end while this rank makes progress.
    pub fn run<R>(&self, future: impl Future<Output = R>) -> R {
        let process = self;
        let woken = Arc::new(Woken::new(process));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        let _driving = Driving::new(process);
        let mut backoff = Backoff::default();
        let mut is_woken = true;
        let (mut rounds, mut watch) = (0_u32, DepartureWatch::default());
        let wait = DrivenWait { process, woken: &woken };
        loop {
            let seen = process.engine().completions();
            if is_woken && let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            match process.progress() {
                Ok(moved) if moved || process.engine().completions() != seen => {
                    backoff.reset();
                    watch.reset();
                    process.wakers.wake_all();
                }
                Ok(_) if is_woken => {}
                // An error comes out of the requests.
                Ok(_) => {
                    rounds = rounds.wrapping_add(1);
                    let is_time = process.may_sleep_soon.get() || rounds.is_multiple_of(PUBLISHED_AFTER);
                    if let Ok(false) = watch.suspects(process, is_time, &wait) {
                        let _ = process.idle(&mut backoff);
                    }
                }
                Err(_) => {
                    process.wakers.wake_all();
                    thread::sleep(NOTHING_TO_DRIVE);
                }
            }
            is_woken = woken.set(false);
        }
    }
}
