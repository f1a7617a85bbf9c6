//! The words of one target's lock, and what must hold of who has it: nobody is beside an exclusive lock, operations of
//! earlier epochs have been done before one is had, and nobody is overtaken.

use crate::window::LockKind::{self, Exclusive};
use crate::window::{Gate, Ticket};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Words {
    next: u64,
    sharing: u64,
    all: u64,
    tickets: Vec<Option<Ticket>>,
    /// Who has the lock, and how.
    holders: Vec<(usize, LockKind)>,
    /// Whose operation is on its way.
    pub(super) in_flight: Vec<usize>,
    /// How many have entered.
    entered: u64,
}

impl Words {
    /// For so many ranks.
    pub(super) fn new(ranks: usize) -> Self {
        Words { tickets: vec![None; ranks], ..Words::default() }
    }

    fn gate(&mut self, gate: Gate) -> &mut u64 {
        match gate {
            Gate::Sharing => &mut self.sharing,
            Gate::All => &mut self.all,
        }
    }

    /// How far a gate has moved.
    pub(super) fn at(&mut self, gate: Gate) -> u64 {
        *self.gate(gate)
    }

    /// Moves a gate by one; how far it has moved then.
    pub(super) fn advance(&mut self, gate: Gate) -> u64 {
        *self.gate(gate) += 1;
        self.at(gate)
    }

    /// A rank takes a number.
    pub(super) fn draw(&mut self, rank: usize, kind: LockKind) -> Ticket {
        let ticket = Ticket::new(self.next, kind);
        self.tickets[rank] = Some(ticket);
        self.next += 1;
        ticket
    }

    /// The number that is taken next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// A rank takes the number `next`, if it is the next one still, or, of a broken variant, in any case.
    pub(super) fn draw_if(&mut self, rank: usize, kind: LockKind, next: u64, in_any_case: bool) -> bool {
        if self.next != next && !in_any_case {
            return false;
        }
        self.next = next;
        self.draw(rank, kind);
        true
    }

    pub(super) fn ticket(&self, rank: usize) -> Ticket {
        self.tickets[rank].expect("it has taken a number")
    }

    /// Whether nobody has taken a number after that rank.
    pub(super) fn is_last(&self, rank: usize) -> bool {
        self.ticket(rank).is_last(self.next)
    }

    pub(super) fn is_its_turn(&mut self, rank: usize) -> bool {
        let ticket = self.ticket(rank);
        self.at(ticket.gate()) == ticket.number()
    }

    /// A rank has the lock alone from now on, in the place of another.
    pub(super) fn overtake(&mut self, rank: usize) -> Result<(), String> {
        self.hold(rank, Exclusive)
    }

    /// It gives the turn back.
    pub(super) fn give_turn_back(&mut self, rank: usize) {
        self.holders.retain(|holder| holder.0 != rank);
    }

    fn hold(&mut self, rank: usize, kind: LockKind) -> Result<(), String> {
        if self.holders.iter().any(|holder| holder.1 == Exclusive || kind == Exclusive) {
            return Err(format!("rank {rank} is not alone"));
        }
        if kind == Exclusive && !self.in_flight.is_empty() {
            return Err("an operation of an earlier epoch is still on its way".into());
        }
        self.holders.push((rank, kind));
        Ok(())
    }

    /// A rank has the lock from now on; the gates to move.
    pub(super) fn enter(&mut self, rank: usize, kind: LockKind) -> Result<Vec<Gate>, String> {
        let ticket = self.ticket(rank);
        self.hold(rank, kind)?;
        if ticket.number() != self.entered {
            return Err("somebody has been overtaken".into());
        }
        self.entered += 1;
        Ok(ticket.entered().into_iter().collect())
    }

    /// A rank gives it back; the gates to move.
    pub(super) fn leave(&mut self, rank: usize) -> Vec<Gate> {
        self.holders.retain(|holder| holder.0 != rank);
        self.ticket(rank).left().to_vec()
    }

    /// The operation of a rank has been done.
    pub(super) fn complete(&mut self, rank: usize) {
        self.in_flight.retain(|&other| other != rank);
    }
}
