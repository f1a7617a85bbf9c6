//! What an operation of the accumulate family does to one element, and to many under a lock.

use rwmpi_collective::WhereItLies;
use rwmpi_transport::{AtomicWord, ReadSpan, WriteSpan};

use crate::datatype::{Basic, Number};
use crate::reduction::{Operation, Predefined};
use crate::{Error, ErrorClass, Result};

/// A predefined operation on elements of a predefined type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) operation: Predefined,
    pub(super) basic: Basic,
}

/// An element that an atomic operation reaches can be changed by one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Add,
    AddDouble,
    AddSingle,
    And,
    Or,
    Xor,
    Swap,
    Load,
    /// Whatever makes a new value of the old one.
    Update,
}

impl Step {
    /// That of an operation on such elements.
    #[inline]
    pub(super) fn of(operation: Predefined, basic: Basic) -> Step {
        match operation {
            Predefined::NoOperation => Step::Load,
            Predefined::Replace => Step::Swap,
            Predefined::Sum if basic.pair().is_none() => Step::of_sum(basic.number()),
            Predefined::BitwiseAnd => Step::And,
            Predefined::BitwiseOr => Step::Or,
            Predefined::BitwiseXor => Step::Xor,
            _ => Step::Update,
        }
    }

    #[inline]
    fn of_sum(number: Number) -> Step {
        match number {
            Number::Int8
            | Number::Int16
            | Number::Int32
            | Number::Int64
            | Number::Uint8
            | Number::Uint16
            | Number::Uint32
            | Number::Uint64 => Step::Add,
            Number::Double => Step::AddDouble,
            Number::Single => Step::AddSingle,
            _ => Step::Update,
        }
    }

    /// Changes a word; the value before. [`Step::Update`] changes nothing here.
    #[inline(always)]
    pub(super) fn on_word(self, word: AtomicWord<'_>, operand: u64) -> u64 {
        match self {
            Step::Add => word.fetch_add(operand),
            Step::AddDouble => word.update(|value| (f64::from_bits(value) + f64::from_bits(operand)).to_bits()),
            Step::AddSingle => word.update(|value| {
                let [value, operand] = [value, operand].map(|bits| f32::from_bits(bits as u32));
                (value + operand).to_bits().into()
            }),
            Step::And => word.fetch_and(operand),
            Step::Or => word.fetch_or(operand),
            Step::Xor => word.fetch_xor(operand),
            Step::Swap => word.swap(operand),
            Step::Load | Step::Update => word.load(),
        }
    }
}

impl Change {
    /// # Errors
    /// The operation is the program's, or not defined for such elements.
    pub(super) fn new(operation: &Operation, basic: Basic) -> Result<Change> {
        let Operation::Predefined(predefined) = operation else {
            let what = "operations that the program has made are for reductions, not for windows";
            return Err(Error::new(ErrorClass::Operation, what));
        };
        if !predefined.supports(basic) {
            let what = format!("{} is not defined for elements of {}", predefined.name(), basic.name());
            return Err(Error::new(ErrorClass::Operation, what));
        }
        Ok(Change { operation: *predefined, basic })
    }

    /// Bytes of an element's data.
    pub(super) fn size(&self) -> usize {
        self.basic.size() as usize
    }

    /// Whether it leaves elements as they are.
    pub(super) fn is_nothing(&self) -> bool {
        self.operation == Predefined::NoOperation
    }

    /// Whether it does not matter what was there.
    pub(super) fn replaces(&self) -> bool {
        self.operation == Predefined::Replace
    }

    /// Changes a word; the value before.
    #[inline(always)]
    pub(super) fn on_word(&self, word: AtomicWord<'_>, operand: u64) -> u64 {
        match Step::of(self.operation, self.basic) {
            Step::Update => word.update(|value| self.combined(value, operand)),
            step => step.on_word(word, operand),
        }
    }

    /// The value that an element has afterwards.
    #[inline]
    fn combined(&self, value: u64, operand: u64) -> u64 {
        let (mut kept, later) = (value.to_ne_bytes(), operand.to_ne_bytes());
        let size = self.size();
        self.on_packed(&mut kept[..size], &later[..size]);
        u64::from_ne_bytes(kept)
    }

    /// Whether it can be done to elements where they lie.
    pub(super) fn has_loop(&self) -> bool {
        self.is_nothing() || self.replaces() || self.operation.arithmetic(self.basic).is_some()
    }

    /// Changes elements that lie side by side, while nobody else does, if it [has a loop](Change::has_loop) for that.
    pub(super) fn on_run(&self, kept: WriteSpan<'_>, operands: ReadSpan<'_>) {
        match self.operation.arithmetic(self.basic) {
            Some(arithmetic) => arithmetic.combine(kept.as_read().into(), operands.into(), kept),
            None if self.replaces() => operands.copy_long_to(kept),
            None => debug_assert!(self.is_nothing(), "pairs have no loop"),
        }
    }

    /// Changes packed elements.
    pub(super) fn on_packed(&self, kept: &mut [u8], operands: &[u8]) {
        self.operation.combine_packed(self.basic, kept, operands);
    }
}
