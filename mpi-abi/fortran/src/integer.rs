//! Integers that differ in width or in where they count from.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rwmpi_interface::Abi;

/// An integer that is a pointer in C: an attribute, or what callbacks get.
pub trait Value: Copy + Default {
    /// As a pointer.
    fn pointer(self) -> *mut c_void;
    /// Of a pointer.
    fn of(pointer: *mut c_void) -> Self;
}

impl Value for i64 {
    fn pointer(self) -> *mut c_void {
        self as *mut c_void
    }
    fn of(pointer: *mut c_void) -> Self {
        pointer as i64
    }
}

impl Value for c_int {
    fn pointer(self) -> *mut c_void {
        i64::from(self).pointer()
    }
    fn of(pointer: *mut c_void) -> Self {
        i64::of(pointer) as c_int
    }
}

/// `count` integers of an array, as wide as addresses.
///
/// # Safety
/// The array is valid for `count` elements.
pub unsafe fn widened(place: *const c_int, count: c_int) -> Vec<i64> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: these elements are there.
    (0..count).map(|index| i64::from(unsafe { place.add(index).read() })).collect()
}

/// Lets `count` indices count from one; MPI_UNDEFINED, as an index or as their number, stays as it is.
///
/// # Safety
/// The array is valid for `count` elements.
#[inline]
pub unsafe fn count_from_one<A: Abi>(place: *mut c_int, count: c_int) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: these elements are there.
        let index = unsafe { &mut *place.add(index) };
        if *index != A::UNDEFINED {
            *index += 1;
        }
    }
}

/// The length of a text for C, which counts a zero byte at its end; 0 asks for the length alone.
pub fn with_zero_byte(length: c_int) -> c_int {
    if length == 0 { 0 } else { length.saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use rwmpi_interface::{Constants, Standard};

    use super::*;

    #[test]
    fn values_survive_as_pointers() {
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(i64::of(value.pointer()), value);
        }
        for value in [0, -5, c_int::MIN, c_int::MAX] {
            assert_eq!((c_int::of(value.pointer()), i64::of(value.pointer())), (value, value.into()));
        }
    }

    #[test]
    fn indices_count_from_one() {
        let mut indices = [0, 4, Standard::UNDEFINED, 7];
        // SAFETY: there are four.
        unsafe {
            count_from_one::<Standard>(indices.as_mut_ptr(), 3);
            count_from_one::<Standard>(indices.as_mut_ptr(), Standard::UNDEFINED);
            assert_eq!(widened(indices.as_ptr(), 4), [1, 5, Standard::UNDEFINED.into(), 7]);
        }
        assert_eq!([0, 1, c_int::MAX].map(with_zero_byte), [0, 2, c_int::MAX]);
    }
}
