//! What short operations ask of a predefined datatype, found out once: each of these answers is a word or a bit.

use super::accumulate::can_be_compared;
use super::element::{Change, Step};
use crate::datatype::{Basic, Datatype};
use crate::reduction::Predefined;

/// A predefined datatype whose elements, one behind the other, have no gaps.
#[derive(Clone, Copy, Debug)]
pub struct PackedBasic {
    bytes_of_one: u32,
    /// By operation: how the processor does it, if it is defined.
    steps: [Option<Step>; OPERATIONS],
    basic: Basic,
    can_be_compared: bool,
}

/// What an operation of the accumulate family does to an element.
#[derive(Clone, Copy, Debug)]
pub struct ElementChange {
    pub(super) step: Step,
    pub(super) change: Change,
}

/// Room for all operations: a power of two, so that no number of one has to be checked.
const OPERATIONS: usize = 16;
const _: () = assert!(Predefined::ALL.len() <= OPERATIONS);

impl PackedBasic {
    /// `None`: the program has made the datatype, or elements have gaps, or no data.
    pub fn of(datatype: &Datatype) -> Option<PackedBasic> {
        let basic = datatype.named()?;
        let bytes_of_one = u32::try_from(basic.size()).ok().filter(|&bytes| bytes > 0)?;
        let two = datatype.run(2)?;
        let mut steps = [None; OPERATIONS];
        for &operation in Predefined::ALL.iter().filter(|operation| operation.supports(basic)) {
            steps[operation as usize] = Some(Step::of(operation, basic));
        }
        let packed = PackedBasic { bytes_of_one, steps, basic, can_be_compared: can_be_compared(basic) };
        (two == (0, 2 * u64::from(bytes_of_one))).then_some(packed)
    }

    /// Bytes of an element.
    #[inline(always)]
    pub fn bytes_of_one(&self) -> usize {
        self.bytes_of_one as usize
    }

    /// Bytes of so many elements; `None` if there can't be so many.
    #[inline(always)]
    pub fn bytes(&self, count: i64) -> Option<usize> {
        usize::try_from(count).ok()?.checked_mul(self.bytes_of_one())
    }

    /// Whether elements can be compared and swapped.
    #[inline(always)]
    pub fn can_be_compared(&self) -> bool {
        self.can_be_compared
    }

    /// An operation on an element; `None`: it is not defined for it.
    #[inline(always)]
    pub fn change(&self, operation: Predefined) -> Option<ElementChange> {
        let step = self.steps[operation as usize % OPERATIONS]?;
        Some(ElementChange { step, change: Change { operation, basic: self.basic } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_datatype() {
        let mut packed_ones = 0;
        for &basic in Basic::ALL {
            let Some(packed) = PackedBasic::of(&Datatype::basic(basic)) else {
                assert!(basic.size() == 0 || basic.extent() != basic.size(), "{basic:?}");
                continue;
            };
            packed_ones += 1;
            assert_eq!((packed.bytes_of_one() as u64, packed.basic), (basic.extent(), basic));
            assert_eq!(packed.can_be_compared(), can_be_compared(basic), "{basic:?}");
            assert_eq!(
                [0, 3].map(|count| packed.bytes(count)),
                [0, 3].map(|count| Some(count * basic.size() as usize))
            );
            assert_eq!((packed.bytes(-1), packed.bytes(i64::MAX).is_some()), (None, basic.size() <= 2));
            for operation in Predefined::ALL {
                let step = operation.supports(basic).then(|| Step::of(*operation, basic));
                let found = packed.change(*operation);
                assert_eq!(found.map(|found| found.step), step, "{operation:?} on {basic:?}");
                assert!(found.is_none_or(|found| found.change.operation == *operation && found.change.basic == basic));
            }
        }
        assert!(packed_ones > 30, "{packed_ones}");
        let made = Datatype::contiguous(2, &Datatype::basic(Basic::Int)).unwrap();
        assert!(PackedBasic::of(&made).is_none(), "the program has made it");
    }
}
