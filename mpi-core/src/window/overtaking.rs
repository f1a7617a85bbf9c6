//! Locks that are had in the place of a rank which sleeps: see [`rwmpi_protocol::window::Standing`].
//!
//! Only where ranks outnumber processors, and only for locks that are had alone: on two processors four ranks that
//! lock, put and unlock would otherwise pay two changes of processes for each operation.
//!
//! Turns are of the same length, about [`TURN`], whoever comes next: a rank that is awake at once leaves the lock to
//! whoever uses it for so long ([`Courtesy`]), and one that is not given a processor, perhaps as just those have it
//! that overtake it, is overtaken for so long: then they stand in line behind it, and let go of their processors
//! ([`Overtaking`]).

use std::time::{Duration, Instant};

use rwmpi_protocol::window::{Arrival, LockKind, Standing, Ticket};

use super::Window;
use super::control::{Control, Listed};
use super::line::{Held, Turn};
use crate::engine::JobEngine;

/// How long a turn is of a rank that locks again and again while others wait: some changes of processes.
const TURN: Duration = Duration::from_micros(100);
/// After so many looks at which nobody has used a turn since the look before, nobody does.
const LOOKS_OF_NO_USE: u32 = 3;
/// So many times it does so between two looks at the clock, each of which takes about as long as a lock.
const TIMES_A_LOOK: u32 = 16;

/// Whom a rank has overtaken last: how often, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overtaking {
    target: usize,
    number: u64,
    times: u32,
    since: Instant,
}

impl Overtaking {
    /// Once more, or first; `None`: it has been enough.
    fn again(last: Option<Overtaking>, target: usize, number: u64) -> Option<Overtaking> {
        let Some(last) = last.filter(|last| (last.target, last.number) == (target, number)) else {
            return Some(Overtaking { target, number, times: 1, since: Instant::now() });
        };
        let is_enough = last.times.is_multiple_of(TIMES_A_LOOK) && last.since.elapsed() > TURN;
        (!is_enough).then_some(Overtaking { times: last.times.wrapping_add(1), ..last })
    }
}

/// A rank whose turn has come leaves it to who uses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Courtesy {
    since: Instant,
    seen: Standing,
    unused: u32,
}

impl Courtesy {
    /// Whether it does so still, now that it sees this.
    fn goes_on(&mut self, seen: Standing) -> bool {
        self.unused = if seen.is_unused_since(self.seen) { self.unused + 1 } else { 0 };
        self.seen = seen;
        self.unused < LOOKS_OF_NO_USE && self.since.elapsed() < TURN
    }
}

impl Window {
    /// Takes the lock of a target in the place of the rank whose turn it is, if that sleeps.
    #[cold]
    pub(super) fn overtake(&self, control: &Control, target: usize, kind: LockKind) -> Option<()> {
        if kind != LockKind::Exclusive || !self.shared.is_oversubscribed {
            return None;
        }
        // All before that number have left, and its rank has yet to come: nobody has the lock.
        let number = control.line.all.load();
        let word = control.mapped(Listed::Named(number));
        let seen = Standing::read(word.load());
        let overtaken = seen.overtaken(number)?;
        let overtaking = Overtaking::again(self.shared.overtaking.get(), target, number)?;
        if !word.replace(seen.word(), overtaken.word()) {
            return None;
        }
        self.shared.overtaking.set(Some(overtaking));
        control.line.hint(Some(self.shared.own_peer));
        self.shared.held[target].set(Turn::Overtaken(number).into());
        Some(())
    }

    /// Gives the turn back to the rank that has `number`. Whoever has the lock next has seen its word change, and so
    /// what was done before.
    #[cold]
    pub(super) fn give_turn_back(&self, control: &Control, target: usize, number: u64) {
        self.shared.held[target].set(Held::default());
        control.line.hint(None);
        let word = control.mapped(Listed::Named(number));
        loop {
            let seen = Standing::read(word.load());
            let (given_back, is_awaited) = seen.given_back();
            if !word.replace(seen.word(), given_back.word()) {
                continue;
            }
            let rank = seen.rank_of(number).filter(|_| is_awaited);
            if let Some(target) = rank.and_then(|rank| self.shared.targets.get(rank)) {
                self.process().engine().wake(target.peer);
            }
            return;
        }
    }

    /// The turn of this rank has come, and it is awake: whether it has the lock, or else has to wait for who has
    /// overtaken it.
    pub(super) fn takes_turn(
        &self,
        engine: &mut JobEngine,
        control: &Control,
        ticket: Ticket,
        courtesy: &mut Option<Courtesy>,
    ) -> bool {
        let place = Listed::Named(ticket.number());
        let word = control.mapped(place);
        loop {
            let seen = Standing::read(word.load());
            if seen.may_be_overtaken() {
                let courtesy = courtesy.get_or_insert_with(|| Courtesy { since: Instant::now(), seen, unused: 0 });
                if courtesy.goes_on(seen) {
                    engine.stays_awake(control.gate(ticket.gate()), ticket.number());
                    return false;
                }
            }
            let next = match seen.arrive() {
                Arrival::HasTurn => return true,
                Arrival::IsOvertaken => return engine.has_word(control.awaited(place), seen.own().word(), 1, None),
                Arrival::Claims(next) | Arrival::Presses(next) => next,
            };
            word.replace(seen.word(), next.word());
        }
    }
}
