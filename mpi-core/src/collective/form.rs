//! How a typed collective is called: its caller waits for it ([`Waiting`]), or starts it in a scope and goes on. Each
//! is written once for both.

use super::{Plan, Shelved, Slots, Team, Turn};
use crate::activity::Call;
use crate::engine::Failure;
use crate::select::Collective;
use crate::{Communicator, Request, Result, Scope, Status};

/// How a collective is called that uses buffers which are borrowed for `'a`.
pub(super) trait Form<'a>: Copy {
    /// What the caller gets.
    type Done;
    /// Slots that can be used at once.
    type Way<'c>;

    /// Slots with room for the collective, if it can begin there. Nothing has happened by then.
    fn way(self, communicator: &Communicator, what: Collective) -> Option<Self::Way<'_>>;

    /// Does the collective there, or starts it. It takes what those posted that `from` names.
    fn go(
        self,
        communicator: &Communicator,
        way: Self::Way<'_>,
        what: (Call, usize),
        from: impl Fn(usize) -> bool + 'a,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> std::result::Result<(), Failure> + 'a,
    ) -> Result<Self::Done>;

    /// Does or starts what has been planned.
    fn by_plan(self, communicator: &Communicator, call: Call, plan: impl Plan + 'a) -> Result<Self::Done>;
}

#[derive(Clone, Copy)]
pub(super) struct Waiting;

impl<'a> Form<'a> for Waiting {
    type Done = ();
    type Way<'c> = &'c Slots;

    #[inline(always)]
    fn way(self, communicator: &Communicator, what: Collective) -> Option<&Slots> {
        communicator.slots_for(what)
    }

    #[inline(always)]
    fn go(
        self,
        communicator: &Communicator,
        slots: &Slots,
        what: (Call, usize),
        _: impl Fn(usize) -> bool + 'a,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> std::result::Result<(), Failure> + 'a,
    ) -> Result<()> {
        communicator.complete_on_slots(slots, what, collective)
    }

    fn by_plan(self, communicator: &Communicator, call: Call, plan: impl Plan + 'a) -> Result<()> {
        communicator.complete(call, plan)
    }
}

impl<'scope> Form<'scope> for &'scope Scope<'scope, '_> {
    type Done = Request<'scope>;
    type Way<'c> = Turn<'c>;

    #[inline(always)]
    fn way(self, communicator: &Communicator, what: Collective) -> Option<Turn<'_>> {
        communicator.turn_on_slots(what)
    }

    #[inline(always)]
    fn go(
        self,
        communicator: &Communicator,
        turn: Turn<'_>,
        what: (Call, usize),
        from: impl Fn(usize) -> bool + 'scope,
        collective: impl Fn(Shelved<'_>, Team<'_>) -> std::result::Result<(), Failure> + 'scope,
    ) -> Result<Request<'scope>> {
        let rest = communicator.start_on_slots(turn, what, from, collective).map_err(communicator.failed(what.0))?;
        rest.map_or_else(|| Ok(Request::done(Ok(Status::EMPTY))), |rest| self.begin(communicator, what.0, rest))
    }

    fn by_plan(self, communicator: &Communicator, call: Call, plan: impl Plan + 'scope) -> Result<Request<'scope>> {
        communicator.start(self, call, plan)
    }
}
