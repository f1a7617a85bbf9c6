//! The line for the lock of one target: first come, first served, and those who share it go in together.
//!
//! There are three words, all of which only grow. Whoever comes takes a number from `next`. Two *gates* say whose turn
//! it is: who wants the lock alone may enter when [`Gate::All`] shows its number, for then all before it have left; who
//! shares it, when [`Gate::Sharing`] does, for then all before it have left or share it, too. Whoever moves a gate to a
//! number wakes the one who has it, should it sleep there. Who has moved all that it has to move first looks whether
//! anybody has come after it: if not, there is nobody to look for.

/// With whom the lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// With all who share it (MPI_LOCK_SHARED).
    Shared,
    /// With nobody (MPI_LOCK_EXCLUSIVE).
    Exclusive,
}

/// A word that says whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// How many have entered sharing or left having been alone: the turn of those who share.
    Sharing,
    /// How many have left: the turn of those who want to be alone.
    All,
}

/// A place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    number: u64,
    kind: LockKind,
}

impl Ticket {
    /// The place of who has found `number` in the word from which numbers are taken, and counted it up.
    #[inline]
    pub fn new(number: u64, kind: LockKind) -> Self {
        Ticket { number, kind }
    }

    /// The place of who has found `next` in the word from which numbers are taken, and `shown` at its gate after that,
    /// if it would be its turn at once. It has the place if it counts the word up from `next` in one step.
    #[inline]
    pub fn at_once(next: u64, shown: u64, kind: LockKind) -> Option<Self> {
        (shown == next).then_some(Ticket::new(next, kind))
    }

    /// Its number: what its gate has to show.
    #[inline]
    pub fn number(self) -> u64 {
        self.number
    }

    /// Where its turn is shown.
    #[inline]
    pub fn gate(self) -> Gate {
        match self.kind {
            LockKind::Shared => Gate::Sharing,
            LockKind::Exclusive => Gate::All,
        }
    }

    /// The gate to move on by one once it has entered, so that the next may follow.
    #[inline]
    pub fn entered(self) -> Option<Gate> {
        (self.kind == LockKind::Shared).then_some(Gate::Sharing)
    }

    /// The gates to move on by one when it leaves, in this order.
    #[inline]
    pub fn left(self) -> &'static [Gate] {
        match self.kind {
            LockKind::Shared => &[Gate::All],
            LockKind::Exclusive => &[Gate::Sharing, Gate::All],
        }
    }

    /// Whether nobody has come after it, if `next` is what the word shows from which numbers are taken. That has to be
    /// read when the gates have been moved: whoever comes later sees them open.
    #[inline]
    pub fn is_last(self, next: u64) -> bool {
        next == self.number.wrapping_add(1)
    }
}
