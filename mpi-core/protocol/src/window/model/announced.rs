//! Long accumulates, which change elements without atomic operations, beside short ones, which take no lock.
//!
//! A long one has the lock of the memory and announces itself; before it begins, no short one may be on its way. A
//! short one raises a flag and looks whether a long one is announced. If so, it goes under the lock, too. The
//! announcement outlasts the operation: so many short ones go under the lock before the last of them takes it back.
//!
//! What a rank stores, it sees at once, and others after a while, in order: there is a buffer between it and the
//! memory, which empties itself step by step, and at once by an atomic operation of the rank or a barrier that another
//! has put on its processor.

use std::collections::VecDeque;

use super::{Job, explore};

/// What is done otherwise than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    Nothing,
    /// Short ones don't look for announcements.
    DoesNotLook,
    /// A short one lowers its flag before it has changed its element.
    LowersEarly,
    /// A short one goes under the lock with its flag raised.
    KeepsFlag,
    /// Who announces itself goes on without a barrier.
    NoBarrier,
    /// It has one on its own processor alone.
    NoBarrierElsewhere,
    /// It has one on the others' processors first, and then on its own.
    OwnBarrierLast,
    /// It does not look at the flags of the others.
    DoesNotWait,
    /// The announcement is taken back before the last element has been changed.
    TakenBackEarly,
    /// A short one counts the announcement down when it has given back the lock.
    CountsDownOutside,
    /// Long ones take no lock.
    NoLock,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    /// On that element.
    Short(usize),
    /// On all.
    Long,
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Begins,
    Looks,
    Changes,
    Lowers,
    Retreats,
    Locks,
    ChangesLocked,
    CountsDown,
    Unlocks,
    Announces,
    Fences,
    Bars(usize),
    Awaits(usize),
    Reads(usize),
    Writes(usize, u64),
    TakesBack(u64),
    CountsDownOutside,
    Ends,
}

const ELEMENTS: usize = 2;

// The words; the flags of the ranks come last.
const LOCK: usize = ELEMENTS;
const ANNOUNCED: usize = ELEMENTS + 1;
const FLAGS: usize = ELEMENTS + 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Accumulating {
    broken: Broken,
    /// So many short ones go under the lock after a long one.
    patience: u64,
    programs: Vec<Vec<Act>>,
    at: Vec<At>,
    words: Vec<u64>,
    /// By rank: what it has stored, and others don't see yet.
    buffers: Vec<VecDeque<(usize, u64)>>,
    /// What the elements are to be in the end.
    expected: [u64; ELEMENTS],
}

impl Accumulating {
    fn new(programs: &[Vec<Act>], patience: u64, broken: Broken) -> Self {
        let ranks = programs.len();
        let mut job = Accumulating {
            broken,
            patience,
            programs: programs.to_vec(),
            at: vec![At::Begins; ranks],
            words: vec![0; FLAGS + ranks],
            buffers: vec![VecDeque::new(); ranks],
            expected: [0; ELEMENTS],
        };
        for (rank, program) in programs.iter().enumerate() {
            for (number, act) in program.iter().enumerate() {
                let changed = match *act {
                    Act::Short(element) => element..element + 1,
                    Act::Long => 0..ELEMENTS,
                };
                let amount = job.amount(rank, program.len() - number);
                job.expected[changed].iter_mut().for_each(|expected| *expected += amount);
            }
        }
        job
    }

    /// What an operation adds that has so many to come, itself among them: a bit of its own.
    fn amount(&self, rank: usize, to_come: usize) -> u64 {
        1 << (rank * 8 + to_come)
    }

    fn present_amount(&self, rank: usize) -> u64 {
        self.amount(rank, self.programs[rank].len())
    }

    fn load(&self, rank: usize, word: usize) -> u64 {
        let own = self.buffers[rank].iter().rev().find(|stored| stored.0 == word);
        own.map_or(self.words[word], |stored| stored.1)
    }

    fn store(&mut self, rank: usize, word: usize, value: u64) {
        self.buffers[rank].push_back((word, value));
    }

    /// The oldest of a rank's stores becomes visible, if there is any.
    fn drain_one(&mut self, rank: usize) -> bool {
        let oldest = self.buffers[rank].pop_front();
        oldest.into_iter().for_each(|(word, value)| self.words[word] = value);
        oldest.is_some()
    }

    fn drain(&mut self, rank: usize) {
        while self.drain_one(rank) {}
    }

    /// An atomic operation: all that its rank has stored before is visible, too.
    fn change(&mut self, rank: usize, word: usize, change: impl Fn(u64) -> u64) {
        self.drain(rank);
        self.words[word] = change(self.words[word]);
    }

    /// Tries to take the lock.
    fn lock(&mut self, rank: usize) -> bool {
        let is_free = self.load(rank, LOCK) == 0;
        if is_free {
            self.change(rank, LOCK, |_| 1);
        }
        is_free
    }

    fn short(&mut self, rank: usize, element: usize) -> Option<At> {
        let (at, amount, broken) = (self.at[rank], self.present_amount(rank), self.broken);
        Some(match at {
            At::Begins => {
                self.store(rank, FLAGS + rank, 1);
                At::Looks
            }
            At::Looks if self.load(rank, ANNOUNCED) == 0 || broken == Broken::DoesNotLook => match broken {
                Broken::LowersEarly => At::Lowers,
                _ => At::Changes,
            },
            At::Looks if broken == Broken::KeepsFlag => At::Locks,
            At::Looks => At::Retreats,
            At::Changes => {
                self.change(rank, element, |value| value + amount);
                if broken == Broken::LowersEarly { At::Ends } else { At::Lowers }
            }
            At::Lowers => {
                self.store(rank, FLAGS + rank, 0);
                if broken == Broken::LowersEarly { At::Changes } else { At::Ends }
            }
            At::Retreats => {
                self.store(rank, FLAGS + rank, 0);
                At::Locks
            }
            At::Locks if self.lock(rank) => At::ChangesLocked,
            At::ChangesLocked => {
                self.change(rank, element, |value| value + amount);
                if broken == Broken::CountsDownOutside { At::Unlocks } else { At::CountsDown }
            }
            At::CountsDown | At::CountsDownOutside => {
                let left = self.load(rank, ANNOUNCED).checked_sub(1);
                left.into_iter().for_each(|left| self.store(rank, ANNOUNCED, left));
                if at == At::CountsDown { At::Unlocks } else { At::Ends }
            }
            At::Unlocks => {
                self.change(rank, LOCK, |_| 0);
                match broken {
                    Broken::CountsDownOutside => At::CountsDownOutside,
                    Broken::KeepsFlag => At::Lowers,
                    _ => At::Ends,
                }
            }
            _ => return None,
        })
    }

    fn long(&mut self, rank: usize) -> Option<At> {
        let (at, amount, broken) = (self.at[rank], self.present_amount(rank), self.broken);
        let then = |next: usize, at: fn(usize) -> At, end: At, ends: usize| if next < ends { at(next) } else { end };
        let ranks = self.programs.len();
        Some(match at {
            At::Begins if broken == Broken::NoLock || self.lock(rank) => At::Announces,
            At::Announces => {
                let was_announced = self.load(rank, ANNOUNCED) > 0;
                self.store(rank, ANNOUNCED, self.patience);
                match broken {
                    _ if was_announced => At::Reads(0),
                    Broken::NoBarrier => At::Awaits(0),
                    Broken::OwnBarrierLast => At::Bars(0),
                    _ => At::Fences,
                }
            }
            At::Fences => {
                self.drain(rank);
                match broken {
                    Broken::NoBarrierElsewhere | Broken::OwnBarrierLast => At::Awaits(0),
                    _ => At::Bars(0),
                }
            }
            At::Bars(other) => {
                self.drain(other);
                let end = match broken {
                    Broken::DoesNotWait => At::Reads(0),
                    Broken::OwnBarrierLast => At::Fences,
                    _ => At::Awaits(0),
                };
                then(other + 1, At::Bars, end, ranks)
            }
            At::Awaits(other) if self.load(rank, FLAGS + other) == 0 => {
                then(other + 1, At::Awaits, At::Reads(0), ranks)
            }
            At::Reads(element) => {
                let value = self.load(rank, element);
                let is_last = element + 1 == ELEMENTS;
                if broken == Broken::TakenBackEarly && is_last {
                    At::TakesBack(value)
                } else {
                    At::Writes(element, value)
                }
            }
            At::TakesBack(value) => {
                self.store(rank, ANNOUNCED, 0);
                At::Writes(ELEMENTS - 1, value)
            }
            At::Writes(element, value) => {
                self.store(rank, element, value + amount);
                then(element + 1, At::Reads, At::Unlocks, ELEMENTS)
            }
            At::Unlocks => {
                self.change(rank, LOCK, |_| 0);
                At::Ends
            }
            _ => return None,
        })
    }

    /// Whether the elements are what they should be when nobody does anything any more.
    fn check(&self) -> Result<(), String> {
        let is_over = self.programs.iter().all(Vec::is_empty) && self.buffers.iter().all(VecDeque::is_empty);
        if is_over && self.words[..ELEMENTS] != self.expected {
            return Err(format!("a change is lost: {:x?} instead of {:x?}", &self.words[..ELEMENTS], self.expected));
        }
        Ok(())
    }
}

/// Every rank is two: itself, and its buffer.
impl Job for Accumulating {
    fn ranks(&self) -> usize {
        2 * self.programs.len()
    }

    fn is_done(&self, rank: usize) -> bool {
        let rank = rank / 2;
        self.programs[rank].is_empty() && self.buffers[rank].is_empty()
    }

    fn step(&mut self, rank: usize) -> Result<bool, String> {
        let (rank, is_buffer) = (rank / 2, rank % 2 == 1);
        if is_buffer {
            let has_moved = self.drain_one(rank);
            return self.check().map(|()| has_moved);
        }
        let next = match self.programs[rank].first() {
            None => None,
            Some(&Act::Short(element)) => self.short(rank, element),
            Some(Act::Long) => self.long(rank),
        };
        let Some(next) = next else { return Ok(false) };
        self.at[rank] = next;
        if next == At::Ends {
            self.programs[rank].remove(0);
            self.at[rank] = At::Begins;
        }
        self.check().map(|()| true)
    }
}

/// Small jobs in which long operations meet short ones, and each other.
fn jobs() -> Vec<Vec<Vec<Act>>> {
    use Act::{Long, Short};
    vec![
        vec![vec![Long], vec![Short(1)]],
        vec![vec![Long, Short(0)], vec![Short(1), Long]],
        vec![vec![Long, Long], vec![Short(0), Short(1)]],
        vec![vec![Short(0), Long], vec![Short(1), Short(1), Short(0)]],
        vec![vec![Long], vec![Long], vec![Short(1)]],
        vec![vec![Long], vec![Short(1)], vec![Short(1), Short(0)]],
        vec![vec![Long, Long], vec![Short(1)], vec![Short(1)]],
        vec![vec![Long, Short(1)], vec![Short(1), Long], vec![Short(1), Short(0)]],
    ]
}

fn states(broken: Broken) -> Result<usize, String> {
    let mut states = 0;
    for patience in [1, 2] {
        for job in jobs() {
            states += explore(Accumulating::new(&job, patience, broken))?;
        }
    }
    Ok(states)
}

#[test]
fn no_change_is_lost() {
    let states = states(Broken::Nothing).unwrap();
    assert!(states > 50_000, "only {states} states");
}

#[test]
fn what_is_broken_is_found_out() {
    for (broken, what) in [
        (Broken::DoesNotLook, "is lost"),
        (Broken::LowersEarly, "is lost"),
        (Broken::KeepsFlag, "nobody can go on"),
        (Broken::NoBarrier, "is lost"),
        (Broken::NoBarrierElsewhere, "is lost"),
        (Broken::OwnBarrierLast, "is lost"),
        (Broken::DoesNotWait, "is lost"),
        (Broken::TakenBackEarly, "is lost"),
        (Broken::CountsDownOutside, "is lost"),
        (Broken::NoLock, "is lost"),
    ] {
        let found = states(broken).expect_err("it is broken");
        assert!(found.contains(what), "{broken:?}: {found}");
    }
}
