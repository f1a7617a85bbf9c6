//! Nonblocking and persistent collectives.

use std::rc::Rc;

use super::perform::perform;
use super::{Collective, Prepared};
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::task::{TaskId, Work};
use crate::{Communicator, Result};

/// Collectives that are started by a persistent request have tags from here on: all ranks make such requests in the same order, but
/// may start them in any.
const PERSISTENT: u32 = 1 << 31;

/// A collective in flight. Dropping it ends the collective where it stands.
#[derive(Debug)]
#[must_use = "wait for it"]
pub struct CollectiveRequest {
    communicator: Communicator,
    call: Call,
    /// `None` once its result has been taken.
    task: Option<TaskId>,
}

/// A collective that can be started any number of times (MPI-5.0 section 6.13). Inactive at first.
#[derive(Debug)]
pub struct PersistentCollective {
    prepared: Rc<Prepared>,
    communicator: Communicator,
    tag: u32,
    active: Option<CollectiveRequest>,
}

impl Communicator {
    /// Starts it (MPI-5.0 section 6.12); `None`: it has ended already. It goes on whenever this rank waits or tests. All ranks
    /// start the collectives of a communicator, blocking or not, in the same order.
    ///
    /// # Errors
    /// As of [`Communicator::collective`].
    pub fn start_collective(&self, collective: Collective) -> Result<Option<CollectiveRequest>> {
        let prepared = Rc::new(self.prepare(collective)?);
        self.launch(prepared, self.next_collective())
    }

    /// Makes a request that does it whenever it is started. All ranks make the same requests in the same order.
    ///
    /// # Errors
    /// Arguments that can't be used.
    pub fn persistent_collective(&self, collective: Collective) -> Result<PersistentCollective> {
        let prepared = Rc::new(self.prepare(collective)?);
        let tag = self.next_collective() | PERSISTENT;
        Ok(PersistentCollective { prepared, communicator: self.clone(), tag, active: None })
    }

    fn launch(&self, prepared: Rc<Prepared>, tag: u32) -> Result<Option<CollectiveRequest>> {
        let call = prepared.collective.call();
        let communicator = self.clone();
        let work: Work = Box::pin(async move { perform(&prepared, communicator.ranks(tag, false)).await });
        let started = self.process().tasks().start(work).map_err(self.failed(call))?;
        Ok(started.map(|task| CollectiveRequest { communicator: self.clone(), call, task: Some(task) }))
    }
}

impl CollectiveRequest {
    /// Waits until it has ended (MPI_Wait).
    ///
    /// # Errors
    /// Data that do not fit where they go; what the transport reports.
    pub fn wait(mut self) -> Result<()> {
        let Some(task) = self.task.take() else { return Ok(()) };
        let outcome = self.communicator.process().wait_for_task(task);
        outcome.map(drop).map_err(self.communicator.failed(self.call))
    }

    /// Whether it has ended (MPI_Test). After an error it has.
    ///
    /// # Errors
    /// As of [`CollectiveRequest::wait`].
    pub fn test(&mut self) -> Result<bool> {
        let Some(task) = self.task else { return Ok(true) };
        let outcome = self.communicator.process().test_task(task).map_err(self.communicator.failed(self.call))?;
        let Some(outcome) = outcome else { return Ok(false) };
        self.task = None;
        outcome.map(|_| true).map_err(self.communicator.failed(self.call))
    }
}

impl Drop for CollectiveRequest {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.communicator.process().tasks().cancel(task);
        }
    }
}

impl PersistentCollective {
    /// Starts it (MPI_Start).
    ///
    /// # Errors
    /// It is active; or as of [`Communicator::start_collective`].
    pub fn start(&mut self) -> Result<()> {
        let call = self.prepared.collective.call();
        if self.active.is_some() {
            let what = "the persistent collective is active: wait for it first".to_string();
            return Err(Error::argument(ErrorClass::Request, &self.communicator, call, what));
        }
        self.communicator.begin(call, self.prepared.collective.bytes());
        self.active = self.communicator.launch(self.prepared.clone(), self.tag)?;
        Ok(())
    }

    /// Waits until it has ended; then it is inactive.
    ///
    /// # Errors
    /// As of [`CollectiveRequest::wait`].
    pub fn wait(&mut self) -> Result<()> {
        self.active.take().map_or(Ok(()), CollectiveRequest::wait)
    }

    /// Whether it has ended; then it is inactive.
    ///
    /// # Errors
    /// As of [`CollectiveRequest::wait`].
    pub fn test(&mut self) -> Result<bool> {
        let Some(active) = &mut self.active else { return Ok(true) };
        let ended = active.test();
        if !matches!(ended, Ok(false)) {
            self.active = None;
        }
        ended
    }
}
