//! Datatypes by what Fortran programs ask for: precision and range, or class and size (MPI-5.0 section 19.1.9).

use super::basic::Basic;
use crate::{Error, ErrorClass, Result};

/// What `selected_real_kind` or `selected_int_kind` were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameters {
    /// Real numbers of so many decimal digits and decimal exponents; at least one is given.
    Real {
        /// Decimal digits.
        precision: Option<i32>,
        /// Decimal exponent.
        range: Option<i32>,
    },
    /// Complex numbers of the same.
    Complex {
        /// Decimal digits.
        precision: Option<i32>,
        /// Decimal exponent.
        range: Option<i32>,
    },
    /// Integers of so many decimal digits.
    Integer {
        /// Decimal digits.
        range: i32,
    },
}

/// Precision, range and datatypes of the kinds that Fortran compilers for this machine have.
const REALS: &[(i32, i32, Basic, Basic)] = &[
    (6, 37, Basic::Real4, Basic::Complex8),
    (15, 307, Basic::Real8, Basic::Complex16),
    // `real(10)`, which MPI has no Fortran name for.
    (18, 4931, Basic::LongDouble, Basic::CLongDoubleComplex),
    (33, 4931, Basic::Real16, Basic::Complex32),
];

const INTEGERS: &[(i32, Basic)] =
    &[(2, Basic::Integer1), (4, Basic::Integer2), (9, Basic::Integer4), (18, Basic::Integer8), (38, Basic::Integer16)];

impl Parameters {
    /// The smallest kind that suffices.
    ///
    /// # Errors
    /// No kind suffices, or neither precision nor range is given.
    pub fn basic(self) -> Result<Basic> {
        let real = |precision: Option<i32>, range: Option<i32>| {
            let given = precision.is_some() || range.is_some();
            let (precision, range) = (precision.unwrap_or(0), range.unwrap_or(0));
            REALS.iter().find(|kind| given && precision <= kind.0 && range <= kind.1)
        };
        let basic = match self {
            Parameters::Real { precision, range } => real(precision, range).map(|kind| kind.2),
            Parameters::Complex { precision, range } => real(precision, range).map(|kind| kind.3),
            Parameters::Integer { range } => INTEGERS.iter().find(|kind| range <= kind.0).map(|kind| kind.1),
        };
        basic.ok_or_else(|| {
            let text = match self {
                Parameters::Integer { range } => format!("no integer kind has {range} decimal digits"),
                Parameters::Real { precision: None, range: None }
                | Parameters::Complex { precision: None, range: None } => {
                    "neither precision nor range is given".to_string()
                }
                Parameters::Real { precision, range } | Parameters::Complex { precision, range } => format!(
                    "no real kind has {} decimal digits and the exponent {}",
                    precision.unwrap_or(0),
                    range.unwrap_or(0)
                ),
            };
            Error::new(ErrorClass::Argument, text)
        })
    }
}

/// A class of Fortran's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeClass {
    /// Integers.
    Integer,
    /// Real numbers.
    Real,
    /// Complex numbers.
    Complex,
}

/// The datatype of a class with a size in bytes (`MPI_Type_match_size`).
///
/// # Errors
/// There is none of that size.
pub fn match_size(class: TypeClass, size: i64) -> Result<Basic> {
    let candidates: &[Basic] = match class {
        TypeClass::Integer => &[Basic::Integer1, Basic::Integer2, Basic::Integer4, Basic::Integer8, Basic::Integer16],
        TypeClass::Real => &[Basic::Real2, Basic::Real4, Basic::Real8, Basic::Real16],
        TypeClass::Complex => &[Basic::Complex4, Basic::Complex8, Basic::Complex16, Basic::Complex32],
    };
    let fitting = candidates.iter().find(|basic| i64::try_from(basic.size()) == Ok(size));
    fitting.copied().ok_or_else(|| {
        let class = match class {
            TypeClass::Integer => "integer",
            TypeClass::Real => "real",
            TypeClass::Complex => "complex",
        };
        Error::new(ErrorClass::Argument, format!("there is no {class} datatype of {size} bytes"))
    })
}
