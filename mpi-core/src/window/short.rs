//! The short way of operations: on bytes that lie side by side, here and in memory of the target that this process has
//! mapped.
//!
//! They come without datatypes, and nothing is cloned. What is out of the ordinary in any way is `None`, and has not
//! been done: then the other way does it, or says what is wrong. Both do the same to an element.

use rwmpi_transport::{AtomicWord, ElementLock, WriteSpan};

use super::Window;
use super::element::Change;
use crate::Destination;
use crate::datatype::Basic;
use crate::reduction::Predefined;
use crate::untyped::{Run, Runs};

/// Bytes that an operation names at its target.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRun {
    /// Whose memory.
    pub rank: Destination,
    /// In units of the target's.
    pub displacement: i64,
    /// From there.
    pub run: Run,
}

impl Window {
    /// As [`Window::put`].
    #[inline]
    pub fn put_run(&self, origin: Runs, remote: RemoteRun) -> Option<()> {
        let (there, _) = self.mapped_run(remote)?;
        copy(origin.block(0), there)
    }

    /// As [`Window::get`].
    #[inline]
    pub fn get_run(&self, origin: Runs, remote: RemoteRun) -> Option<()> {
        let (there, _) = self.mapped_run(remote)?;
        copy(there, origin.block(0))
    }

    /// As [`Window::accumulate`] and [`Window::get_accumulate`] of one element, if the processor can do it.
    #[inline]
    pub fn change_element(
        &self,
        operation: Predefined,
        basic: Basic,
        origin: Runs,
        result: Option<Runs>,
        remote: RemoteRun,
    ) -> Option<()> {
        let (word, lock) = self.mapped_word(basic, remote)?;
        let (operand, result) = (origin.block(0), result.map(|result| result.block(0)));
        let fit = |span: WriteSpan<'_>| span.len() as u64 == basic.size();
        let is_for_others = operation == Predefined::NoOperation && result.is_none();
        if is_for_others || !operation.supports(basic) || !fit(operand) || !result.is_none_or(fit) {
            return None;
        }
        let (change, operand) = (Change { operation, basic }, operand.as_read().number());
        let before = lock.change(word, |word| change.on_word(word, operand));
        result.into_iter().for_each(|result| result.set_number(before));
        Some(())
    }

    /// As [`Window::compare_and_swap`], if the processor can do it.
    #[inline]
    pub fn compare_and_swap_element(
        &self,
        basic: Basic,
        [value, compared, fetched]: [Runs; 3],
        remote: RemoteRun,
    ) -> Option<()> {
        let (word, lock) = self.mapped_word(basic, remote)?;
        let [value, compared, fetched] = [value, compared, fetched].map(|runs| runs.block(0));
        if !super::accumulate::can_be_compared(basic) {
            return None;
        }
        let (value, compared) = (value.as_read().number(), compared.as_read().number());
        fetched.set_number(lock.change(word, |word| word.compare_exchange(compared, value)));
        Some(())
    }

    /// Where this process has the bytes that an operation names, if it may use them now.
    #[inline(always)]
    fn mapped_run(
        &self,
        RemoteRun { rank, displacement, run }: RemoteRun,
    ) -> Option<(WriteSpan<'static>, &ElementLock)> {
        let Destination::Rank(rank) = rank else { return None };
        let target = self.shared.targets.get(rank)?;
        let start = usize::try_from(displacement.checked_mul(target.unit)?).ok()?.checked_add_signed(run.offset())?;
        let memory = target.memory.as_ref()?;
        let (span, end) = (memory.direct()?, start.checked_add(run.len())?);
        if run.len() == 0 || end > span.len() || end as u64 > target.size {
            return None;
        }
        self.shared.epochs.borrow_mut().operation(rank).ok()?;
        Some((span.part(start, run.len()), memory.lock()))
    }

    /// The same of an element, if the processor changes it in one step.
    #[inline(always)]
    fn mapped_word(&self, basic: Basic, remote: RemoteRun) -> Option<(AtomicWord<'static>, &ElementLock)> {
        let (there, lock) = self.mapped_run(remote)?;
        let is_one = there.len() as u64 == basic.size() && !lock.is_for(there.start().addr(), there.len());
        Some((there.word().filter(|_| is_one)?, lock))
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
