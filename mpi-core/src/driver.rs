//! Futures: who polls them, and who makes progress meanwhile.
//!
//! In Rust the library has no thread that could complete a request behind the program's back, so an executor must keep calling it. One that
//! knows nothing of MPI does so because every pending request asks to be polled again at once. [`Communicator::block_on`] knows: it
//! makes progress itself, sleeps as any call that waits, and polls when an operation has completed.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rwmpi_transport::{Backoff, Bell};

use crate::Communicator;
use crate::process::Process;

/// How long a rank whose transport has failed sleeps between looks at what else its future waits for.
const NOTHING_TO_DRIVE: Duration = Duration::from_millis(1);

/// Whoever waits for requests of this rank, if they are driven by [`Communicator::block_on`].
#[derive(Default)]
pub(crate) struct Wakers(RefCell<Option<Vec<Waker>>>);

impl Process {
    /// Sees to it that `waker` is woken when an operation may have completed.
    pub(crate) fn wake_later(&self, waker: &Waker) {
        if let Some(wakers) = &mut *self.wakers.0.borrow_mut() {
            if !wakers.iter().any(|known| known.will_wake(waker)) {
                wakers.push(waker.clone());
            }
            return;
        }
        waker.wake_by_ref();
    }

    fn wake_all(&self) {
        let wakers = self.wakers.0.borrow_mut().as_mut().map(std::mem::take);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

/// While it lives, the rank drives its futures. What drove them before goes on afterwards.
struct Driving<'a> {
    process: &'a Process,
    before: Option<Vec<Waker>>,
}

impl<'a> Driving<'a> {
    fn new(process: &'a Process) -> Self {
        Driving { process, before: process.wakers.0.replace(Some(Vec::new())) }
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        drop(self.process.wakers.0.replace(self.before.take()));
    }
}

/// Whether the future is to be polled.
struct Woken {
    flag: Mutex<bool>,
    /// The thread that polls; others ring, since it may sleep.
    driver: ThreadId,
    bell: Option<Bell>,
}

impl Woken {
    fn new(process: &Process) -> Self {
        // Without a bell, for which there was no descriptor, a sleeping rank looks once in a second.
        Woken { flag: Mutex::default(), driver: thread::current().id(), bell: process.engine().bell().ok() }
    }

    fn set(&self, woken: bool) -> bool {
        std::mem::replace(&mut *self.flag.lock().unwrap_or_else(PoisonError::into_inner), woken)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        if !self.set(true)
            && thread::current().id() != self.driver
            && let Some(bell) = &self.bell
        {
            bell.ring();
        }
    }
}

impl Communicator {
    /// Runs a future to its end while this rank makes progress: requests, and whatever is made of them. The future may wait for other
    /// things, too: a rank that sleeps is woken by its waker, from any thread.
    ///
    /// ```
    /// # extern crate rwmpi_core as rwmpi;
    /// # fn main() -> rwmpi::Result<()> {
    /// # rwmpi::run_threads(2, rwmpi::Protocol::Auto, |universe| {
    /// # let world = universe.world();
    /// let other = world.size() - 1 - world.rank();
    /// let heard = world.block_on(async {
    ///     world.isend_value(&world.rank(), other, 0)?.await?;
    ///     let (rank, _) = world.irecv_value::<usize>(other, 0)?.await?;
    ///     world.iallreduce_value(rank, rwmpi::op::sum)?.await
    /// })?;
    /// assert_eq!(heard, 1);
    /// # Ok(())
    /// # })?.into_iter().collect()
    /// # }
    /// ```
    pub fn block_on<R>(&self, future: impl Future<Output = R>) -> R {
        let process = self.process();
        let woken = Arc::new(Woken::new(process));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        let _driving = Driving::new(process);
        let mut backoff = Backoff::default();
        let mut is_woken = true;
        loop {
            let seen = process.engine().completions();
            if is_woken && let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            match process.progress() {
                Ok(moved) if moved || process.engine().completions() != seen => {
                    backoff.reset();
                    process.wake_all();
                }
                Ok(_) if is_woken => {}
                // An error comes out of the requests.
                Ok(_) => drop(process.idle(&mut backoff)),
                Err(_) => {
                    process.wake_all();
                    thread::sleep(NOTHING_TO_DRIVE);
                }
            }
            is_woken = woken.set(false);
        }
    }
}
