//! The lock of one target, with ranks that sleep while they wait and are overtaken meanwhile.

use super::words::Words;
use super::{Job, explore};
use crate::window::LockKind::{self, Exclusive, Shared};
use crate::window::{Arrival, Gate, Ticket, Waiter};

/// What is done otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    Nothing,
    /// Who is next is looked up, and woken, before the gate is moved.
    WakesFirst,
    /// Whether anybody has come is looked at before the gate is moved.
    LooksAtLineFirst,
    /// No last look between saying that one sleeps, and sleeping.
    NoLastLook,
    /// Who waits says which number it has only after its last look.
    NamesItselfLate,
    /// The lock is given back while an operation is still on its way.
    LeavesEarly,
    /// Who was alone moves only the gate of those who want to be.
    ForgetsThoseWhoShare,
    /// Who wants the lock at once takes a number without a look at the gate.
    IgnoresGate,
    /// Who wants the lock at once takes the number that it has seen, though another has it by now.
    TakesTakenNumber,
    /// A waiter whose turn has come takes the lock without a look at whether it has been overtaken.
    EntersThoughOvertaken,
    /// A waiter is overtaken before its turn has come.
    OvertakesBeforeItsTurn,
    /// A rank gives the lock back as if the waiter had not pressed.
    ForgetsWhoPresses,
    /// A rank gives the lock to a waiter that presses, and does not wake it.
    LetsItSleep,
    /// A waiter that presses is overtaken once more.
    OvertakesWhoPresses,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Outside,
    /// Has seen which number is next: looks whether it would be its turn at once.
    HasSeenNext(u64),
    /// It would: takes that number, if it still is the next.
    TakesAtOnce(u64),
    TakesNumber,
    FirstLook,
    NamesItself,
    Looks,
    SaysThatItSleeps,
    LastLook,
    Sleeps,
    /// Moves the gates that are left to move; to which numbers others were moved; what comes then.
    Moves(Vec<Gate>, Vec<u64>, Box<At>),
    /// Could not have the lock at once: looks for a waiter to overtake.
    LooksForSleeper,
    /// Overtakes the waiter that has this number and has written this down.
    Overtakes(u64, Waiter),
    /// Has to give the lock back to the waiter with that number.
    GivesTurnBack(u64),
    /// Its turn has come.
    Arrives,
    /// Has moved gates to these numbers.
    LooksAtLine(Vec<u64>, Box<At>),
    LooksUp(Vec<u64>, Box<At>),
    Wakes(usize, Vec<u64>, Box<At>),
    /// Of a broken variant: looks whether anybody has come.
    LooksTooEarly(Vec<Gate>, Box<At>),
    /// Of broken variants: moves gates, and looks at nothing then.
    MovesBlindly(Vec<Gate>, Box<At>),
    Inside,
    HasIssued,
    Completed,
    HasLeft,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Locking {
    broken: Broken,
    words: Words,
    /// Who has which number: at the number modulo the number of ranks.
    named: Vec<u64>,
    /// Ranks outnumber processors.
    may_overtake: bool,
    /// By rank: the number of the waiter that it has overtaken.
    overtaken: Vec<Option<u64>>,
    sleeps: Vec<bool>,
    programs: Vec<Vec<LockKind>>,
    at: Vec<At>,
}

impl Locking {
    fn new(programs: &[Vec<LockKind>], may_overtake: bool, broken: Broken) -> Self {
        let ranks = programs.len();
        Locking {
            broken,
            words: Words::new(ranks),
            named: vec![0; ranks],
            may_overtake,
            overtaken: vec![None; ranks],
            sleeps: vec![false; ranks],
            programs: programs.to_vec(),
            at: vec![At::Outside; ranks],
        }
    }

    fn look_at_once(&mut self, rank: usize, next: u64) -> At {
        let kind = self.programs[rank][0];
        let shown = self.words.at(Ticket::new(next, kind).gate());
        let may = self.broken == Broken::IgnoresGate || Ticket::at_once(next, shown, kind).is_some();
        if may { At::TakesAtOnce(next) } else { self.not_at_once(rank) }
    }

    fn not_at_once(&self, rank: usize) -> At {
        let looks = self.may_overtake && self.programs[rank][0] == Exclusive;
        if looks { At::LooksForSleeper } else { At::TakesNumber }
    }

    fn look_for_sleeper(&mut self) -> At {
        let ahead = u64::from(self.broken == Broken::OvertakesBeforeItsTurn);
        let number = self.words.at(Gate::All) + ahead;
        let seen = Waiter::read(*self.word(number));
        let is_pressing = self.broken == Broken::OvertakesWhoPresses && matches!(seen.arrive(), Arrival::IsOvertaken);
        if seen.overtaken(number).is_some() || (is_pressing && seen.rank_of(number).is_some()) {
            At::Overtakes(number, seen)
        } else {
            At::TakesNumber
        }
    }

    fn overtake(&mut self, rank: usize, number: u64, seen: Waiter) -> Result<At, String> {
        if *self.word(number) != seen.word() {
            return Ok(At::TakesNumber);
        }
        *self.word(number) = seen.overtaken(number).unwrap_or(seen).word();
        self.overtaken[rank] = Some(number);
        self.words.overtake(rank)?;
        Ok(At::Inside)
    }

    fn give_turn_back(&mut self, rank: usize, number: u64) -> At {
        self.overtaken[rank] = None;
        self.words.give_turn_back(rank);
        let seen = Waiter::read(*self.word(number));
        let (mut given_back, is_awaited) = seen.given_back();
        let sleeper = seen.rank_of(number).expect("nobody has come after it");
        if self.broken == Broken::ForgetsWhoPresses {
            given_back = Waiter::new(number, sleeper, true);
        }
        *self.word(number) = given_back.word();
        let wakes = is_awaited && !matches!(self.broken, Broken::LetsItSleep | Broken::ForgetsWhoPresses);
        let then = Box::new(At::HasLeft);
        if wakes { At::Wakes(sleeper, Vec::new(), then) } else { At::HasLeft }
    }

    /// What is written down at a number.
    fn word(&mut self, number: u64) -> &mut u64 {
        let ranks = self.named.len();
        &mut self.named[number as usize % ranks]
    }

    /// Whether a rank that waits has anything to do: its turn has come, or whoever overtook it has given it back.
    fn has_news(&mut self, rank: usize) -> bool {
        let number = self.words.ticket(rank).number();
        let seen = Waiter::read(*self.word(number));
        let waits = seen.rank_of(number) == Some(rank) && seen.arrive() == Arrival::IsOvertaken;
        self.words.is_its_turn(rank) && !waits
    }

    fn arrive(&mut self, rank: usize) -> Result<At, String> {
        let number = self.words.ticket(rank).number();
        let seen = Waiter::read(*self.word(number));
        if seen.rank_of(number) != Some(rank) || self.broken == Broken::EntersThoughOvertaken {
            return self.enter(rank);
        }
        match seen.arrive() {
            Arrival::HasTurn => return self.enter(rank),
            Arrival::IsOvertaken => return Ok(At::Looks),
            Arrival::Claims(next) | Arrival::Presses(next) => *self.word(number) = next.word(),
        }
        Ok(At::Arrives)
    }

    fn take_at_once(&mut self, rank: usize, next: u64) -> Result<At, String> {
        let in_any_case = self.broken == Broken::TakesTakenNumber;
        match self.words.draw_if(rank, self.programs[rank][0], next, in_any_case) {
            true => self.enter(rank),
            false => Ok(self.not_at_once(rank)),
        }
    }

    fn enter(&mut self, rank: usize) -> Result<At, String> {
        let gates = self.words.enter(rank, self.programs[rank][0])?;
        Ok(self.open(gates, At::Inside))
    }

    fn leave(&mut self, rank: usize) -> At {
        let mut gates = self.words.leave(rank);
        if self.broken == Broken::ForgetsThoseWhoShare {
            gates.retain(|&gate| gate == Gate::All);
        }
        self.open(gates, At::HasLeft)
    }

    /// Moves these gates, wakes who has to be woken, and goes on.
    fn open(&mut self, gates: Vec<Gate>, then: At) -> At {
        let then = Box::new(then);
        match self.broken {
            _ if gates.is_empty() => *then,
            Broken::WakesFirst => {
                let numbers = gates.iter().map(|&gate| self.words.at(gate) + 1).collect();
                At::LooksUp(numbers, Box::new(At::MovesBlindly(gates, then)))
            }
            Broken::LooksAtLineFirst => At::LooksTooEarly(gates, then),
            _ => At::Moves(gates, Vec::new(), then),
        }
    }

    fn move_gate(&mut self, mut gates: Vec<Gate>, mut moved: Vec<u64>, then: Box<At>) -> At {
        if gates.is_empty() {
            return At::LooksAtLine(moved, then);
        }
        moved.push(self.words.advance(gates.remove(0)));
        At::Moves(gates, moved, then)
    }

    fn look_up(&self, mut numbers: Vec<u64>, then: Box<At>) -> At {
        if numbers.is_empty() {
            return *then;
        }
        let number = numbers.remove(0);
        let word = self.named[number as usize % self.named.len()];
        match Waiter::read(word).rank_of(number) {
            Some(next) => At::Wakes(next, numbers, then),
            None => At::LooksUp(numbers, then),
        }
    }

    fn name(&mut self, rank: usize) {
        let number = self.words.ticket(rank).number();
        *self.word(number) = Waiter::new(number, rank, self.may_overtake).word();
    }
}

impl Job for Locking {
    fn ranks(&self) -> usize {
        self.programs.len()
    }

    fn is_done(&self, rank: usize) -> bool {
        self.programs[rank].is_empty()
    }

    fn step(&mut self, rank: usize) -> Result<bool, String> {
        let names_itself_late = self.broken == Broken::NamesItselfLate;
        let next = match self.at[rank].clone() {
            At::Outside => At::HasSeenNext(self.words.next()),
            At::HasSeenNext(next) => self.look_at_once(rank, next),
            At::TakesAtOnce(next) => self.take_at_once(rank, next)?,
            At::TakesNumber => {
                self.words.draw(rank, self.programs[rank][0]);
                At::FirstLook
            }
            At::FirstLook | At::Looks | At::LastLook if self.has_news(rank) => {
                self.sleeps[rank] = false;
                At::Arrives
            }
            At::Arrives => self.arrive(rank)?,
            At::LooksForSleeper => self.look_for_sleeper(),
            At::Overtakes(number, seen) => self.overtake(rank, number, seen)?,
            At::GivesTurnBack(number) => self.give_turn_back(rank, number),
            At::FirstLook if names_itself_late => At::Looks,
            At::FirstLook => At::NamesItself,
            At::NamesItself => {
                self.name(rank);
                if names_itself_late { At::Sleeps } else { At::Looks }
            }
            At::Looks => At::SaysThatItSleeps,
            At::SaysThatItSleeps => {
                self.sleeps[rank] = true;
                if self.broken == Broken::NoLastLook { At::Sleeps } else { At::LastLook }
            }
            At::LastLook if names_itself_late => At::NamesItself,
            At::LastLook => At::Sleeps,
            At::Sleeps if self.sleeps[rank] => return Ok(false),
            At::Sleeps => At::Looks,
            At::Moves(gates, moved, then) => self.move_gate(gates, moved, then),
            At::LooksAtLine(_, then) if self.words.is_last(rank) => *then,
            At::LooksAtLine(numbers, then) => At::LooksUp(numbers, then),
            At::LooksUp(numbers, then) => self.look_up(numbers, then),
            At::Wakes(next, numbers, then) => {
                self.sleeps[next] = false;
                At::LooksUp(numbers, then)
            }
            At::LooksTooEarly(gates, then) if self.words.is_last(rank) => At::MovesBlindly(gates, then),
            At::LooksTooEarly(gates, then) => At::Moves(gates, Vec::new(), then),
            At::MovesBlindly(mut gates, then) => {
                self.words.advance(gates.remove(0));
                if gates.is_empty() { *then } else { At::MovesBlindly(gates, then) }
            }
            At::Inside => {
                self.words.in_flight.push(rank);
                At::HasIssued
            }
            At::HasIssued if self.broken == Broken::LeavesEarly => self.leave(rank),
            At::HasIssued => {
                self.words.complete(rank);
                At::Completed
            }
            At::Completed => match self.overtaken[rank] {
                Some(number) => At::GivesTurnBack(number),
                None => self.leave(rank),
            },
            At::HasLeft => {
                self.words.complete(rank);
                self.programs[rank].remove(0);
                At::Outside
            }
        };
        self.at[rank] = next;
        Ok(true)
    }
}

/// All jobs of so many ranks that lock so often.
fn jobs(ranks: u32, times: u32) -> impl Iterator<Item = Vec<Vec<LockKind>>> {
    let kind = |bits: u32, place: u32| if bits >> place & 1 == 0 { Shared } else { Exclusive };
    let program = move |bits: u32, rank: u32| (0..times).map(|time| kind(bits, rank * times + time)).collect();
    (0..1 << (ranks * times)).map(move |bits| (0..ranks).map(|rank| program(bits, rank)).collect())
}

fn states(ranks: u32, times: u32, may_overtake: bool, broken: Broken) -> Result<usize, String> {
    jobs(ranks, times).try_fold(0, |states, job| Ok(states + explore(Locking::new(&job, may_overtake, broken))?))
}

#[test]
fn locks_are_exclusive_fair_and_never_lost() {
    for (ranks, times) in [(2, 2), (3, 1)] {
        for may_overtake in [false, true] {
            let states = states(ranks, times, may_overtake, Broken::Nothing).unwrap();
            assert!(states > 1000, "only {states} states of {ranks} ranks");
        }
    }
}

#[test]
fn what_is_broken_is_found_out() {
    for (broken, what) in [
        (Broken::WakesFirst, "nobody can go on"),
        (Broken::LooksAtLineFirst, "nobody can go on"),
        (Broken::NoLastLook, "nobody can go on"),
        (Broken::NamesItselfLate, "nobody can go on"),
        (Broken::LeavesEarly, "on its way"),
        (Broken::ForgetsThoseWhoShare, "nobody can go on"),
        (Broken::IgnoresGate, "overtaken"),
        (Broken::TakesTakenNumber, "overtaken"),
    ] {
        let found = states(2, 2, false, broken).expect_err("it is broken");
        assert!(found.contains(what), "{broken:?}: {found}");
    }
}

#[test]
fn broken_overtaking_is_found_out() {
    for (broken, what) in [
        (Broken::EntersThoughOvertaken, "not alone"),
        (Broken::OvertakesBeforeItsTurn, "not alone"),
        (Broken::ForgetsWhoPresses, "nobody can go on"),
        (Broken::LetsItSleep, "nobody can go on"),
        (Broken::OvertakesWhoPresses, "not alone"),
    ] {
        // One has the lock, one waits, one overtakes it, and the first comes once more.
        let programs = [vec![Exclusive; 2], vec![Exclusive], vec![Exclusive]];
        let found = explore(Locking::new(&programs, true, broken)).expect_err("it is broken");
        assert!(found.contains(what), "{broken:?}: {found}");
    }
}
