//! What reductions do to bytes.

use std::marker::PhantomData;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::Pod;

/// An associative operation on runs of elements, given as bytes. Both runs are equally long and, unless empty, aligned for the
/// elements.
pub(crate) trait Reduction {
    /// `kept = kept ∘ later`.
    fn append(&self, kept: &mut [u8], later: &[u8]);
    /// `kept = earlier ∘ kept`.
    fn prepend(&self, earlier: &[u8], kept: &mut [u8]);
    /// Size of an element, bytes.
    fn element(&self) -> usize;
}

/// A function of two elements, applied element by element.
pub(crate) struct Elementwise<T, F> {
    function: F,
    elements: PhantomData<T>,
}

impl<T: Pod, F: Fn(&T, &T) -> T> Elementwise<T, F> {
    pub(crate) fn new(function: F) -> Self {
        Elementwise { function, elements: PhantomData }
    }
}

impl<T: Pod, F: Fn(&T, &T) -> T> Reduction for Elementwise<T, F> {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        if !kept.is_empty() {
            for (kept, later) in cast_slice_mut::<u8, T>(kept).iter_mut().zip(cast_slice::<u8, T>(later)) {
                *kept = (self.function)(kept, later);
            }
        }
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        if !kept.is_empty() {
            for (kept, earlier) in cast_slice_mut::<u8, T>(kept).iter_mut().zip(cast_slice::<u8, T>(earlier)) {
                *kept = (self.function)(earlier, kept);
            }
        }
    }

    fn element(&self) -> usize {
        size_of::<T>()
    }
}
