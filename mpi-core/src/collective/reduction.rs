//! What reductions do to bytes.

use std::any::type_name;
use std::cell::Cell;
use std::marker::PhantomData;

use crate::Datatype;
use crate::engine::Failure;
use crate::plain::{direct_values, direct_values_mut};

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
    /// Whether some rank's contribution was no value of the elements' type.
    failed: Cell<bool>,
    elements: PhantomData<T>,
}

impl<T: Datatype, F: Fn(&T, &T) -> T> Elementwise<T, F> {
    pub(crate) fn new(function: F) -> Self {
        Elementwise { function, failed: Cell::new(false), elements: PhantomData }
    }

    /// Whether all contributions could be combined.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        match self.failed.get() {
            false => Ok(()),
            true => Err(Failure::NoValue { place: None, of: type_name::<T>() }),
        }
    }

    /// `kept = combine(kept, other)`, element by element.
    #[inline(always)]
    fn combine(&self, kept: &mut [u8], other: &[u8], combine: impl Fn(&T, &T) -> T) {
        if T::DIRECT
            && let (Some(kept), Some(other)) = (direct_values_mut::<T>(kept), direct_values::<T>(other))
        {
            return kept.iter_mut().zip(other).for_each(|(kept, other)| *kept = combine(kept, other));
        }
        for (kept, other) in kept.chunks_exact_mut(self.element()).zip(other.chunks_exact(self.element())) {
            match (T::unpack(kept), T::unpack(other)) {
                (Some(value), Some(other)) => combine(&value, &other).pack(kept),
                _ => self.failed.set(true),
            }
        }
    }
}

impl<T: Datatype, F: Fn(&T, &T) -> T> Reduction for Elementwise<T, F> {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        self.combine(kept, later, |kept, later| (self.function)(kept, later));
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        self.combine(kept, earlier, |kept, earlier| (self.function)(earlier, kept));
    }

    fn element(&self) -> usize {
        T::SIZE.max(1)
    }
}
