//! What becomes of a short collective: its caller waits for it, or starts it and goes on.

use super::super::Request;
use crate::activity::Call;
use crate::apart::apart;
use crate::collective::{Shelved, Team};
use crate::engine::Failure;
use crate::select::Collective;
use crate::{Communicator, Result};

/// How a short collective is called.
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
    /// Does it, if there is room on its slots for `what` it is; it takes what those ranks posted that `from` names.
    /// There is no way back then.
    #[inline(always)]
    pub(super) fn in_form<F: Form>(
        &self,
        form: F,
        (call, bytes): (Call, usize),
        what: Collective,
        from: impl Fn(usize) -> bool + 'static,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> std::result::Result<(), Failure> + 'static,
    ) -> Option<Result<F::Done>> {
        form.choose(
            collective,
            |collective| Some(self.complete_on_slots(self.slots_for(what)?, (call, bytes), collective)),
            |collective| {
                let turn = self.turn_on_slots(what)?;
                let started = self.start_on_slots(turn, (call, bytes), from, collective);
                let task =
                    started.and_then(|rest| rest.map_or(Ok(None), |rest| self.process().tasks().start(apart(|| rest))));
                Some(task.map(|task| Request::collective(self, call, task)).map_err(self.failed(call)))
            },
        )
    }
}
