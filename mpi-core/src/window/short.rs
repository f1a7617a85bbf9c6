//! The short way of operations: on bytes that lie side by side, here and in memory of the target that this process has
//! mapped.
//!
//! They come without datatypes, and nothing is cloned. What is out of the ordinary in any way is `None`, and has not
//! been done: then the other way does it, or says what is wrong. Both do the same to an element.

use rwmpi_transport::{AtomicWord, ElementLock, WriteSpan};

use super::Window;
use super::element::{Change, Step};
use super::packed_basic::ElementChange;
use super::target::Target;
use crate::untyped::Runs;

/// Where the bytes begin that an operation names at its target: as many as it has here.
#[derive(Clone, Copy, Debug)]
pub struct RemotePlace {
    /// Whose memory; it need not be a rank of the window.
    pub rank: usize,
    /// In units of the target's.
    pub displacement: i64,
}

impl Window {
    /// As [`Window::put`].
    #[inline(always)]
    pub fn put_run(&self, origin: Runs, remote: RemotePlace) -> Option<()> {
        let origin = origin.block(0);
        if origin.is_empty() {
            return None;
        }
        copy(origin, self.mapped_run(remote, origin.len())?.0)
    }

    /// As [`Window::get`].
    #[inline(always)]
    pub fn get_run(&self, origin: Runs, remote: RemotePlace) -> Option<()> {
        let origin = origin.block(0);
        if origin.is_empty() {
            return None;
        }
        copy(self.mapped_run(remote, origin.len())?.0, origin)
    }

    /// As [`Window::accumulate`] and [`Window::get_accumulate`] of one element, if the processor can do it: as many
    /// bytes as the element has are named everywhere.
    #[inline(always)]
    pub fn change_element(
        &self,
        element: ElementChange,
        origin: Runs,
        result: Option<Runs>,
        remote: RemotePlace,
    ) -> Option<()> {
        let ElementChange { step, change } = element;
        let is_for_others = step == Step::Load && result.is_none();
        if is_for_others {
            return None;
        }
        let (operand, result) = (origin.block(0), result.map(|result| result.block(0)));
        let bytes = operand.len();
        let (there, lock) = self.mapped_element(remote, bytes)?;
        // Written once for each usual length, so that nothing in it has to find out how long the element is.
        if bytes == 8 {
            change_element::<8>(change, step, lock, there, operand, result)
        } else if bytes == 4 {
            change_element::<4>(change, step, lock, there, operand, result)
        } else {
            change_shorter(change, step, lock, there, operand, result)
        }
    }

    /// As [`Window::compare_and_swap`], if the processor can do it: of an element that can be compared, and as many
    /// bytes as it has are named everywhere.
    #[inline(always)]
    pub fn compare_and_swap_element(&self, [value, compared, fetched]: [Runs; 3], remote: RemotePlace) -> Option<()> {
        let (value, compared, fetched) = (value.block(0), compared.block(0), fetched.block(0));
        let bytes = value.len();
        let (there, lock) = self.mapped_element(remote, bytes)?;
        if bytes == 8 {
            compare_and_swap::<8>(lock, there, value, compared, fetched)
        } else if bytes == 4 {
            compare_and_swap::<4>(lock, there, value, compared, fetched)
        } else {
            compare_and_swap_shorter(lock, there, value, compared, fetched)
        }
    }

    /// Where this process has the bytes that an operation names, if it may use them now.
    #[inline(always)]
    fn mapped_run(&self, remote: RemotePlace, bytes: usize) -> Option<(WriteSpan<'static>, &Target)> {
        let RemotePlace { rank, displacement } = remote;
        let target = self.shared.targets.get(rank)?;
        // What is negative is a number beyond all memory here.
        let start = displacement.checked_mul(target.unit)?.cast_unsigned() as usize;
        let there = target.mapped.part_within(start, bytes)?;
        self.is_open_to(rank).then_some((there, target))
    }

    /// The same of an element, if elements there are changed by the processor, should they be aligned.
    #[inline(always)]
    fn mapped_element(&self, remote: RemotePlace, bytes: usize) -> Option<(WriteSpan<'static>, &ElementLock)> {
        let (there, target) = self.mapped_run(remote, bytes)?;
        Some((there, target.word_lock.as_ref()?))
    }

    /// Whether an operation on a target is legal; if so, it is taken to be done.
    #[inline(always)]
    fn is_open_to(&self, rank: usize) -> bool {
        // In most epochs an operation changes nothing.
        let is_open = self.shared.epochs.borrow().is_open_to(rank);
        is_open || self.operate(rank).is_ok()
    }

    /// As [`Window::flush_all`], if a fence is all that it takes.
    #[inline(always)]
    pub fn flush_all_mapped(&self) -> Option<()> {
        if !self.shared.is_plain {
            return None;
        }
        self.shared.epochs.borrow().check_any_locked().ok()?;
        self.order();
        Some(())
    }

    /// As [`Window::flush`], if a fence is all that it takes. `rank` need not be one of the window's.
    #[inline(always)]
    pub fn flush_mapped(&self, rank: usize) -> Option<()> {
        let is_one = rank < self.shared.targets.len() && self.shared.is_plain;
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

/// Changes an element of so many bytes, if it is aligned and nobody keeps short operations out.
#[inline(always)]
fn change_element<const BYTES: usize>(
    change: Change,
    step: Step,
    lock: &ElementLock,
    there: WriteSpan<'_>,
    operand: WriteSpan<'_>,
    result: Option<WriteSpan<'_>>,
) -> Option<()> {
    let word = there.part_within(0, BYTES)?.word()?;
    let operand = operand.part_within(0, BYTES)?.as_read().number();
    let result = match result {
        Some(result) => Some(result.part_within(0, BYTES)?),
        None => None,
    };
    let raised = lock.raise()?;
    let before = if step == Step::Update { update(change, word, operand) } else { step.on_word(word, operand) };
    drop(raised);
    if let Some(result) = result {
        result.set_number(before);
    }
    Some(())
}

/// The same of two bytes and of one; of any other number, nothing.
#[inline(never)]
fn change_shorter(
    change: Change,
    step: Step,
    lock: &ElementLock,
    there: WriteSpan<'_>,
    operand: WriteSpan<'_>,
    result: Option<WriteSpan<'_>>,
) -> Option<()> {
    match there.len() {
        2 => change_element::<2>(change, step, lock, there, operand, result),
        1 => change_element::<1>(change, step, lock, there, operand, result),
        _ => None,
    }
}

/// What no operation of the processor does.
#[inline(never)]
fn update(change: Change, word: AtomicWord<'_>, operand: u64) -> u64 {
    change.on_word(word, operand)
}

/// Compares and swaps an element of so many bytes, if it is aligned and nobody keeps short operations out.
#[inline(always)]
fn compare_and_swap<const BYTES: usize>(
    lock: &ElementLock,
    there: WriteSpan<'_>,
    value: WriteSpan<'_>,
    compared: WriteSpan<'_>,
    fetched: WriteSpan<'_>,
) -> Option<()> {
    let word = there.part_within(0, BYTES)?.word()?;
    let value = value.part_within(0, BYTES)?.as_read().number();
    let compared = compared.part_within(0, BYTES)?.as_read().number();
    let fetched = fetched.part_within(0, BYTES)?;
    let raised = lock.raise()?;
    let before = word.compare_exchange(compared, value);
    drop(raised);
    fetched.set_number(before);
    Some(())
}

/// The same of two bytes and of one; of any other number, nothing.
#[inline(never)]
fn compare_and_swap_shorter(
    lock: &ElementLock,
    there: WriteSpan<'_>,
    value: WriteSpan<'_>,
    compared: WriteSpan<'_>,
    fetched: WriteSpan<'_>,
) -> Option<()> {
    match there.len() {
        2 => compare_and_swap::<2>(lock, there, value, compared, fetched),
        1 => compare_and_swap::<1>(lock, there, value, compared, fetched),
        _ => None,
    }
}
