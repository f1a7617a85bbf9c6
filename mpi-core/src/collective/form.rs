//! How a collective is called that has been described: its caller waits for it ([`Waiting`]), or starts it in a scope
//! and goes on.

use rwmpi_collective::{Described, Typed};

use crate::{Communicator, Request, Result, Scope, Status};

/// How a collective is called that uses buffers which are borrowed for `'a`.
pub(super) trait Form<'a>: Copy {
    /// What the caller gets.
    type Done;

    /// Does it, or starts it.
    fn perform<D: Described + 'a>(self, communicator: &Communicator, typed: Typed, described: D) -> Result<Self::Done>;
}

#[derive(Clone, Copy)]
pub(super) struct Waiting;

impl<'a> Form<'a> for Waiting {
    type Done = ();

    #[inline(always)]
    fn perform<D: Described + 'a>(self, communicator: &Communicator, typed: Typed, described: D) -> Result<()> {
        match communicator.slots_for(&described) {
            Some(slots) => communicator.complete_on_slots(slots, typed, described),
            None => communicator.complete_otherwise(typed, described),
        }
    }
}

impl<'scope> Form<'scope> for &'scope Scope<'scope, '_> {
    type Done = Request<'scope>;

    #[inline(always)]
    fn perform<D: Described + 'scope>(
        self,
        communicator: &Communicator,
        typed: Typed,
        described: D,
    ) -> Result<Request<'scope>> {
        let Some(turn) = communicator.turn_on_slots(&described) else {
            return self.begin(communicator, D::CALL, communicator.start_otherwise(typed, described)?);
        };
        let rest = communicator.start_on_slots(turn, typed, described).map_err(communicator.failed(D::CALL))?;
        rest.map_or_else(|| Ok(Request::done(Ok(Status::EMPTY))), |rest| self.begin(communicator, D::CALL, rest))
    }
}
