//! Numbers of C, checked: counts, ranks, truth values.

use rwmpi_core::{Error, ErrorClass, Result};

use crate::argument::{Array, c_int};

/// A number that can't be negative; `what` names it.
pub(crate) fn not_negative(what: &str, number: c_int, class: ErrorClass) -> Result<usize> {
    usize::try_from(number).map_err(|_| Error::new(class, format!("{what} {number} is negative")))
}

/// The length of an array.
pub(crate) fn count(what: &str, number: c_int) -> Result<usize> {
    not_negative(what, number, ErrorClass::Argument)
}

/// A rank.
pub(crate) fn rank_number(what: &str, number: c_int) -> Result<usize> {
    not_negative(what, number, ErrorClass::Rank)
}

/// `len` numbers that can't be negative.
pub(crate) fn numbers(what: &str, array: Array<c_int>, len: usize, class: ErrorClass) -> Result<Vec<usize>> {
    array.slice(len)?.iter().map(|&number| not_negative(what, number, class)).collect()
}

/// `len` truth values.
pub(crate) fn flags(array: Array<c_int>, len: usize) -> Result<Vec<bool>> {
    Ok(array.slice(len)?.iter().map(|&flag| flag != 0).collect())
}
