//! Buffers of the module `mpi_f08`: what gfortran passes for `type(*), dimension(..)`.
//!
//! An array that is passed so is not copied first, even if its elements do not lie side by side. Its descriptor says
//! where they are. This is the compiler's own descriptor, not that of `ISO_Fortran_binding.h`: gfortran makes the one
//! of the other only from version 12 on without faults, and needs time for it at each call. It has been the same since
//! version 8.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use smallvec::SmallVec;

/// The most dimensions that an array has.
const DIMENSIONS: usize = 15;

/// One dimension of a descriptor: the distance of neighbors in spans, the first index and the last.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bounds {
    stride: isize,
    lower: isize,
    upper: isize,
}

/// A descriptor of gfortran. Only as many dimensions as its rank says are there.
#[repr(C)]
pub struct Descriptor {
    base: *mut c_void,
    offset: usize,
    element: usize,
    version: c_int,
    rank: i8,
    kind: i8,
    attribute: i16,
    /// Bytes between elements whose distance is one; not set by all versions where it is the length of an element.
    span: isize,
    dimensions: [Bounds; 0],
}

const _: () = assert!(size_of::<Descriptor>() == 40 && size_of::<Bounds>() == 24);

/// One dimension of a section: how many elements, and how many bytes from each to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) count: i64,
    pub(crate) stride: i64,
}

/// Parts of an array that do not lie side by side, in the order of Fortran.
///
/// Dimensions of one element are left out, neighboring ones that are evenly spaced together are one, and elements that
/// lie side by side are one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) base: *mut u8,
    /// Bytes of an element of the array.
    element: i64,
    /// Bytes of a part.
    pub(crate) part: i64,
    pub(crate) dimensions: SmallVec<[Dimension; 4]>,
}

/// The dimensions of a descriptor.
///
/// # Safety
/// It is a descriptor.
#[inline]
unsafe fn dimensions(descriptor: *const Descriptor) -> impl Iterator<Item = Dimension> {
    // SAFETY: passed on; the rank says how many dimensions lie behind.
    let (rank, span) = unsafe { ((*descriptor).rank, (*descriptor).span) };
    // SAFETY: passed on.
    let span = if span == 0 { unsafe { (*descriptor).element as isize } } else { span };
    let rank = usize::try_from(rank).unwrap_or(0).min(DIMENSIONS);
    (0..rank).map(move |index| {
        // SAFETY: one of those that are there.
        let one = unsafe { (&raw const (*descriptor).dimensions).cast::<Bounds>().add(index).read() };
        let count = one.upper.wrapping_sub(one.lower).wrapping_add(1);
        Dimension { count: count as i64, stride: one.stride.wrapping_mul(span) as i64 }
    })
}

/// Whether the elements lie side by side, as those of scalars and whole arrays do, or there are none.
///
/// # Safety
/// It is a descriptor.
#[inline]
pub unsafe fn is_plain(descriptor: *const Descriptor) -> bool {
    // SAFETY: passed on.
    let mut expected = unsafe { (*descriptor).element as i64 };
    // SAFETY: passed on.
    for one in unsafe { dimensions(descriptor) } {
        // An array of assumed size has no last bound, and no gaps.
        if one.count <= 0 {
            return true;
        }
        if one.count > 1 && one.stride != expected {
            return false;
        }
        expected = expected.wrapping_mul(one.count);
    }
    true
}

/// Where the first element is.
///
/// # Safety
/// It is a descriptor.
#[inline]
pub unsafe fn base(descriptor: *const Descriptor) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { (*descriptor).base }
}

impl Section {
    /// The elements of a descriptor.
    ///
    /// # Safety
    /// It is a descriptor.
    pub(crate) unsafe fn new(descriptor: *const Descriptor) -> Section {
        // SAFETY: passed on.
        let (base, element) = unsafe { ((*descriptor).base.cast(), (*descriptor).element as i64) };
        let mut section = Section { base, element, part: element, dimensions: SmallVec::new() };
        // SAFETY: passed on.
        for one in unsafe { dimensions(descriptor) } {
            let count = one.count.max(0);
            match section.dimensions.last_mut() {
                _ if count == 1 => {}
                None if one.stride == section.part => section.part = section.part.saturating_mul(count),
                Some(last) if last.count.checked_mul(last.stride) == Some(one.stride) => {
                    last.count = last.count.saturating_mul(count);
                }
                _ => section.dimensions.push(Dimension { count, stride: one.stride }),
            }
        }
        section
    }

    /// How many parts there are.
    fn parts(&self) -> i64 {
        self.dimensions.iter().fold(1_i64, |all, one| all.saturating_mul(one.count))
    }

    /// How many bytes there are.
    pub(crate) fn bytes(&self) -> i64 {
        self.parts().saturating_mul(self.part)
    }

    /// How many elements there are.
    pub(crate) fn elements(&self) -> i64 {
        self.bytes() / self.element.max(1)
    }

    /// The distance of all neighboring parts, if it is the same.
    pub(crate) fn distance(&self) -> Option<i64> {
        match self.dimensions[..] {
            [] => Some(self.part),
            [one] => Some(one.stride),
            _ => None,
        }
    }

    /// Calls with the address of each part, in order.
    fn each(&self, mut with: impl FnMut(*mut u8)) {
        let mut indices: SmallVec<[i64; 4]> = self.dimensions.iter().map(|_| 0).collect();
        let mut place = self.base;
        for _ in 0..self.parts() {
            with(place);
            for (index, one) in indices.iter_mut().zip(&self.dimensions) {
                *index += 1;
                place = place.wrapping_offset(one.stride as isize);
                if *index < one.count {
                    break;
                }
                *index = 0;
                place = place.wrapping_offset(one.stride.wrapping_mul(one.count).wrapping_neg() as isize);
            }
        }
    }

    /// A copy of the elements, side by side.
    ///
    /// # Safety
    /// They are valid, and nobody writes them.
    pub(crate) unsafe fn gathered(&self) -> Vec<u8> {
        let length = self.part as usize;
        let mut all = Vec::with_capacity(self.bytes() as usize);
        // SAFETY: passed on.
        self.each(|place| all.extend_from_slice(unsafe { std::slice::from_raw_parts(place, length) }));
        all
    }

    /// Writes the elements, from side by side.
    ///
    /// # Safety
    /// They are valid, and nobody else uses them.
    pub(crate) unsafe fn scatter(&self, from: &[u8]) {
        let mut parts = from.chunks_exact((self.part as usize).max(1));
        self.each(|place| {
            if let Some(part) = parts.next() {
                // SAFETY: passed on; these are as long as parts.
                unsafe { place.copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            }
        });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A descriptor with room for dimensions.
    #[repr(C)]
    pub(crate) struct Full {
        head: Descriptor,
        dimensions: [Bounds; 3],
    }

    /// A descriptor of elements of four bytes: counts, and strides in elements.
    pub(crate) fn descriptor(base: *mut c_void, dimensions: &[(isize, isize)]) -> Full {
        let mut all = [Bounds { stride: 0, lower: 0, upper: 0 }; 3];
        for (one, &(count, stride)) in all.iter_mut().zip(dimensions) {
            *one = Bounds { stride, lower: 1, upper: count };
        }
        let rank = dimensions.len() as i8;
        let (version, kind, attribute, span) = (0, 1, 0, 4);
        let head = Descriptor { base, offset: 0, element: 4, version, rank, kind, attribute, span, dimensions: [] };
        Full { head, dimensions: all }
    }

    impl Full {
        pub(crate) fn place(&self) -> *const Descriptor {
            (&raw const *self).cast()
        }
    }

    #[test]
    fn what_lies_side_by_side_is_plain() {
        let plain = |dimensions: &[(isize, isize)]| {
            let full = descriptor(std::ptr::null_mut(), dimensions);
            // SAFETY: it is one.
            unsafe { is_plain(full.place()) }
        };
        assert!(plain(&[]) && plain(&[(5, 1)]) && plain(&[(5, 1), (3, 5)]));
        assert!(plain(&[(1, 7)]) && plain(&[(1, 7), (3, 1)]) && plain(&[(0, 2)]) && plain(&[(5, 1), (-1, 5)]));
        assert!(!plain(&[(5, 2)]) && !plain(&[(5, -1)]) && !plain(&[(5, 1), (3, 6)]) && !plain(&[(5, 2), (-1, 10)]));
    }

    #[test]
    fn a_section_is_read_in_order() {
        let mut memory: Vec<i32> = (0..40).collect();
        // Rows 1 and 2 of three columns of five, backwards by columns.
        // SAFETY: column 2 begins at element 10.
        let last = unsafe { memory.as_mut_ptr().add(10) }.cast();
        let full = descriptor(last, &[(2, 1), (3, -5), (1, 99)]);
        // SAFETY: as said.
        let section = unsafe { Section::new(full.place()) };
        assert_eq!((section.elements(), section.part, section.distance()), (6, 8, Some(-20)));
        // SAFETY: within the memory.
        let mut copy = unsafe { section.gathered() };
        let numbers: Vec<i32> = copy.chunks(4).map(|one| i32::from_ne_bytes(one.try_into().unwrap())).collect();
        assert_eq!(numbers, [10, 11, 5, 6, 0, 1]);
        copy[..4].copy_from_slice(&77_i32.to_ne_bytes());
        // SAFETY: as above.
        unsafe { section.scatter(&copy) };
        assert_eq!((memory[10], memory[11], memory[1]), (77, 11, 1));
    }

    #[test]
    fn evenly_spaced_dimensions_are_one() {
        let full = descriptor(std::ptr::null_mut(), &[(3, 2), (4, 6), (2, 24)]);
        // SAFETY: it is a descriptor.
        let section = unsafe { Section::new(full.place()) };
        assert_eq!((section.elements(), section.part, section.distance()), (24, 4, Some(8)));
    }
}
