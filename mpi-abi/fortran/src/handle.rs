//! Handles: INTEGER in Fortran, the code that they are inside the library too (what `MPI_X_toint` gives).
#![allow(unsafe_code)]

use std::ffi::c_int;

use rwmpi_interface::Abi;
use smallvec::SmallVec;

/// The handle with that integer.
///
/// # Safety
/// The place is valid.
#[inline]
pub unsafe fn handle<A: Abi>(place: *const c_int) -> A::Handle {
    // SAFETY: passed on.
    A::handle(unsafe { place.read() }.cast_unsigned())
}

/// Writes a handle as an integer.
///
/// # Safety
/// The place is valid.
#[inline]
pub unsafe fn give_handle<A: Abi>(place: *mut c_int, handle: A::Handle) {
    // SAFETY: passed on.
    unsafe { place.write(A::code(handle).cast_signed()) }
}

/// The file with that integer.
///
/// # Safety
/// The place is valid.
pub unsafe fn file<A: Abi>(place: *const c_int) -> A::File {
    // SAFETY: passed on.
    A::file(unsafe { place.read() }.cast_unsigned())
}

/// Writes the handle of a file as an integer.
///
/// # Safety
/// The place is valid.
pub unsafe fn give_file<A: Abi>(place: *mut c_int, file: A::File) {
    // SAFETY: passed on.
    unsafe { place.write(A::file_code(file).cast_signed()) }
}

/// An array of handles for C: the program's own where handles are integers in C too, else a copy.
pub struct Handles<A: Abi> {
    place: *mut c_int,
    copy: SmallVec<[A::Handle; 16]>,
}

impl<A: Abi> Handles<A> {
    const ARE_INTEGERS: bool = size_of::<A::Handle>() == size_of::<c_int>();

    /// The handles of that array; a negative count is C's to complain of.
    ///
    /// # Safety
    /// The array is valid for `count` elements.
    #[inline]
    pub unsafe fn new(place: *mut c_int, count: i64) -> Self {
        let copied = if Self::ARE_INTEGERS { 0 } else { usize::try_from(count).unwrap_or(0) };
        // SAFETY: these elements are there.
        let copy = (0..copied).map(|index| unsafe { handle::<A>(place.wrapping_add(index)) }).collect();
        Handles { place, copy }
    }

    /// The array for C.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut A::Handle {
        if Self::ARE_INTEGERS { self.place.cast() } else { self.copy.as_mut_ptr() }
    }

    /// Lets the program have what C made of them.
    ///
    /// # Safety
    /// The program's array is still valid.
    #[inline]
    pub unsafe fn give_back(self) {
        for (index, handle) in self.copy.into_iter().enumerate() {
            // SAFETY: the elements that were copied are there.
            unsafe { give_handle::<A>(self.place.wrapping_add(index), handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use rwmpi_interface::{Mpich, Standard};

    use super::*;

    fn passes<A: Abi>() {
        let mut integers = [0x101, -7, 3];
        // SAFETY: the array has two elements and more.
        let mut handles = unsafe { Handles::<A>::new(integers.as_mut_ptr(), 2) };
        let first = handles.as_mut_ptr();
        // SAFETY: as said.
        unsafe {
            assert_eq!([first.read(), first.add(1).read()], [A::handle(0x101), A::handle(7_u32.wrapping_neg())]);
            first.write(A::handle(0x8000_0001));
            handles.give_back();
        }
        assert_eq!(integers, [0x8000_0001_u32.cast_signed(), -7, 3]);
    }

    #[test]
    fn arrays_are_passed_and_given_back() {
        passes::<Standard>();
        passes::<Mpich>();
    }
}
