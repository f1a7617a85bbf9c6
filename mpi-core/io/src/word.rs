//! The shared file pointer: a word that all ranks see, changed in one step.
//!
//! There are two. The pointer is one of them, and which one changes whenever all ranks set it together: the first rank
//! sets the other one before it meets the rest. When they have met nobody uses the old word any more, so one meeting is
//! enough.
//!
//! Invariants: the word that is not the pointer is written by the first rank alone; the window of both stays until all
//! ranks have left it, and for good if nobody knows that they have.
#![allow(unsafe_code)]

use std::cell::Cell;

use rwmpi_core::datatype::{Basic, Datatype};
use rwmpi_core::reduction::{Operation, Predefined};
use rwmpi_core::untyped::Elements;
use rwmpi_core::window::{LockKind, Remote, Window};
use rwmpi_core::{Communicator, Destination, Info, Result};

const WORDS: usize = 2;
/// A rank that has not opened the file brings so many bytes more.
const NOT_OPEN: u64 = 64;

/// The two words.
pub(crate) struct Word {
    memory: Memory,
    /// Which of them is the pointer: the same at all ranks.
    present: Cell<usize>,
    /// Whether nobody uses the window any more.
    is_left: Cell<bool>,
}

impl Drop for Word {
    fn drop(&mut self) {
        if let (Memory::Window(window), false) = (&self.memory, self.is_left.get()) {
            std::mem::forget(window.clone());
        }
    }
}

enum Memory {
    /// Of a file that one rank has alone.
    Own([Cell<i64>; WORDS]),
    /// In the memory of the first rank.
    Window(Window),
}

impl Word {
    /// That of a new file, whose communicator is its own; `None` at all ranks if one of them has not opened the file.
    /// Collective: one exchange.
    ///
    /// # Errors
    /// One of the ranks has no memory for it, or the ranks could not tell each other.
    pub(crate) fn new(communicator: &Communicator, is_open: bool) -> Result<Option<Word>> {
        let (words, unit) = ((WORDS * size_of::<i64>()) as u64, size_of::<i64>() as i64);
        if communicator.size() == 1 {
            return Ok(is_open.then(|| Word::of(Memory::Own(Default::default()))));
        }
        // What a rank asks for says whether it has opened the file, so that nobody has to ask.
        let size = if communicator.rank() == 0 { words } else { 0 };
        let size = if is_open { size } else { size + NOT_OPEN };
        let window = communicator.allocate_private_window(size, unit, &Info::new())?;
        let all_are_open = window.sizes().all(|size| size < NOT_OPEN);
        let word = Word::of(Memory::Window(window));
        if all_are_open { Ok(Some(word)) } else { word.free().map(|()| None) }
    }

    fn of(memory: Memory) -> Word {
        Word { memory, present: 0.into(), is_left: false.into() }
    }

    /// Lets go of it. Collective.
    pub(crate) fn free(&self) -> Result<()> {
        match &self.memory {
            Memory::Window(window) => window.free().map(|()| self.is_left.set(true)),
            Memory::Own(_) => Ok(()),
        }
    }

    /// The same where the job goes on when ranks die, when all that live have come here. Whether they have; `None`: the
    /// job ends with the first death. Collective.
    pub(crate) fn left_by_all(&self) -> Option<bool> {
        let Memory::Window(window) = &self.memory else { return None };
        let left = window.left_by_all();
        self.is_left.set(left == Some(true));
        left
    }

    /// Adds to the pointer. Returns what it was.
    pub(crate) fn advance(&self, by: i64) -> Result<i64> {
        self.change(self.present.get(), Predefined::Sum, by)
    }

    /// The pointer.
    pub(crate) fn value(&self) -> Result<i64> {
        self.change(self.present.get(), Predefined::NoOperation, 0)
    }

    /// By the first rank, before all meet: what the pointer will be once [`Word::turn`] has been called.
    pub(crate) fn prepare(&self, value: i64) -> Result<()> {
        self.change(1 - self.present.get(), Predefined::Replace, value).map(drop)
    }

    /// By all, after they have met.
    pub(crate) fn turn(&self) {
        self.present.set(1 - self.present.get());
    }

    fn change(&self, number: usize, operation: Predefined, operand: i64) -> Result<i64> {
        match &self.memory {
            Memory::Own(words) => {
                let before = words[number].get();
                words[number].set(match operation {
                    Predefined::Sum => before.wrapping_add(operand),
                    Predefined::Replace => operand,
                    _ => before,
                });
                Ok(before)
            }
            Memory::Window(window) => change_in_window(window, number, operation, operand),
        }
    }
}

fn change_in_window(window: &Window, number: usize, operation: Predefined, operand: i64) -> Result<i64> {
    let datatype = Datatype::basic(Basic::Int64);
    let (mut operand, mut before) = (operand, 0_i64);
    // SAFETY: both are valid for reads and writes during the calls below, which have completed when they return.
    let elements = |word: &mut i64| unsafe { Elements::new(std::ptr::from_mut(word).cast(), 1, datatype.clone()) };
    let (operand, fetched) = (elements(&mut operand), elements(&mut before));
    let first = Destination::Rank(0);
    let remote = Remote { rank: first, displacement: number as i64, count: 1, datatype: &datatype };
    // Nobody locks it alone.
    window.lock(LockKind::Shared, first, true)?;
    let outcome = window.get_accumulate(Some(&operand), &fetched, remote, &Operation::Predefined(operation));
    window.unlock(first)?;
    outcome?;
    drop((operand, fetched));
    Ok(before)
}
