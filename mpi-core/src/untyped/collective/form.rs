//! What becomes of a collective that has been described: its caller waits for it, or starts it and goes on.

use rwmpi_collective::Described;

use super::super::Request;
use crate::apart::apart;
use crate::{Communicator, Result};

/// How such a collective is called.
pub trait Form: Copy {
    /// What the caller gets.
    type Done;

    /// Does one or the other with `what`.
    fn choose<W>(
        self,
        what: W,
        waits: impl FnOnce(W) -> Option<Result<()>>,
        starts: impl FnOnce(W) -> Option<Result<Request>>,
    ) -> Option<Result<Self::Done>>;
}

/// Its caller waits for it.
#[derive(Clone, Copy)]
pub struct Blocking;

/// Its caller gets a request.
#[derive(Clone, Copy)]
pub struct Nonblocking;

impl Form for Blocking {
    type Done = ();

    #[inline(always)]
    fn choose<W>(
        self,
        what: W,
        waits: impl FnOnce(W) -> Option<Result<()>>,
        _: impl FnOnce(W) -> Option<Result<Request>>,
    ) -> Option<Result<()>> {
        waits(what)
    }
}

impl Form for Nonblocking {
    type Done = Request;

    #[inline(always)]
    fn choose<W>(
        self,
        what: W,
        _: impl FnOnce(W) -> Option<Result<()>>,
        starts: impl FnOnce(W) -> Option<Result<Request>>,
    ) -> Option<Result<Request>> {
        starts(what)
    }
}

impl Communicator {
    /// Does or starts what has been described; `None`: there are two groups, and nothing has happened.
    #[inline(always)]
    pub(super) fn in_form<F: Form, D: Described + 'static>(&self, form: F, described: D) -> Option<Result<F::Done>> {
        form.choose(
            described,
            |described| self.and_wait(described),
            |described| {
                let Some(turn) = self.turn_on_slots(&described) else { return self.start_described(described) };
                let rest = self.start_on_slots(turn, None, described);
                let task =
                    rest.and_then(|rest| rest.map_or(Ok(None), |rest| self.process().tasks().start(apart(|| rest))));
                Some(task.map(|task| Request::collective(self, D::CALL, task)).map_err(self.failed(D::CALL)))
            },
        )
    }

    /// Does it; `None` as above.
    #[inline(always)]
    pub(super) fn and_wait(&self, described: impl Described) -> Option<Result<()>> {
        match self.slots_for(&described) {
            Some(slots) => Some(self.complete_on_slots(slots, None, described)),
            None if self.is_inter() => None,
            None => Some(self.complete_otherwise(None, described)),
        }
    }

    #[inline(never)]
    fn start_described<D: Described + 'static>(&self, described: D) -> Option<Result<Request>> {
        if self.is_inter() {
            return None;
        }
        let work = self.start_otherwise(None, described);
        Some(work.and_then(|work| self.launch(D::CALL, apart(|| work))))
    }
}
