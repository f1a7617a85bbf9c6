//! Random programs of one-sided operations in epochs of all kinds, and what their ranks may see of them.
//!
//! Every rank has some words of several types and places that all ranks change by the accumulate family, one at a time
//! or very many in one operation; and a word for each rank that only this one puts to. What operations have fetched
//! must fit into one order for each word. Half of the operations take the short way that calls from C take first, and
//! the general one if that is not for them.
#![allow(unsafe_code)]

mod history;

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::reduction::{Operation, Predefined};
use rwmpi_core::untyped::{Elements, Run, Runs};
use rwmpi_core::window::{LockKind, PackedBasic, Remote, RemotePlace, Window};
use rwmpi_core::{Destination, Info, Result, Universe};

use super::Check;
use history::{Step, check_counter, check_mixed, unit_of};

/// The checks of this suite.
pub const CHECKS: &[Check] = &[("random_operations_on_windows_are_atomic", random_operations_on_windows_are_atomic)];

const SEEDS: u64 = 3;
const ROUNDS: usize = 5;
const OPERATIONS: usize = 14;
/// So often a word is changed in a row, and the run of many, so that ranks meet there.
const TIMES: usize = 20;
const RUNS: usize = 3;

/// A window's memory: words on their own, a run of many, and words that are put to.
const ALONE: usize = 64;
const RUN: usize = 2500;
const PUT: usize = ALONE + 8 * RUN;
const RANKS_MAX: usize = 8;
const RAISED: usize = PUT + 8 * RANKS_MAX;
const SIZE: usize = RAISED + 8;

/// A word that all change: where it lies, and of which type it is.
struct Word {
    offset: usize,
    basic: Basic,
    is_counter: bool,
}

const WORDS: [Word; 7] = [
    Word { offset: 4, basic: Basic::Uint32, is_counter: false },
    Word { offset: 16, basic: Basic::Double, is_counter: false },
    // No operation of the processor reaches it.
    Word { offset: 33, basic: Basic::Uint64, is_counter: false },
    Word { offset: ALONE, basic: Basic::Uint64, is_counter: false },
    Word { offset: ALONE + 8 * 777, basic: Basic::Uint64, is_counter: false },
    Word { offset: ALONE + 8, basic: Basic::Uint64, is_counter: true },
    Word { offset: ALONE + 8 * (RUN - 1), basic: Basic::Uint64, is_counter: true },
];

/// Whether an operation on the run of many changes the word, and which element it is there.
fn place_in_run(word: &Word) -> Option<usize> {
    word.offset.checked_sub(ALONE).map(|offset| offset / 8)
}

#[derive(Clone, Copy, Debug)]
enum Epoch {
    Fence,
    Shared,
    Exclusive,
    All,
    Started,
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }
}

/// A rank at work.
struct Worker<'a> {
    window: &'a Window,
    random: Random,
    me: usize,
    size: usize,
    /// How many values it has made.
    made: u64,
    /// What it has done to words, in order; by target.
    steps: Vec<Vec<Step>>,
    /// What it has put last, and how often it has raised the word that needs a lock; by target.
    put: Vec<u64>,
    raised: Vec<u64>,
}

/// Elements of some words here.
fn elements(words: &mut [u64], count: usize, basic: Basic) -> Elements {
    assert!(count as u64 * basic.size() <= size_of_val(words) as u64);
    // SAFETY: the memory has these elements, and operations on windows have done with them when they return.
    unsafe { Elements::new(words.as_mut_ptr().cast(), count as u64, Datatype::basic(basic)) }
}

/// The bytes of one element here, for the short way.
fn bytes_of(word: &mut [u64; 1], basic: Basic) -> Runs {
    // SAFETY: as in `elements`; no element is longer.
    unsafe { Runs::new(word.as_mut_ptr().cast(), Run::packed(basic.size() as usize)) }
}

fn combined(operation: Predefined, basic: Basic, before: u64, operand: u64) -> u64 {
    let real = basic == Basic::Double;
    let (a, b) = (f64::from_bits(before), f64::from_bits(operand));
    match operation {
        Predefined::NoOperation => before,
        Predefined::Replace => operand,
        Predefined::Sum if real => (a + b).to_bits(),
        Predefined::Max if real => a.max(b).to_bits(),
        Predefined::Sum => before.wrapping_add(operand),
        Predefined::Max => before.max(operand),
        _ => unreachable!("no other operation is used"),
    }
}

impl Worker<'_> {
    /// A value for an element of that type that nobody else makes, or makes by a sum.
    fn value(&mut self, basic: Basic) -> u64 {
        self.made += 1;
        match basic {
            Basic::Uint32 => ((self.random.next() & 0xfff) << 20) | (self.made << 3) | self.me as u64,
            Basic::Double => ((self.random.next() >> 20) as f64).to_bits(),
            _ => self.random.next(),
        }
    }

    /// Does something to a word.
    fn change(&mut self, target: usize, number: usize) -> Result<()> {
        let Word { offset, basic, is_counter } = WORDS[number];
        let datatype = Datatype::basic(basic);
        let remote =
            Remote { rank: Destination::Rank(target), displacement: offset as i64, count: 1, datatype: &datatype };
        let operation = match self.random.below(4) {
            0 => Predefined::NoOperation,
            _ if is_counter => Predefined::Sum,
            1 if basic != Basic::Uint32 => Predefined::Sum,
            2 => Predefined::Max,
            _ => Predefined::Replace,
        };
        let mut operand = [if is_counter { unit_of(self.me) } else { self.value(basic) }];
        let mut fetched = [0];
        let (window, word) = (self.window, number as u64);
        let (short, there) = self.short(target, offset, basic);
        let swaps = !is_counter && basic != Basic::Double && self.random.below(4) == 0;
        if swaps {
            let seen = self.steps[target].iter().rev().find(|step| step.word == word);
            let mut compared = [seen.map_or(0, |step| step.after)];
            let three = [&mut operand, &mut compared, &mut fetched].map(|word| bytes_of(word, basic));
            if short.and_then(|_| window.compare_and_swap_element(three, there)).is_none() {
                let [value, expected] = [&mut operand, &mut compared].map(|words| elements(words, 1, basic));
                window.compare_and_swap(&value, &expected, &elements(&mut fetched, 1, basic), remote)?;
            }
            let after = if fetched == compared { operand[0] } else { fetched[0] };
            self.steps[target].push(Step { word, before: Some(fetched[0]), after });
            return Ok(());
        }
        let (origin, here) = (elements(&mut operand, 1, basic), bytes_of(&mut operand, basic));
        let change =
            |result| short.and_then(|packed| window.change_element(packed.change(operation)?, here, result, there));
        if is_counter && operation == Predefined::Sum && self.random.below(2) == 0 {
            if change(None).is_none() {
                window.accumulate(&origin, remote, &Operation::Predefined(operation))?;
            }
            self.steps[target].push(Step { word, before: None, after: operand[0] });
            return Ok(());
        }
        if change(Some(bytes_of(&mut fetched, basic))).is_none() {
            let result = elements(&mut fetched, 1, basic);
            window.get_accumulate(Some(&origin), &result, remote, &Operation::Predefined(operation))?;
        }
        self.remember(target, number, operation, fetched[0], operand[0]);
        Ok(())
    }

    /// What the short way of an operation on an element takes, if it is to be tried.
    fn short(&mut self, rank: usize, offset: usize, basic: Basic) -> (Option<PackedBasic>, RemotePlace) {
        let packed = PackedBasic::of(&Datatype::basic(basic)).filter(|_| !self.is_general());
        (packed, RemotePlace { rank, displacement: offset as i64 })
    }

    /// Whether the general way is to be taken at once.
    fn is_general(&mut self) -> bool {
        self.random.below(2) == 0
    }

    fn remember(&mut self, target: usize, number: usize, operation: Predefined, before: u64, operand: u64) {
        let Word { basic, is_counter, .. } = WORDS[number];
        let after = match (is_counter, operation) {
            (false, _) => combined(operation, basic, before, operand),
            (true, Predefined::Sum) => operand,
            (true, _) => 0,
        };
        self.steps[target].push(Step { word: number as u64, before: Some(before), after });
    }

    /// Does something to the run of many words in one operation.
    fn change_run(&mut self, target: usize) -> Result<()> {
        let basic = Basic::Uint64;
        let datatype = Datatype::basic(basic);
        let remote = Remote {
            rank: Destination::Rank(target),
            displacement: ALONE as i64,
            count: RUN as u64,
            datatype: &datatype,
        };
        let operation =
            [Predefined::NoOperation, Predefined::Sum, Predefined::Sum, Predefined::Max][self.random.below(4)];
        let fetches = operation != Predefined::Sum || self.random.below(2) == 0;
        let mut operands = vec![if operation == Predefined::Sum { unit_of(self.me) } else { 0 }; RUN];
        let (mut fetched, window) = (vec![0; RUN], self.window);
        for word in WORDS.iter().filter(|word| !word.is_counter) {
            // What is not fetched must not change what would have to be.
            let value = if fetches { self.value(basic) } else { 0 };
            place_in_run(word).into_iter().for_each(|place| operands[place] = value);
        }
        let (origin, known) = (elements(&mut operands, RUN, basic), Operation::Predefined(operation));
        if !fetches {
            window.accumulate(&origin, remote, &known)?;
            for (number, word) in WORDS.iter().enumerate().filter(|word| word.1.is_counter) {
                let after = operands[place_in_run(word).expect("counters are in the run")];
                self.steps[target].push(Step { word: number as u64, before: None, after });
            }
            return Ok(());
        }
        window.get_accumulate(Some(&origin), &elements(&mut fetched, RUN, basic), remote, &known)?;
        for (number, word) in WORDS.iter().enumerate() {
            if let Some(place) = place_in_run(word) {
                self.remember(target, number, operation, fetched[place], operands[place]);
            }
        }
        Ok(())
    }

    /// Puts to the word that is this rank's; where that is seen at once, looks whether it is.
    fn put(&mut self, target: usize, epoch: Epoch) -> Result<()> {
        let (window, datatype) = (self.window, Datatype::basic(Basic::Uint64));
        let rank = Destination::Rank(target);
        let remote = Remote { rank, displacement: (PUT + 8 * self.me) as i64, count: 1, datatype: &datatype };
        let mut value = [self.value(Basic::Uint64)];
        let (short, there) = self.short(target, PUT + 8 * self.me, Basic::Uint64);
        if short.and_then(|_| window.put_run(bytes_of(&mut value, Basic::Uint64), there)).is_none() {
            window.put(&elements(&mut value, 1, Basic::Uint64), remote)?;
        }
        self.put[target] = value[0];
        if let Epoch::Shared | Epoch::Exclusive | Epoch::All = epoch {
            let mut found = [0];
            if short.and_then(|_| window.flush_mapped(target)).is_none() {
                window.flush(rank)?;
            }
            if short.and_then(|_| window.get_run(bytes_of(&mut found, Basic::Uint64), there)).is_none() {
                window.get(&elements(&mut found, 1, Basic::Uint64), remote)?;
            }
            window.flush(rank)?;
            assert_eq!(found, value, "rank {} has got from {target} what it had not put last", self.me);
        }
        Ok(())
    }

    /// Reads a word, and puts back one more: for that a rank has to be alone.
    fn raise(&mut self, target: usize) -> Result<()> {
        let (window, datatype) = (self.window, Datatype::basic(Basic::Uint64));
        let rank = Destination::Rank(target);
        let remote = Remote { rank, displacement: RAISED as i64, count: 1, datatype: &datatype };
        let mut value = [0];
        window.get(&elements(&mut value, 1, Basic::Uint64), remote)?;
        window.flush(rank)?;
        value[0] += 1;
        window.put(&elements(&mut value, 1, Basic::Uint64), remote)?;
        self.raised[target] += 1;
        Ok(())
    }

    fn operate(&mut self, target: usize, epoch: Epoch) -> Result<()> {
        match self.random.below(10) {
            0 => (0..RUNS).try_for_each(|_| self.change_run(target)),
            1 => self.put(target, epoch),
            2 if matches!(epoch, Epoch::Exclusive) => self.raise(target),
            _ => {
                let number = self.random.below(WORDS.len());
                let times = if WORDS[number].is_counter { 1 } else { TIMES };
                (0..times).try_for_each(|_| self.change(target, number))
            }
        }
    }

    fn operate_on_any(&mut self, epoch: Epoch) -> Result<()> {
        for _ in 0..OPERATIONS {
            let target = self.random.below(self.size);
            self.operate(target, epoch)?;
        }
        Ok(())
    }

    fn round(&mut self, epoch: Epoch) -> Result<()> {
        let window = self.window;
        match epoch {
            Epoch::Fence => {
                window.fence(true)?;
                self.operate_on_any(epoch)?;
                window.fence(false)
            }
            Epoch::All => {
                if self.is_general() || window.lock_all_at_once().is_none() {
                    window.lock_all(false)?;
                }
                self.operate_on_any(epoch)?;
                if self.is_general() || window.unlock_all_at_once().is_none() {
                    window.unlock_all()?;
                }
                Ok(())
            }
            Epoch::Started => {
                let group = window.group();
                if self.is_general() || window.post_at_once(group).is_none() {
                    window.post(group)?;
                }
                if self.is_general() || window.start_at_once(group).is_none() {
                    window.start(group, false)?;
                }
                self.operate_on_any(epoch)?;
                if self.is_general() || window.complete_at_once().is_none() {
                    window.complete()?;
                }
                if self.is_general() || window.wait_at_once().is_none() {
                    window.wait()?;
                }
                Ok(())
            }
            Epoch::Shared | Epoch::Exclusive => {
                let kind = if let Epoch::Shared = epoch { LockKind::Shared } else { LockKind::Exclusive };
                for _ in 0..OPERATIONS / 2 {
                    let target = self.random.below(self.size);
                    if self.is_general() || window.lock_at_once(kind, target).is_none() {
                        window.lock(kind, Destination::Rank(target), false)?;
                    }
                    (0..2).try_for_each(|_| self.operate(target, epoch))?;
                    if self.is_general() || window.unlock_at_once(target).is_none() {
                        window.unlock(Destination::Rank(target))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// This rank's memory.
    fn own_memory(&self) -> Result<Vec<u8>> {
        let mut words = vec![0; SIZE / 8];
        let (rank, datatype) = (Destination::Rank(self.me), Datatype::basic(Basic::Byte));
        self.window.lock(LockKind::Exclusive, rank, false)?;
        let remote = Remote { rank, displacement: 0, count: SIZE as u64, datatype: &datatype };
        self.window.get(&elements(&mut words, SIZE, Basic::Byte), remote)?;
        self.window.unlock(rank)?;
        Ok(words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect())
    }
}

fn number(memory: &[u8], offset: usize, basic: Basic) -> u64 {
    let mut bytes = [0; 8];
    let size = basic.size() as usize;
    bytes[..size].copy_from_slice(&memory[offset..offset + size]);
    u64::from_ne_bytes(bytes)
}

/// Whether this rank's memory is what all have made of it, and they have seen what they may have.
fn check(universe: &Universe, worker: &Worker<'_>, how: &str) -> Result<()> {
    let world = universe.world();
    let (memory, me) = (worker.own_memory()?, worker.me);
    let told = (worker.steps.clone(), (worker.put.clone(), worker.raised.clone()));
    let mut by_rank = Vec::new();
    for (rank, (mut steps, (put, raised))) in world.allgather_values(&told)?.into_iter().enumerate() {
        assert_eq!(number(&memory, PUT + 8 * rank, Basic::Uint64), put[me], "{how}: rank {rank} has put that to {me}");
        by_rank.push((std::mem::take(&mut steps[me]), raised[me]));
    }
    for (word, Word { offset, basic, is_counter }) in WORDS.iter().enumerate() {
        let of_word = |steps: &Vec<Step>| steps.iter().copied().filter(|step| step.word == word as u64).collect();
        let steps: Vec<Vec<Step>> = by_rank.iter().map(|(steps, _)| of_word(steps)).collect();
        let last = number(&memory, *offset, *basic);
        let outcome = if *is_counter { check_counter(last, &steps) } else { check_mixed(0, last, &steps) };
        outcome.unwrap_or_else(|what| panic!("{how}: word {word} of rank {me}: {what}"));
    }
    let raised: u64 = by_rank.iter().map(|of_rank| of_rank.1).sum();
    assert_eq!(number(&memory, RAISED, Basic::Uint64), raised, "{how}: so often has the word of rank {me} been raised");
    world.barrier()
}

fn random_operations_on_windows_are_atomic(universe: &Universe) -> Result<()> {
    let world = universe.world();
    if world.size() > RANKS_MAX {
        return Ok(());
    }
    for seed in 1..=SEEDS {
        let is_allocated = seed % 2 == 1;
        let mut own = vec![0_u64; SIZE / 8];
        let made = match is_allocated {
            true => world.allocate_window(SIZE as u64, 1, &Info::new()),
            // SAFETY: the memory outlasts the window, and nobody uses it but by the window.
            false => unsafe { world.create_window(own.as_mut_ptr().cast(), SIZE as u64, 1, &Info::new()) },
        };
        let window = made?;
        let (me, size) = (world.rank(), world.size());
        let mut zeros = vec![0_u64; SIZE / 8];
        let (rank, datatype) = (Destination::Rank(me), Datatype::basic(Basic::Byte));
        window.fence(true)?;
        let remote = Remote { rank, displacement: 0, count: SIZE as u64, datatype: &datatype };
        window.put(&elements(&mut zeros, SIZE, Basic::Byte), remote)?;
        window.fence(false)?;
        let mut worker = Worker {
            window: &window,
            random: Random::new(seed << 8 | me as u64),
            me,
            size,
            made: 0,
            steps: vec![Vec::new(); size],
            put: vec![0; size],
            raised: vec![0; size],
        };
        let mut epochs = Random::new(seed);
        for round in 0..ROUNDS {
            let kinds = [Epoch::Fence, Epoch::Shared, Epoch::Exclusive, Epoch::All, Epoch::Started];
            let epoch = kinds[epochs.below(kinds.len())];
            worker.round(epoch)?;
            world.barrier()?;
            check(universe, &worker, &format!("seed {seed}, round {round}, {epoch:?}"))?;
        }
        window.free()?;
    }
    Ok(())
}
