//! Locks and flushes (MPI-5.0 sections 12.5.3 and 12.5.4): epochs that their targets need not know of.
//!
//! The protocol's tickets say whose turn it is (`rwmpi_protocol::window::Ticket`). What is here changes the words,
//! waits, and wakes who is next: the rank that has the number to which a gate has been moved, if it has written down
//! that it waits. It does that before its last look at the gate, and sleeps by the handshake of the transport, so
//! either it sees the gate or whoever has moved that sees it.

use std::iter;

use rwmpi_protocol::window::{Gate, Hold, LockKind, Ticket};

use super::Window;
use super::control::Control;
use crate::activity::{Call, Target};
use crate::engine::JobEngine;
use crate::waiting::Awaited;
use crate::{Destination, Result};

/// Who waits is written down as its number and, in so many lower bits, its rank plus 1.
const RANK_BITS: u32 = 24;

impl Window {
    /// Begins an access epoch to a target, alone or with others that share it; without a lock if nobody else locks it,
    /// as the program says (MPI_Win_lock).
    ///
    /// # Errors
    /// The target is locked already, or an epoch of another kind is open.
    pub fn lock(&self, kind: LockKind, target: Destination, is_unchecked: bool) -> Result<()> {
        let Some(target) = self.checked_target(target)? else { return Ok(()) };
        self.shared.epochs.borrow().check_lock(target).map_err(|misuse| self.misuse(misuse))?;
        let hold = match kind {
            _ if is_unchecked => Hold::Unchecked,
            LockKind::Shared => Hold::Shared,
            LockKind::Exclusive => Hold::Exclusive,
        };
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
        match hold {
            // Whoever has the lock next has seen the gate move, and so what was done before.
            Hold::Shared => self.give_back(iter::once(target), LockKind::Shared),
            Hold::Exclusive => self.give_back(iter::once(target), LockKind::Exclusive),
            Hold::None | Hold::Started | Hold::Unchecked => {
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
            (0..self.shared.targets.len()).try_for_each(|target| self.take(target, LockKind::Shared))?;
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
        if self.shared.elsewhere.is_none() {
            return Ok(());
        }
        self.look()?;
        self.settle(target)
    }

    /// The same of all targets (MPI_Win_flush_all and its likes).
    ///
    /// # Errors
    /// None is locked.
    #[inline]
    pub fn flush_all(&self) -> Result<()> {
        self.shared.epochs.borrow().check_any_locked().map_err(|misuse| self.misuse(misuse))?;
        self.order();
        if self.shared.elsewhere.is_none() {
            return Ok(());
        }
        self.look()?;
        self.settle_all()
    }

    /// Waits in line for the lock of a target.
    #[inline(always)]
    fn take(&self, target: usize, kind: LockKind) -> Result<()> {
        let Some(control) = &self.shared.controls[target] else { return self.take_elsewhere(target, kind) };
        let mut engine = self.process().engine();
        let ticket = self.draw(&mut engine, control, kind);
        if engine.word(control.gate(ticket.gate())) < ticket.number() {
            drop(engine);
            self.await_turn(control, ticket)?;
            engine = self.process().engine();
        }
        self.enter(&mut engine, control, ticket, self.shared.targets[self.rank()].peer);
        self.shared.tickets.borrow_mut()[target] = ticket.number();
        Ok(())
    }

    /// Takes a number in the line for a lock.
    #[inline(always)]
    pub(super) fn draw(&self, engine: &mut JobEngine, control: &Control, kind: LockKind) -> Ticket {
        Ticket::new(engine.add_to_word(control.next, 1), kind)
    }

    /// Lets whoever moves a gate to that number know that this rank is to be woken.
    pub(super) fn write_down(&self, engine: &mut JobEngine, control: &Control, ticket: Ticket) {
        let waits = ticket.number() << RANK_BITS | (self.rank() as u64 + 1);
        engine.set_words([(control.named(ticket.number()), waits)], &[]);
    }

    /// It is the turn of a number of `peer`'s: lets those in who follow, if they may share the lock.
    #[inline(always)]
    pub(super) fn enter(&self, engine: &mut JobEngine, control: &Control, ticket: Ticket, peer: u32) {
        match ticket.entered() {
            Some(gate) => {
                let moved = engine.add_to_word(control.gate(gate), 1) + 1;
                self.wake_next(engine, control, ticket, [moved; 2]);
            }
            None => engine.set_words([(control.holder, u64::from(peer) + 1)], &[]),
        }
    }

    /// The lock is given back.
    #[inline(always)]
    pub(super) fn leave(&self, engine: &mut JobEngine, control: &Control, ticket: Ticket) {
        let after = ticket.number() + 1;
        if ticket.entered().is_none() {
            // While this rank is alone nobody else moves that gate.
            engine.set_words([(control.holder, 0), (control.gate(Gate::Sharing), after)], &[]);
        }
        let moved = engine.add_to_word(control.gate(Gate::All), 1) + 1;
        self.wake_next(engine, control, ticket, [after, moved]);
    }

    /// Gates have been moved to these numbers: wakes whose turn it is then, if anybody has come at all.
    #[inline(always)]
    fn wake_next(&self, engine: &mut JobEngine, control: &Control, ticket: Ticket, numbers: [u64; 2]) {
        if !ticket.is_last(engine.word(control.next)) {
            self.wake_named(engine, control, numbers);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_named(&self, engine: &mut JobEngine, control: &Control, [first, second]: [u64; 2]) {
        for number in iter::once(first).chain((second != first).then_some(second)) {
            let waits = engine.word(control.named(number));
            let rank = (waits & ((1 << RANK_BITS) - 1)) as usize;
            if waits >> RANK_BITS == number
                && let Some(target) = rank.checked_sub(1).and_then(|rank| self.shared.targets.get(rank))
            {
                engine.wake(target.peer);
            }
        }
    }

    #[cold]
    fn await_turn(&self, control: &Control, ticket: Ticket) -> Result<()> {
        let (process, gate) = (self.process(), control.gate(ticket.gate()));
        let call = Call::LockWindow;
        let mut engine = process.enter(call, Target::NONE, self.shared.communicator.context(), 0);
        self.write_down(&mut engine, control, ticket);
        let holder = u32::try_from(engine.word(control.holder)).ok().and_then(|holder| holder.checked_sub(1));
        drop(engine);
        let me = self.shared.targets[self.rank()].peer;
        let waited = process.wait_for_awaited(Awaited::Lock(holder.filter(|&holder| holder != me)), || {
            let mut engine = process.engine();
            let looks = process.looks(&engine);
            engine.has_word(gate, ticket.number(), looks, None).then_some(())
        });
        waited.map_err(|failure| self.shared.communicator.failed(call)(failure))
    }

    /// Gives locks back, when everything that this rank has done to these targets has been done there.
    #[inline(always)]
    fn give_back(&self, targets: impl Iterator<Item = usize> + Clone, kind: LockKind) -> Result<()> {
        for target in targets.clone() {
            if let Some(control) = &self.shared.controls[target] {
                let ticket = Ticket::new(self.shared.tickets.borrow()[target], kind);
                self.leave(&mut self.process().engine(), control, ticket);
            }
        }
        if self.shared.elsewhere.is_none() {
            return Ok(());
        }
        // Of this rank's own lock whoever is elsewhere and stands in line hears now, and not when it calls next.
        self.look()?;
        self.give_back_elsewhere(targets)
    }
}
