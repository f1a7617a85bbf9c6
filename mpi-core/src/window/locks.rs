//! Locks and flushes (MPI-5.0 sections 12.5.3 and 12.5.4): epochs that their targets need not know of.
//!
//! A line has places for those who want the lock (`line`). What is here waits in it, and wakes who is next: the rank
//! that has the number to which a gate has been moved, if it has written down that it waits. It does that before its
//! last look at the gate, and sleeps by the handshake of the transport, so either it sees the gate or whoever has moved
//! that sees it. Where nobody has to be waited for, or asked, a call ends at once (`…_at_once`). While the next rank in
//! line is asleep, others may take the lock (`overtaking`).

use std::iter;

use rwmpi_protocol::window::{Hold, LockKind, Ticket, Waiter};

use super::Window;
use super::control::{Control, Listed};
use super::line::{Moved, Turn};
use crate::activity::{Call, Target};
use crate::waiting::Awaited;
use crate::{Destination, Result};

impl Window {
    /// Begins an access epoch to a target, alone or with others that share it; without a lock if nobody else locks it,
    /// as the program says (MPI_Win_lock).
    ///
    /// # Errors
    /// The target is locked already, or an epoch of another kind is open; a rank has died, and the lock is not free.
    pub fn lock(&self, kind: LockKind, target: Destination, is_unchecked: bool) -> Result<()> {
        let Some(target) = self.checked_target(target)? else { return Ok(()) };
        self.shared.epochs.borrow().check_lock(target).map_err(|misuse| self.misuse(misuse))?;
        let hold = if is_unchecked { Hold::Unchecked } else { kind.into() };
        if !is_unchecked {
            self.take(target, kind)?;
        }
        self.shared.epochs.borrow_mut().locked(target, hold);
        Ok(())
    }

    /// Ends it (MPI_Win_unlock).
    ///
    /// # Errors
    /// There is none.
    pub fn unlock(&self, target: Destination) -> Result<()> {
        let Some(target) = self.checked_target(target)? else { return Ok(()) };
        let hold = self.shared.epochs.borrow_mut().unlock(target).map_err(|misuse| self.misuse(misuse))?;
        match hold.lock() {
            // Whoever has the lock next has seen the gate move, and so what was done before.
            Some(kind) => self.give_back(iter::once(target), kind),
            None => {
                self.order();
                self.settle(target)
            }
        }
    }

    /// Begins an access epoch to all targets, which others may share (MPI_Win_lock_all). Not collective.
    ///
    /// # Errors
    /// An access epoch is open.
    pub fn lock_all(&self, is_unchecked: bool) -> Result<()> {
        self.shared.epochs.borrow().check_lock_all().map_err(|misuse| self.misuse(misuse))?;
        if !is_unchecked {
            for target in 0..self.shared.targets.len() {
                self.take(target, LockKind::Shared).inspect_err(|_| self.leave_first(target))?;
            }
        }
        self.shared.epochs.borrow_mut().all_locked(!is_unchecked);
        Ok(())
    }

    /// Ends it (MPI_Win_unlock_all).
    ///
    /// # Errors
    /// There is none.
    pub fn unlock_all(&self) -> Result<()> {
        let is_held = self.shared.epochs.borrow_mut().unlock_all().map_err(|misuse| self.misuse(misuse))?;
        if is_held {
            return self.give_back(0..self.shared.targets.len(), LockKind::Shared);
        }
        self.order();
        self.settle_all()
    }

    /// Everything that this rank has done to a target, or to all, has been done there, too (MPI_Win_flush and its
    /// likes).
    ///
    /// # Errors
    /// It is not locked.
    #[inline]
    pub fn flush(&self, target: Destination) -> Result<()> {
        let Some(target) = self.checked_target(target)? else { return Ok(()) };
        self.shared.epochs.borrow().check_locked(target).map_err(|misuse| self.misuse(misuse))?;
        self.order();
        if self.shared.is_plain { Ok(()) } else { self.settle(target) }
    }

    /// The same of all targets (MPI_Win_flush_all and its likes).
    ///
    /// # Errors
    /// None is locked.
    #[inline]
    pub fn flush_all(&self) -> Result<()> {
        self.shared.epochs.borrow().check_any_locked().map_err(|misuse| self.misuse(misuse))?;
        self.order();
        self.settle_all()
    }

    /// As [`Window::lock`], if the lock is to be had at once; `None`: nothing has been done. `target` need not be a
    /// rank of the window.
    #[inline(always)]
    pub fn lock_at_once(&self, kind: LockKind, target: usize) -> Option<()> {
        let control = self.shared.controls.get(target)?.as_ref()?;
        let mut epochs = self.shared.epochs.borrow_mut();
        epochs.check_lock(target).ok()?;
        self.take_at_once(control, target, kind)?;
        epochs.locked(target, kind.into());
        Some(())
    }

    /// As [`Window::unlock`], if nobody has to be asked for that; `None`: nothing has been done.
    #[inline(always)]
    pub fn unlock_at_once(&self, target: usize) -> Option<()> {
        let control = self.shared.controls.get(target)?.as_ref()?;
        if !self.shared.is_plain {
            return None;
        }
        let Turn::Own(number) = self.shared.held[target].get().turn() else { return None };
        let hold = self.shared.epochs.borrow_mut().unlock(target).ok()?;
        match hold.lock() {
            Some(kind) => self.leave(control, Ticket::new(number, kind)),
            None => self.order(),
        }
        Some(())
    }

    /// As [`Window::lock_all`], if all locks are to be had at once; `None`: nothing has been done, or it has been taken
    /// back.
    #[inline(always)]
    pub fn lock_all_at_once(&self) -> Option<()> {
        if self.shared.elsewhere.is_some() {
            return None;
        }
        let mut epochs = self.shared.epochs.borrow_mut();
        epochs.check_lock_all().ok()?;
        for (target, control) in self.shared.controls.iter().enumerate() {
            let taken = control.as_ref().and_then(|control| self.take_at_once(control, target, LockKind::Shared));
            if taken.is_none() {
                self.leave_first(target);
                return None;
            }
        }
        epochs.all_locked(true);
        Some(())
    }

    /// As [`Window::unlock_all`], if nobody has to be asked for that; `None`: nothing has been done.
    #[inline(always)]
    pub fn unlock_all_at_once(&self) -> Option<()> {
        if !self.shared.is_plain {
            return None;
        }
        if self.shared.epochs.borrow_mut().unlock_all().ok()? {
            self.leave_first(self.shared.controls.len());
        } else {
            self.order();
        }
        Some(())
    }

    /// Waits in line for the lock of a target.
    #[inline]
    fn take(&self, target: usize, kind: LockKind) -> Result<()> {
        let Some(control) = &self.shared.controls[target] else { return self.take_elsewhere(target, kind) };
        let at_once = self.take_at_once(control, target, kind);
        if at_once.or_else(|| self.overtake(control, target, kind)).is_some() {
            return Ok(());
        }
        self.check_may_wait(Call::LockWindow)?;
        let ticket = control.line.draw(kind);
        if !control.line.is_turn(ticket) {
            self.await_turn(control, ticket)?;
        }
        self.have(control, target, ticket);
        Ok(())
    }

    /// Takes the lock of a target, if it is to be had at once.
    #[inline(always)]
    fn take_at_once(&self, control: &Control, target: usize, kind: LockKind) -> Option<()> {
        let ticket = control.line.draw_at_once(kind)?;
        self.have(control, target, ticket);
        Some(())
    }

    /// It is the turn of this rank.
    #[inline(always)]
    fn have(&self, control: &Control, target: usize, ticket: Ticket) {
        self.enter(control, ticket, self.shared.own_peer);
        self.shared.held[target].set(Turn::Own(ticket.number()).into());
    }

    /// It is the turn of a place of `peer`'s.
    #[inline(always)]
    pub(super) fn enter(&self, control: &Control, ticket: Ticket, peer: u32) {
        if let Some(moved) = control.line.enter(ticket, peer) {
            self.wake_named(control, moved);
        }
    }

    /// What this rank has of a target is given back.
    #[inline(always)]
    fn give_back_mapped(&self, control: &Control, target: usize, kind: LockKind) {
        match self.shared.held[target].get().turn() {
            Turn::Own(number) => self.leave(control, Ticket::new(number, kind)),
            Turn::Overtaken(number) => self.give_turn_back(control, target, number),
        }
    }

    /// The lock is given back by who has had that place.
    #[inline(always)]
    pub(super) fn leave(&self, control: &Control, ticket: Ticket) {
        if let Some(moved) = control.line.leave(ticket) {
            self.wake_named(control, moved);
        }
    }

    /// Gives back what this rank shares of the first so many targets.
    #[inline(always)]
    fn leave_first(&self, targets: usize) {
        for (control, held) in self.shared.controls.iter().zip(&self.shared.held).take(targets) {
            if let (Some(control), Turn::Own(number)) = (control, held.get().turn()) {
                self.leave(control, Ticket::new(number, LockKind::Shared));
            }
        }
    }

    /// Tells the rank that moves a gate to that number to wake this one, and others whether they may take the lock in
    /// its place until it is awake.
    pub(super) fn write_down(&self, control: &Control, ticket: Ticket, may_be_overtaken: bool) {
        let waiter = Waiter::new(ticket.number(), self.rank(), may_be_overtaken);
        control.mapped(Listed::Named(ticket.number())).set(waiter.word());
    }

    /// Wakes whose turn it may be.
    #[cold]
    #[inline(never)]
    fn wake_named(&self, control: &Control, Moved([first, second]): Moved) {
        let mut engine = self.process().engine();
        for number in iter::once(first).chain((second != first).then_some(second)) {
            let waiter = Waiter::read(control.mapped(Listed::Named(number)).load());
            if let Some(target) = waiter.rank_of(number).and_then(|rank| self.shared.targets.get(rank)) {
                engine.wake(target.peer);
            }
        }
    }

    #[cold]
    fn await_turn(&self, control: &Control, ticket: Ticket) -> Result<()> {
        let (process, gate) = (self.process(), control.gate(ticket.gate()));
        let call = Call::LockWindow;
        process.tell(call, Target::NONE, self.shared.communicator.context(), 0);
        self.write_down(control, ticket, self.shared.is_oversubscribed);
        let holder = u32::try_from(control.line.holder.load()).ok().and_then(|holder| holder.checked_sub(1));
        let me = self.shared.own_peer;
        let mut courtesy = None;
        let waited = process.wait_for_awaited(Awaited::Lock(holder.filter(|&holder| holder != me)), || {
            let mut engine = process.engine();
            let looks = process.looks(&engine);
            let is_turn = engine.has_word(gate, ticket.number(), looks, None);
            let has_turn = is_turn && self.takes_turn(&mut engine, control, ticket, &mut courtesy);
            // Its place in line stays empty then, and nobody gets by; but nobody has to: nobody waits any more.
            if has_turn { Some(Ok(())) } else { self.interruption().map(Err) }
        });
        waited.flatten().map_err(|failure| self.shared.communicator.failed(call)(failure))
    }

    /// Gives locks back, when everything that this rank has done to these targets has been done there.
    fn give_back(&self, targets: impl Iterator<Item = usize> + Clone, kind: LockKind) -> Result<()> {
        for target in targets.clone() {
            if let Some(control) = &self.shared.controls[target] {
                self.give_back_mapped(control, target, kind);
            }
        }
        if self.shared.elsewhere.is_none() {
            return self.check_touched(targets);
        }
        // Of this rank's own lock whoever is elsewhere and stands in line hears now, and not when it calls next.
        self.look()?;
        self.give_back_elsewhere(targets)
    }
}
