//! Waiting for several requests, of which some may be such as nobody can complete any more.

use super::{Endpoint, Request, SimpleRequest};
use crate::activity::Call;
use crate::departure::Several;
use crate::error::{Error, ErrorClass, Result};
use crate::waiting::Awaited;

impl Endpoint {
    /// The present wait waits for that one next; gives `None`, as it has to wait.
    pub fn now_awaits(&self, request: &Request) -> Option<()> {
        self.process.now_awaits(request.awaited());
        None
    }

    /// As [`Endpoint::wait_for`], until one of several requests has completed, or, `all`, every one of them: they are
    /// told by `list` when it is asked.
    ///
    /// # Errors
    /// Whatever keeps the rank from waiting, as that they can't complete any more.
    pub fn wait_for_several<R>(
        &self,
        all: bool,
        list: impl Fn(&mut Listed<'_>),
        done: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let several = if all { Several::All } else { Several::Any };
        let each = |each: &mut dyn FnMut(Awaited)| list(&mut Listed(each));
        let waited = self.process.wait_for_several(several, Awaited::Unknown, each, done);
        waited.map_err(|failure| self.failed(failure))
    }
}

impl Request {
    /// As [`Endpoint::found_nothing`], of a test for this request.
    ///
    /// # Errors
    /// As there; or if a rank has died that might complete it, and the program has not acknowledged that.
    pub fn found_nothing(&self, endpoint: &Endpoint) -> Result<()> {
        if self.communicator().is_joined() || !endpoint.process.keeps_going() {
            return endpoint.found_nothing();
        }
        let communicator = self.communicator();
        communicator.process().found_nothing(self.awaited()).map_err(communicator.failed(Call::Receive))
    }

    /// A wait for it has failed. A receive that somebody may still send to goes on.
    #[cold]
    pub(super) fn give_up_after(&mut self, error: &Error) {
        if error.class() != ErrorClass::ProcessDiedPending {
            self.give_up();
        }
    }

    /// Waits until it is done: in the engine of its communicator, where its number means something.
    #[inline]
    pub(super) fn wait_by(&self, endpoint: &Endpoint) -> Result<()> {
        let done = || self.is_done().then_some(());
        if !self.communicator().is_joined() {
            return endpoint.wait_for_awaited(self.awaited(), done);
        }
        let communicator = self.communicator();
        let waited = communicator.process().wait_for_awaited(self.awaited(), done);
        waited.map_err(communicator.failed(Call::Receive))
    }
}

/// Takes the requests that a wait waits for, one after the other.
pub struct Listed<'a>(&'a mut dyn FnMut(Awaited));

impl Listed<'_> {
    /// That one, if it is still to complete.
    pub fn request(&mut self, request: &Request) {
        if request.is_active() && !request.is_done() {
            let is_known_here = !request.communicator().is_joined();
            (self.0)(if is_known_here { request.awaited() } else { Awaited::Unknown });
        }
    }

    /// That one.
    pub fn simple(&mut self, request: &SimpleRequest) {
        (self.0)(Awaited::Operation(request.id));
    }
}
