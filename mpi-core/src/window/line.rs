//! The line for the lock of one rank's memory, where this process has its words mapped: places in it are taken, used
//! and given back without the engine.
//!
//! Which word is changed when is what the protocol's tickets say ([`rwmpi_protocol::window::Ticket`]). Whoever moves
//! gates hears whether anybody has come meanwhile, and wakes who has the numbers that the gates show then.

use rwmpi_protocol::window::{Gate, LockKind, Ticket};
use rwmpi_transport::CountWord;

/// The words of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The next number; counted up by whoever comes.
    pub(super) next: CountWord<'static>,
    /// The gates; moved on by who has the lock.
    pub(super) sharing: CountWord<'static>,
    pub(super) all: CountWord<'static>,
    /// The peer that has the lock alone, plus 1; only a hint for who waits. Set by that peer.
    pub(super) holder: CountWord<'static>,
}

/// The number by which this rank has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its own.
    Own(u64),
    /// That of a waiter, which it has overtaken.
    Overtaken(u64),
}

/// The same in a word, as each lock writes it and reads it. It is never an overtaken one when no lock is held.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held(u64);

impl Held {
    /// No number is ever so large.
    const OVERTAKEN: u64 = 1 << 63;

    #[inline(always)]
    pub(super) fn turn(self) -> Turn {
        if self.0 & Self::OVERTAKEN == 0 { Turn::Own(self.0) } else { Turn::Overtaken(self.0 & !Self::OVERTAKEN) }
    }
}

impl From<Turn> for Held {
    #[inline(always)]
    fn from(turn: Turn) -> Held {
        match turn {
            Turn::Own(number) => Held(number),
            Turn::Overtaken(number) => Held(number | Self::OVERTAKEN),
        }
    }
}

/// The numbers to which gates have been moved, of which others may wait for any.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved(pub(super) [u64; 2]);

impl Line {
    #[inline(always)]
    fn gate(&self, gate: Gate) -> CountWord<'static> {
        match gate {
            Gate::Sharing => self.sharing,
            Gate::All => self.all,
        }
    }

    /// Takes a number.
    #[inline(always)]
    pub(super) fn draw(&self, kind: LockKind) -> Ticket {
        Ticket::new(self.next.count_up(), kind)
    }

    /// Takes a number, if it is that number's turn already; `None`: nothing has been done.
    #[inline(always)]
    pub(super) fn draw_at_once(&self, kind: LockKind) -> Option<Ticket> {
        let next = self.next.load();
        let shown = self.gate(Ticket::new(next, kind).gate()).load();
        let ticket = Ticket::at_once(next, shown, kind)?;
        self.next.count_up_from(next).then_some(ticket)
    }

    /// Whether it is the turn of that place.
    #[inline(always)]
    pub(super) fn is_turn(&self, ticket: Ticket) -> bool {
        self.gate(ticket.gate()).load() >= ticket.number()
    }

    /// Tells waiters that `peer` has the lock alone, or that nobody has.
    #[inline(always)]
    pub(super) fn hint(&self, peer: Option<u32>) {
        self.holder.set(peer.map_or(0, |peer| u64::from(peer) + 1));
    }

    /// It is the turn of a place of `peer`'s: lets those in who follow, if they may share the lock.
    #[inline(always)]
    pub(super) fn enter(&self, ticket: Ticket, peer: u32) -> Option<Moved> {
        match ticket.entered() {
            Some(gate) => {
                let moved = self.gate(gate).count_up() + 1;
                self.unless_last(ticket, [moved; 2])
            }
            None => {
                self.hint(Some(peer));
                None
            }
        }
    }

    /// The lock is given back.
    #[inline(always)]
    pub(super) fn leave(&self, ticket: Ticket) -> Option<Moved> {
        let after = ticket.number() + 1;
        if ticket.entered().is_none() {
            // While this rank is alone nobody else moves that gate.
            self.hint(None);
            self.sharing.set(after);
        }
        let moved = self.all.count_up() + 1;
        self.unless_last(ticket, [after, moved])
    }

    /// Gates have been moved to these numbers: whether anybody has come.
    #[inline(always)]
    fn unless_last(&self, ticket: Ticket, numbers: [u64; 2]) -> Option<Moved> {
        if ticket.is_last(self.next.load()) { None } else { Some(Moved(numbers)) }
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_transport::WriteSpan;

    use super::*;

    fn line() -> Line {
        let words: &'static mut [u64; 4] = Box::leak(Box::new([0; 4]));
        let span = WriteSpan::from(bytemuck::cast_slice_mut(words));
        let [next, sharing, all, holder] = [0, 8, 16, 24].map(|offset| span.count_word(offset).unwrap());
        Line { next, sharing, all, holder }
    }

    #[test]
    fn a_lock_is_had_at_once_if_nobody_is_in_the_way() {
        let line = line();
        let first = line.draw_at_once(LockKind::Shared).unwrap();
        assert_eq!(line.enter(first, 4), None);
        assert!(line.draw_at_once(LockKind::Exclusive).is_none(), "one shares it");
        assert_eq!(line.next.load(), 1, "nothing has been done");
        let second = line.draw_at_once(LockKind::Shared).unwrap();
        assert_eq!(line.enter(second, 5), None);
        assert_eq!((line.leave(second), line.leave(first)), (None, Some(Moved([1, 2]))));
        let alone = line.draw_at_once(LockKind::Exclusive).unwrap();
        assert_eq!((line.enter(alone, 6), line.holder.load()), (None, 7));
        assert!(line.draw_at_once(LockKind::Exclusive).is_none() && line.draw_at_once(LockKind::Shared).is_none());
        let waiting = line.draw(LockKind::Shared);
        assert!(!line.is_turn(waiting));
        assert_eq!((line.leave(alone), line.holder.load()), (Some(Moved([3, 3])), 0));
        assert!(line.is_turn(waiting));
    }
}
