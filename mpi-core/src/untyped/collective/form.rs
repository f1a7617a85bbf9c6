//! How a collective is called that has been described: its caller waits for it, or starts it and goes on.

use rwmpi_collective::Described;

use super::super::Request;
use crate::apart::apart;
use crate::{Communicator, Result};

/// How such a collective is called.
pub trait Form: Copy {
    /// What the caller gets.
    type Done;

    /// Does or starts it; `None`: there are two groups, and nothing has happened.
    fn perform<D: Described + 'static>(self, communicator: &Communicator, described: D) -> Option<Result<Self::Done>>;
}

/// Its caller waits for it.
#[derive(Clone, Copy)]
pub struct Blocking;

/// Its caller gets a request.
#[derive(Clone, Copy)]
pub struct Nonblocking;

impl Blocking {
    /// As [`Form::perform`], of what may be borrowed.
    #[inline(always)]
    pub fn wait(self, communicator: &Communicator, described: impl Described) -> Option<Result<()>> {
        match communicator.slots_for(&described) {
            Some(slots) => Some(communicator.complete_on_slots(slots, None, described)),
            None if communicator.is_inter() => None,
            None => Some(communicator.complete_otherwise(None, described)),
        }
    }
}

impl Form for Blocking {
    type Done = ();

    #[inline(always)]
    fn perform<D: Described + 'static>(self, communicator: &Communicator, described: D) -> Option<Result<()>> {
        self.wait(communicator, described)
    }
}

impl Form for Nonblocking {
    type Done = Request;

    #[inline(always)]
    fn perform<D: Described + 'static>(self, communicator: &Communicator, described: D) -> Option<Result<Request>> {
        let Some(turn) = communicator.turn_on_slots(&described) else {
            return communicator.start_described(described);
        };
        let rest = communicator.start_on_slots(turn, None, described);
        let tasks = communicator.process().tasks();
        let task = rest.and_then(|rest| rest.map_or(Ok(None), |rest| tasks.start(apart(|| rest))));
        let request = task.map(|task| Request::collective(communicator, D::CALL, task));
        Some(request.map_err(communicator.failed(D::CALL)))
    }
}

impl Communicator {
    #[inline(never)]
    fn start_described<D: Described + 'static>(&self, described: D) -> Option<Result<Request>> {
        if self.is_inter() {
            return None;
        }
        let work = self.start_otherwise(None, described);
        Some(work.and_then(|work| self.launch(D::CALL, apart(|| work))))
    }
}
