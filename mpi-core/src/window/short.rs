//! The short way of operations: on bytes that lie side by side, here and in memory of the target that this process has
//! mapped.
//!
//! They come without datatypes, and nothing is cloned. What is out of the ordinary in any way is `None`, and has not
//! been done: then the other way does it, or says what is wrong. Both do the same to an element.

use rwmpi_transport::{AtomicWord, ElementLock, WriteSpan};

use super::Window;
use super::element::Change;
use super::packed_basic::PackedBasic;
use super::target::Target;
use crate::reduction::Predefined;
use crate::untyped::Runs;

/// Bytes that an operation names at its target.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRun {
    /// Whose memory; it need not be a rank of the window.
    pub rank: usize,
    /// In units of the target's.
    pub displacement: i64,
    /// How many, from there.
    pub bytes: usize,
}

impl Window {
    /// As [`Window::put`].
    #[inline(always)]
    pub fn put_run(&self, origin: Runs, remote: RemoteRun) -> Option<()> {
        copy(origin.block(0), self.mapped_run(remote)?.0)
    }

    /// As [`Window::get`].
    #[inline(always)]
    pub fn get_run(&self, origin: Runs, remote: RemoteRun) -> Option<()> {
        copy(self.mapped_run(remote)?.0, origin.block(0))
    }

    /// As [`Window::accumulate`] and [`Window::get_accumulate`] of one element, if the processor can do it. As many
    /// bytes are named everywhere.
    #[inline(always)]
    pub fn change_element(
        &self,
        operation: Predefined,
        element: PackedBasic,
        origin: Runs,
        result: Option<Runs>,
        remote: RemoteRun,
    ) -> Option<()> {
        let is_for_others = operation == Predefined::NoOperation && result.is_none();
        if is_for_others || remote.bytes != element.bytes_of_one() || !element.supports(operation) {
            return None;
        }
        let (there, lock) = self.mapped_element(remote)?;
        let change = Change { operation, basic: element.basic() };
        let (operand, result) = (origin.block(0), result.map(|result| result.block(0)));
        let perform = |word: AtomicWord<'_>| {
            let operand = operand.as_read().number();
            let before = lock.change(word, |word| change.on_word(word, operand));
            result.into_iter().for_each(|result| result.set_number(before));
        };
        each_length(there, perform)
    }

    /// As [`Window::compare_and_swap`], if the processor can do it. As many bytes are named everywhere.
    #[inline(always)]
    pub fn compare_and_swap_element(
        &self,
        element: PackedBasic,
        [value, compared, fetched]: [Runs; 3],
        remote: RemoteRun,
    ) -> Option<()> {
        if remote.bytes != element.bytes_of_one() || !element.can_be_compared() {
            return None;
        }
        let (there, lock) = self.mapped_element(remote)?;
        let [value, compared, fetched] = [value, compared, fetched].map(|runs| runs.block(0));
        each_length(there, |word| {
            let (value, compared) = (value.as_read().number(), compared.as_read().number());
            fetched.set_number(lock.change(word, |word| word.compare_exchange(compared, value)));
        })
    }

    /// Where this process has the bytes that an operation names, if it may use them now.
    #[inline(always)]
    fn mapped_run(&self, RemoteRun { rank, displacement, bytes }: RemoteRun) -> Option<(WriteSpan<'static>, &Target)> {
        let target = self.shared.targets.get(rank)?;
        // What is negative is a number beyond all memory here.
        let start = displacement.checked_mul(target.unit)?.cast_unsigned() as usize;
        let there = target.mapped.part_within(start, bytes)?;
        let is_open = bytes > 0 && self.is_open_to(rank);
        is_open.then_some((there, target))
    }

    /// The same of an element, if elements there are changed by the processor, should they be aligned.
    #[inline(always)]
    fn mapped_element(&self, remote: RemoteRun) -> Option<(WriteSpan<'static>, &ElementLock)> {
        let (there, target) = self.mapped_run(remote)?;
        let lock = target.memory.as_ref()?.lock();
        if lock.is_for_all() { None } else { Some((there, lock)) }
    }

    /// Whether an operation on a target is legal; if so, it is taken to be done.
    #[inline(always)]
    fn is_open_to(&self, rank: usize) -> bool {
        // In most epochs an operation changes nothing.
        let is_open = self.shared.epochs.borrow().is_open_to(rank);
        is_open || self.operate(rank).is_ok()
    }

    /// As [`Window::flush`], if a fence is all that it takes. `rank` need not be one of the window's.
    #[inline(always)]
    pub fn flush_mapped(&self, rank: usize) -> Option<()> {
        let is_one = rank < self.shared.targets.len() && self.shared.elsewhere.is_none();
        if !is_one || !self.shared.epochs.borrow().is_locked(rank) {
            return None;
        }
        self.order();
        Some(())
    }
}

/// Copies as many bytes as there are room for, if they are as many. What fits into one store is one: programs look for
/// flags that others put.
#[inline(always)]
fn copy(from: WriteSpan<'_>, into: WriteSpan<'_>) -> Option<()> {
    match (from.len(), into.len()) {
        (8, 8) | (4, 4) => into.set_number(from.as_read().number()),
        (len, room) if len == room => from.as_read().copy_long_to(into),
        _ => return None,
    }
    Some(())
}

/// Performs something on an element of which the processor changes as many bytes in one step: written once for each
/// usual length, so that nothing in it has to find out how long the element is.
#[inline(always)]
fn each_length(element: WriteSpan<'_>, perform: impl Fn(AtomicWord<'_>)) -> Option<()> {
    match element.len() {
        8 => perform(element.part_within(0, 8)?.word()?),
        4 => perform(element.part_within(0, 4)?.word()?),
        _ => perform(element.word()?),
    }
    Some(())
}
