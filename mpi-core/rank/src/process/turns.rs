//! Threads that take turns at being this rank, or a lane of it: a wait lets others in.

use rwmpi_transport::{Backoff, Turns};

use super::Process;

impl Process {
    /// From now on several threads act as this lane, each while it has that turn; who waits lets others in.
    pub fn share(&self, turns: &'static Turns, lane: usize) -> std::io::Result<()> {
        let turn = turns.of(lane);
        turn.share(self.engine().bell()?);
        // It is shared once, by the front end that has made it.
        let _ = self.turn.set(turn);
        if self.lanes.are_several() {
            let _ = self.turns.set(turns);
            self.has_others.set(true);
        }
        Ok(())
    }

    /// Lets other threads of this rank in, if there are any; true if there were.
    #[inline]
    pub(super) fn let_others_in(&self) -> bool {
        let Some(turn) = self.turn.get() else { return false };
        let awaited = self.awaited.get();
        let was_away = turn.let_others_in();
        self.awaited.set(awaited);
        was_away
    }

    /// Lets other threads of this rank in, whatever lanes this one has.
    pub fn step_aside(&self) {
        if !self.stand_aside(&mut Backoff::default()) {
            self.let_others_in();
        }
    }

    /// The turns of all lanes, if there are several and this thread has them all.
    #[inline]
    pub(super) fn turns_of_all(&self) -> Option<&'static Turns> {
        self.turns.get().copied().filter(|turns| turns.has_all())
    }

    /// The same where this thread has all lanes: what it waits for may be any lane's.
    #[inline]
    pub(super) fn stand_aside(&self, backoff: &mut Backoff) -> bool {
        let Some(turns) = self.turns_of_all() else { return false };
        let awaited = self.awaited.get();
        turns.stand_aside(backoff);
        self.awaited.set(awaited);
        true
    }

    /// Whether other threads of this rank may want their turn.
    #[inline(always)]
    pub fn others_may_want_turn(&self) -> bool {
        self.turn.get().is_some_and(|turn| !turn.is_favoured())
    }
}
