//! The loop in which a rank waits, and what is driven by it.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rwmpi_transport::Backoff;

use super::Process;
use super::departure::{DepartureWatch, EachAwaited, Listed, Several};
use super::noted_wait::NotedWait;
use crate::apart::apart;
use crate::engine::{Failure, JobEngine};
use crate::waiting::{Awaited, PUBLISHED_AFTER, PUBLISHED_SOON};

/// A future is driven as long as this is there.
struct Driven<'a>(&'a Cell<u32>);

impl<'a> Driven<'a> {
    fn begin(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Driven(count)
    }
}

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Process {
    /// Makes progress until `done` has a result.
    pub fn wait_for<R>(&self, done: impl FnMut() -> Option<R>) -> Result<R, Failure> {
        self.wait_for_awaited(Awaited::Unknown, done)
    }

    /// As [`Process::wait_for`], telling the watchers what for, if it takes long.
    pub fn wait_for_awaited<R>(&self, awaited: Awaited, done: impl FnMut() -> Option<R>) -> Result<R, Failure> {
        self.wait_for_listed(awaited, done, (Several::All, &|each| each(self.awaiting())))
    }

    /// As [`Process::wait_for_awaited`], for several things, which `each` tells one by one; the watchers hear of the
    /// first.
    pub fn wait_for_several<R>(
        &self,
        several: Several,
        first: Awaited,
        each: impl Fn(&mut dyn FnMut(Awaited)),
        done: impl FnMut() -> Option<R>,
    ) -> Result<R, Failure> {
        self.wait_for_listed(first, done, (several, &each))
    }

    /// Makes progress until `done` has a result, or what is listed can't come any more.
    #[inline]
    fn wait_for_listed<R>(
        &self,
        awaited: Awaited,
        mut done: impl FnMut() -> Option<R>,
        (several, each): (Several, &EachAwaited<'_>),
    ) -> Result<R, Failure> {
        let mut backoff = Backoff::default();
        let (mut idles, mut is_told) = (0_u32, false);
        let mut watch = DepartureWatch::new(self);
        let mut noted = NotedWait::default();
        self.awaited.set(awaited);
        loop {
            if let Some(result) = done() {
                if idles > 0 {
                    self.end_published(is_told, noted);
                }
                return Ok(result);
            }
            if self.progress_all()? {
                backoff.reset();
                watch.reset();
                noted.end(self);
                if let Some(lock) = self.lock.get() {
                    lock.tell();
                }
                continue;
            }
            noted.begin(self, each);
            idles = idles.saturating_add(1);
            let may_sleep_soon = self.may_sleep_soon.get();
            let is_published = idles.is_multiple_of(if may_sleep_soon { PUBLISHED_SOON } else { PUBLISHED_AFTER });
            if is_published {
                self.publish_wait(!is_told);
                is_told = true;
            }
            let wait = Listed { process: self, several, each };
            if !watch.suspects(self, is_published || may_sleep_soon, &wait)? {
                self.idle(&mut backoff)?;
            }
        }
    }

    /// Notes what the present wait waits for. For those that wait in steps.
    #[inline]
    pub fn now_awaits(&self, awaited: Awaited) {
        self.awaited.set(awaited);
    }

    /// As [`Process::wait_for`], asking the engine.
    pub fn wait_until<R>(&self, mut done: impl FnMut(&mut JobEngine) -> Option<R>) -> Result<R, Failure> {
        self.wait_for(|| done(&mut self.engine()))
    }

    /// Drives a future to its end, [apart](apart()).
    pub fn block_on<R, S: Future<Output = Result<R, Failure>>>(
        &self,
        future: impl FnOnce() -> S,
    ) -> Result<R, Failure> {
        self.drive(apart(future).as_mut())
    }

    /// Drives a future to its end where it is.
    #[inline]
    pub fn drive<R>(
        &self,
        mut future: Pin<&mut (impl Future<Output = Result<R, Failure>> + ?Sized)>,
    ) -> Result<R, Failure> {
        let _driven = Driven::begin(&self.driven);
        let noted = self.recorder.as_ref().and_then(|recorder| Some((recorder, recorder.begin_driven()?)));
        let mut context = Context::from_waker(Waker::noop());
        let driven = self.wait_for(|| match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        });
        if let Some((recorder, begun)) = noted {
            recorder.end(begun);
        }
        driven?
    }
}
