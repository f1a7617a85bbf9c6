//! MPI's own operations and what they are defined for.

use rwmpi_collective::Reduction;

use super::{Arithmetic, location};
use crate::datatype::{Basic, Datatype, Group, Number};

/// A predefined operation (MPI-5.0 sections 6.9.2, 6.9.4 and 12.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predefined {
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// Both are true.
    LogicalAnd,
    /// The bits that are set in both.
    BitwiseAnd,
    /// One is true, or both.
    LogicalOr,
    /// The bits that are set in one or both.
    BitwiseOr,
    /// One is true and the other is not.
    LogicalXor,
    /// The bits that are set in one only.
    BitwiseXor,
    /// The larger value, and where it is.
    MaxLocation,
    /// The smaller value, and where it is.
    MinLocation,
    /// The second.
    Replace,
    /// The first.
    NoOperation,
}

/// The arithmetic that each operation is on each kind of elements, by their numbers: looked up in every reduction.
static ARITHMETIC: [[Option<Arithmetic>; Predefined::ALL.len()]; Basic::ALL.len()] = {
    let mut all = [[None; Predefined::ALL.len()]; Basic::ALL.len()];
    let mut place = 0;
    while place < Basic::ALL.len() * Predefined::ALL.len() {
        let (kind, number) = (place / Predefined::ALL.len(), place % Predefined::ALL.len());
        let (basic, operation) = (Basic::ALL[kind], Predefined::ALL[number]);
        assert!(basic as usize == kind && operation as usize == number, "in the order of their numbers");
        let is_arithmetic = !matches!(
            operation,
            Predefined::MaxLocation | Predefined::MinLocation | Predefined::Replace | Predefined::NoOperation
        );
        if is_arithmetic && operation.supports(basic) {
            all[kind][number] = Some(Arithmetic::new(operation, basic));
        }
        place += 1;
    }
    all
};

impl Predefined {
    /// All of them.
    pub const ALL: &[Predefined] = &[
        Predefined::Max,
        Predefined::Min,
        Predefined::Sum,
        Predefined::Product,
        Predefined::LogicalAnd,
        Predefined::BitwiseAnd,
        Predefined::LogicalOr,
        Predefined::BitwiseOr,
        Predefined::LogicalXor,
        Predefined::BitwiseXor,
        Predefined::MaxLocation,
        Predefined::MinLocation,
        Predefined::Replace,
        Predefined::NoOperation,
    ];

    /// Its name in MPI.
    pub const fn name(self) -> &'static str {
        match self {
            Predefined::Max => "MPI_MAX",
            Predefined::Min => "MPI_MIN",
            Predefined::Sum => "MPI_SUM",
            Predefined::Product => "MPI_PROD",
            Predefined::LogicalAnd => "MPI_LAND",
            Predefined::BitwiseAnd => "MPI_BAND",
            Predefined::LogicalOr => "MPI_LOR",
            Predefined::BitwiseOr => "MPI_BOR",
            Predefined::LogicalXor => "MPI_LXOR",
            Predefined::BitwiseXor => "MPI_BXOR",
            Predefined::MaxLocation => "MPI_MAXLOC",
            Predefined::MinLocation => "MPI_MINLOC",
            Predefined::Replace => "MPI_REPLACE",
            Predefined::NoOperation => "MPI_NO_OP",
        }
    }

    /// Whether the order of operands makes no difference.
    pub const fn is_commutative(self) -> bool {
        !matches!(self, Predefined::Replace | Predefined::NoOperation)
    }

    /// Whether it is defined for these elements: what the standard demands, and characters as the small integers that
    /// they are in C, and truth of the integers of all languages.
    pub const fn supports(self, basic: Basic) -> bool {
        let group = basic.group();
        if matches!(group, Group::Marker) {
            return false;
        }
        if matches!(basic.number(), Number::Extended | Number::ComplexExtended) && !cfg!(target_arch = "x86_64") {
            return matches!(self, Predefined::Replace | Predefined::NoOperation);
        }
        let integer =
            matches!(group, Group::CInteger | Group::FortranInteger | Group::MultiLanguage | Group::Character);
        match self {
            Predefined::Max | Predefined::Min => integer || matches!(group, Group::Floating),
            Predefined::Sum | Predefined::Product => integer || matches!(group, Group::Floating | Group::Complex),
            Predefined::LogicalAnd | Predefined::LogicalOr | Predefined::LogicalXor => {
                integer || matches!(group, Group::Logical)
            }
            Predefined::BitwiseAnd | Predefined::BitwiseOr | Predefined::BitwiseXor => {
                integer || matches!(group, Group::Byte)
            }
            Predefined::MaxLocation | Predefined::MinLocation => matches!(group, Group::Pair),
            Predefined::Replace | Predefined::NoOperation => true,
        }
    }

    /// `kept = kept ∘ later` of packed elements that the operation is defined for, and no
    /// [arithmetic](Predefined::arithmetic) on.
    pub(super) fn append(self, basic: Basic, kept: &mut [u8], later: &[u8]) {
        match self {
            Predefined::Replace => kept.copy_from_slice(later),
            Predefined::NoOperation => {}
            _ => self.combine_locations(basic, kept, later, false),
        }
    }

    /// `kept = earlier ∘ kept` of such elements.
    pub(super) fn prepend(self, basic: Basic, earlier: &[u8], kept: &mut [u8]) {
        match self {
            Predefined::Replace => {}
            Predefined::NoOperation => kept.copy_from_slice(earlier),
            _ => self.combine_locations(basic, kept, earlier, true),
        }
    }

    /// `kept = kept ∘ later` of packed elements that the operation is defined for.
    pub(crate) fn combine_packed(self, basic: Basic, kept: &mut [u8], later: &[u8]) {
        match self.arithmetic(basic) {
            Some(arithmetic) => arithmetic.append(kept, later),
            None => self.append(basic, kept, later),
        }
    }

    /// The arithmetic that it is on elements of that datatype, if it is nothing else, and defined for them.
    #[inline]
    pub fn arithmetic_on(self, datatype: &Datatype) -> Option<Arithmetic> {
        datatype.element().and_then(|basic| self.arithmetic(basic))
    }

    /// The arithmetic that it is on such elements, if it is nothing else, and defined for them.
    #[inline]
    pub(crate) fn arithmetic(self, basic: Basic) -> Option<Arithmetic> {
        ARITHMETIC[basic as usize][self as usize]
    }

    fn combine_locations(self, basic: Basic, kept: &mut [u8], other: &[u8], earlier: bool) {
        if let Some(pair) = basic.pair() {
            location::combine(self == Predefined::MaxLocation, pair, kept, other, earlier);
        }
    }
}
