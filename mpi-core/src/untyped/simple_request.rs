//! Requests that are one send or receive in flight and nothing else: what most requests are.
//!
//! Programs start and complete them by the million, so they are small, and are completed without anything of the program's being called.

use super::Status;
use crate::activity::Call;
use crate::engine::{Completion, OperationId};
use crate::{Communicator, Result};

/// A send or a receive in flight. It is completed by [`SimpleRequest::collect`], or as a [`Request`](super::Request).
pub struct SimpleRequest {
    pub(super) communicator: Communicator,
    pub(super) id: OperationId,
    pub(super) call: Call,
}

/// One that has completed.
pub struct Collected<'a> {
    communicator: &'a Communicator,
    completion: Completion,
}

impl Collected<'_> {
    /// What it tells.
    pub fn status(&self) -> Status {
        Status::new(self.communicator, self.completion)
    }
}

impl SimpleRequest {
    #[inline]
    pub(super) fn new(communicator: &Communicator, id: OperationId, call: Call) -> Self {
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

    /// Whether it has completed. Makes no progress by itself.
    pub fn is_done(&self) -> bool {
        let process = self.communicator.process();
        if self.call == Call::Receive {
            process.engine().outcome(self.id).is_some()
        } else {
            process.has_completed(self.id)
        }
    }

    /// Its result if it has completed; then it is to be dropped. Makes no progress by itself.
    #[inline(always)]
    pub fn collect(&self) -> Option<Result<Collected<'_>>> {
        let communicator = &self.communicator;
        let process = communicator.process();
        if self.call != Call::Receive && !process.has_completed(self.id) {
            return None;
        }
        let outcome = process.engine().collect(self.id)?;
        Some(match outcome {
            Ok(completion) => Ok(Collected { communicator, completion }),
            Err(failure) => Err(communicator.failed(self.call)(failure)),
        })
    }
}
