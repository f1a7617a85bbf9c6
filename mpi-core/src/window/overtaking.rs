//! Exclusive locks that are taken ahead of a rank which has yet to wake up: see [`rwmpi_protocol::window::Waiter`].
//!
//! This happens only where ranks outnumber processors. Four ranks on two processors that lock, put and unlock would
//! otherwise pay two context switches for each operation.
//!
//! Every turn lasts about [`TURN`], so that shares are equal. A waiter that is awake leaves the lock for so long to the
//! ranks that use it ([`Courtesy`]). A waiter that gets no processor, perhaps because those ranks have it, is overtaken
//! for so long by each of them. Then they stand in line behind it, and free their processors ([`Overtaking`]).

use std::time::{Duration, Instant};

use rwmpi_protocol::window::{Arrival, LockKind, Ticket, Waiter};

use super::Window;
use super::control::{Control, Listed};
use super::line::{Held, Turn};
use crate::engine::JobEngine;

/// How long a rank that locks again and again may go on while others wait: several context switches.
const TURN: Duration = Duration::from_micros(100);
/// After so many looks without a change since the one before, a waiter takes it that nobody uses the lock.
const LOOKS_OF_NO_USE: u32 = 3;
/// A rank overtakes so many times between two looks at the clock, which take about as long as a lock each.
const TIMES_A_LOOK: u32 = 16;

/// The waiter that this rank has overtaken last: how often, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overtaking {
    target: usize,
    number: u64,
    times: u32,
    since: Instant,
}

impl Overtaking {
    /// One more time; `None`: its turn is over.
    fn again(last: Option<Overtaking>, target: usize, number: u64) -> Option<Overtaking> {
        let Some(last) = last.filter(|last| (last.target, last.number) == (target, number)) else {
            return Some(Overtaking { target, number, times: 1, since: Instant::now() });
        };
        let is_enough = last.times.is_multiple_of(TIMES_A_LOOK) && last.since.elapsed() > TURN;
        (!is_enough).then_some(Overtaking { times: last.times.wrapping_add(1), ..last })
    }
}

/// A waiter whose turn has come leaves the lock to the ranks that use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Courtesy {
    since: Instant,
    seen: Waiter,
    unused: u32,
}

impl Courtesy {
    /// Whether it still does, now that its word shows this.
    fn goes_on(&mut self, seen: Waiter) -> bool {
        self.unused = if seen.is_unused_since(self.seen) { self.unused + 1 } else { 0 };
        self.seen = seen;
        self.unused < LOOKS_OF_NO_USE && self.since.elapsed() < TURN
    }
}

impl Window {
    /// Takes the lock of a target in the place of the next rank in line, if that may be asleep.
    #[cold]
    pub(super) fn overtake(&self, control: &Control, target: usize, kind: LockKind) -> Option<()> {
        if kind != LockKind::Exclusive || !self.shared.is_oversubscribed {
            return None;
        }
        // All with smaller numbers have left, and this waiter has not claimed the lock: nobody has it.
        let number = control.line.all.load();
        let word = control.mapped(Listed::Named(number));
        let seen = Waiter::read(word.load());
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

    /// Gives the lock back to the waiter with `number`. The rank that has it next has seen the word change, and so all
    /// that was done before.
    #[cold]
    pub(super) fn give_turn_back(&self, control: &Control, target: usize, number: u64) {
        self.shared.held[target].set(Held::default());
        control.line.hint(None);
        let word = control.mapped(Listed::Named(number));
        loop {
            let seen = Waiter::read(word.load());
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

    /// Whether this rank, whose turn has come, has the lock now; otherwise it waits for those that have overtaken it.
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
            let seen = Waiter::read(word.load());
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
