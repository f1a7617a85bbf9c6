//! Requests that are one send or receive in flight and nothing else: what most requests are.
//!
//! Programs start and complete them by the million, so they are small, and are completed without anything of the
//! program's being called.

use super::Status;
use super::request::{Request, State};
use crate::activity::Call;
use crate::engine::{Completion, OperationId};
use crate::waiting::Awaited;
use crate::{Communicator, Result};

/// A send or a receive in flight. It is completed by [`SimpleRequest::collect`], or as a [`Request`].
pub struct SimpleRequest {
    pub(super) communicator: Communicator,
    pub(super) id: OperationId,
    pub(super) call: Call,
}

/// A send or a receive in flight of which no request has been made yet. It has to be.
#[derive(Clone, Copy)]
pub struct Started {
    pub(super) id: OperationId,
    pub(super) call: Call,
}

impl Started {
    /// A receive.
    #[inline(always)]
    pub(super) fn receive(id: OperationId) -> Self {
        Started { id, call: Call::Receive }
    }

    /// What will be [`SimpleRequest::number`].
    #[inline]
    pub fn number(self) -> u32 {
        self.id
    }
}

/// What became of a receive at its start.
#[derive(Clone, Copy)]
pub enum StartedReceive {
    /// It has completed: its message was there, or it is one from nobody.
    Completed(Status),
    /// It is in flight.
    InFlight(Started),
}

/// One that has completed.
pub struct Collected<'a> {
    communicator: &'a Communicator,
    completion: &'a Completion,
}

impl Collected<'_> {
    /// What it tells.
    pub fn status(&self) -> Status {
        Status::new(self.communicator, *self.completion)
    }
}

impl SimpleRequest {
    /// That of what has been started.
    #[inline]
    pub fn new(communicator: &Communicator, Started { id, call }: Started) -> Self {
        SimpleRequest { communicator: communicator.clone(), id, call }
    }

    /// A small number that no other request of the rank has at the same time.
    #[inline]
    pub fn number(&self) -> u32 {
        self.id
    }

    /// The communicator that it belongs to.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// The present wait waits for it next.
    pub fn is_awaited(&self) {
        self.communicator.process().now_awaits(Awaited::Operation(self.id));
    }

    /// Whether it has completed. Makes no progress by itself.
    pub fn is_done(&self) -> bool {
        let process = self.communicator.process();
        if self.call == Call::Receive {
            process.engine().outcome(self.id).is_some()
        } else {
            process.has_completed(self.id)
        }
    }

    /// If it has completed, has `look` look at what it tells; then it is to be dropped. Makes no progress by itself.
    ///
    /// # Errors
    /// What went wrong with the operation; `look` has seen nothing.
    #[inline(always)]
    pub fn collect(&self, look: impl FnOnce(Collected<'_>)) -> Option<Result<()>> {
        let communicator = &self.communicator;
        let process = communicator.process();
        if self.call != Call::Receive && !process.has_completed(self.id) {
            return None;
        }
        // A failure is copied only if there is one.
        let mut failed = None;
        process.engine().collect_seen(self.id, |outcome| match outcome {
            Ok(completion) => look(Collected { communicator, completion }),
            Err(failure) => failed = Some(*failure),
        })?;
        Some(failed.map_or(Ok(()), |failure| Err(communicator.failed(self.call)(failure))))
    }
}

impl From<SimpleRequest> for Request {
    fn from(simple: SimpleRequest) -> Self {
        let SimpleRequest { communicator, id, call } = simple;
        let state = match call {
            Call::Receive => State::Receiving(id),
            _ => State::Sending { id, call, packed: None },
        };
        Request::new(&communicator, state)
    }
}
