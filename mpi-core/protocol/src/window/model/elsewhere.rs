//! The lock of a target that ranks of other nodes ask for by messages, beside one of its own node that uses the words.
//!
//! What a rank elsewhere asks for comes to the target in order, and is done when the target makes progress. Whose turn
//! it is not yet stands in line, and the target looks at the gates again whenever it has served something or was woken.

use std::collections::VecDeque;

use super::words::Words;
use super::{Job, explore};
use crate::window::Gate;
use crate::window::LockKind::{self, Exclusive, Shared};

/// What is done otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    Nothing,
    /// Unlocking is served before operations that came earlier.
    UnlockOvertakes,
    /// Who asks for the lock is answered at once.
    AnswersEarly,
    /// The target waits for the turn of who asks, and serves nobody meanwhile.
    WaitsInService,
    /// The target does not write down that it is to be woken.
    NamesNobody,
    /// After it has been woken, the target does not look at its line.
    ForgetsItsLine,
}

/// What the target is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Lock(LockKind),
    Write,
    Unlock,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Outside,
    /// Waits for an answer.
    Awaits,
    Inside,
    Written,
    /// Of the rank that uses the words: looks at its gate; moves gates, others of which it has moved to these numbers;
    /// looks whether anybody has come; looks up who has the numbers.
    Looks,
    Moves(Vec<Gate>, Vec<u64>, Box<At>),
    LooksAtLine(Vec<u64>, Box<At>),
    LooksUp(Vec<u64>, Box<At>),
    HasLeft,
}

/// Ranks `0..` are elsewhere, then comes the one that uses the words, then the target, which has nothing else to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Serving {
    broken: Broken,
    words: Words,
    /// The number for which the target is to be woken.
    named: Vec<u64>,
    is_awake: bool,
    programs: Vec<Vec<LockKind>>,
    at: Vec<At>,
    /// What has been sent and not served.
    requests: Vec<VecDeque<Request>>,
    /// Who stands in line at the target.
    line: Vec<usize>,
}

impl Serving {
    fn new(programs: &[Vec<LockKind>], broken: Broken) -> Self {
        let ranks = programs.len();
        Serving {
            broken,
            words: Words::new(ranks),
            named: Vec::new(),
            is_awake: true,
            programs: programs.to_vec(),
            at: vec![At::Outside; ranks],
            requests: vec![VecDeque::new(); ranks - 1],
            line: Vec::new(),
        }
    }

    fn enter(&mut self, rank: usize) -> Result<Vec<Gate>, String> {
        self.words.enter(rank, self.programs[rank][0])
    }

    /// Moves all of these gates at once: who serves does nothing in between.
    fn advance_all(&mut self, gates: Vec<Gate>) {
        gates.into_iter().for_each(|gate| _ = self.words.advance(gate));
    }

    /// The next step of a rank that is elsewhere.
    fn ask(&mut self, rank: usize) -> Result<bool, String> {
        let (request, next) = match self.at[rank] {
            At::Outside => (Request::Lock(self.programs[rank][0]), At::Awaits),
            At::Inside => {
                self.words.in_flight.push(rank);
                (Request::Write, At::Written)
            }
            At::Written => (Request::Unlock, At::Awaits),
            _ => return Ok(false),
        };
        self.requests[rank].push_back(request);
        self.at[rank] = next;
        self.is_awake = true;
        Ok(true)
    }

    /// The next step of the rank that uses the words.
    fn use_words(&mut self, rank: usize) -> Result<bool, String> {
        self.at[rank] = match self.at[rank].clone() {
            At::Outside => {
                self.words.draw(rank, self.programs[rank][0]);
                At::Looks
            }
            At::Looks if self.words.is_its_turn(rank) => At::Moves(self.enter(rank)?, vec![], Box::new(At::Inside)),
            At::Inside => At::Moves(self.words.leave(rank), vec![], Box::new(At::HasLeft)),
            At::HasLeft => {
                self.programs[rank].remove(0);
                At::Outside
            }
            At::Moves(mut gates, mut moved, then) if !gates.is_empty() => {
                moved.push(self.words.advance(gates.remove(0)));
                At::Moves(gates, moved, then)
            }
            At::Moves(_, moved, then) => At::LooksAtLine(moved, then),
            At::LooksAtLine(_, then) if self.words.is_last(rank) => *then,
            At::LooksAtLine(numbers, then) => At::LooksUp(numbers, then),
            At::LooksUp(numbers, then) => {
                self.is_awake |= numbers.iter().any(|number| self.named.contains(number));
                *then
            }
            _ => return Ok(false),
        };
        Ok(true)
    }

    /// The next step of the target: one request, or a look at its line, or it falls asleep.
    fn serve(&mut self) -> Result<bool, String> {
        if self.broken != Broken::ForgetsItsLine && self.serve_line()? {
            return Ok(true);
        }
        let is_held_up = self.broken == Broken::WaitsInService && !self.line.is_empty();
        let asking = (0..self.requests.len()).find(|&rank| !self.requests[rank].is_empty());
        if let Some(rank) = asking.filter(|_| !is_held_up) {
            self.serve_request(rank)?;
            return Ok(true);
        }
        // The last look was this one: who moves a gate after it finds what was written down before.
        Ok(std::mem::take(&mut self.is_awake))
    }

    fn serve_line(&mut self) -> Result<bool, String> {
        let Some(place) = (0..self.line.len()).find(|&place| self.words.is_its_turn(self.line[place])) else {
            return Ok(false);
        };
        let rank = self.line.remove(place);
        let gates = self.enter(rank)?;
        self.advance_all(gates);
        self.at[rank] = At::Inside;
        Ok(true)
    }

    fn serve_request(&mut self, rank: usize) -> Result<(), String> {
        let overtakes = self.broken == Broken::UnlockOvertakes && self.requests[rank].contains(&Request::Unlock);
        let request = if overtakes { self.requests[rank].pop_back() } else { self.requests[rank].pop_front() };
        match request {
            Some(Request::Lock(kind)) => {
                let ticket = self.words.draw(rank, kind);
                if self.broken != Broken::NamesNobody {
                    self.named.push(ticket.number());
                }
                if self.broken == Broken::AnswersEarly {
                    self.enter(rank)?;
                    self.at[rank] = At::Inside;
                } else {
                    self.line.push(rank);
                    // Without a look of its own only who moves a gate gives it the lock.
                    if self.broken == Broken::ForgetsItsLine {
                        self.serve_line()?;
                    }
                }
            }
            Some(Request::Write) => self.words.complete(rank),
            Some(Request::Unlock) => {
                let gates = self.words.leave(rank);
                self.advance_all(gates);
                self.programs[rank].remove(0);
                self.at[rank] = At::Outside;
            }
            None => {}
        }
        Ok(())
    }
}

impl Job for Serving {
    fn ranks(&self) -> usize {
        self.programs.len() + 1
    }

    fn is_done(&self, rank: usize) -> bool {
        let is_over = |rank: usize| self.programs[rank].is_empty();
        if rank < self.programs.len() { is_over(rank) } else { (0..self.programs.len()).all(is_over) }
    }

    fn step(&mut self, rank: usize) -> Result<bool, String> {
        let near = self.programs.len() - 1;
        match rank {
            _ if rank < near => self.ask(rank),
            _ if rank == near => self.use_words(rank),
            // Asleep it does nothing.
            _ if !self.is_awake => Ok(false),
            _ => self.serve(),
        }
    }
}

fn states(programs: &[usize], broken: Broken) -> Result<usize, String> {
    let locks: usize = programs.iter().sum();
    (0..1_u32 << locks).try_fold(0, |states, bits| {
        let mut kinds = (0..locks).map(|place| if bits >> place & 1 == 0 { Shared } else { Exclusive });
        let job: Vec<Vec<LockKind>> = programs.iter().map(|&len| kinds.by_ref().take(len).collect()).collect();
        Ok(states + explore(Serving::new(&job, broken))?)
    })
}

#[test]
fn locks_from_elsewhere_are_exclusive_fair_and_never_lost() {
    for programs in [[1, 1, 1], [2, 1, 1], [1, 1, 2]] {
        let states = states(&programs, Broken::Nothing).unwrap();
        assert!(states > 1000, "only {states} states of {programs:?}");
    }
}

#[test]
fn what_is_broken_is_found_out() {
    for (broken, what) in [
        (Broken::UnlockOvertakes, "on its way"),
        (Broken::AnswersEarly, "overtaken"),
        (Broken::WaitsInService, "nobody can go on"),
        (Broken::NamesNobody, "nobody can go on"),
        (Broken::ForgetsItsLine, "nobody can go on"),
    ] {
        let found = states(&[2, 1, 1], broken).expect_err("it is broken");
        assert!(found.contains(what), "{broken:?}: {found}");
    }
}
