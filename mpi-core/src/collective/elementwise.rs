//! A function of the program's as a reduction of buffers.

use std::any::type_name;
use std::marker::PhantomData;

use rwmpi_collective::{Named, Reduction};

use super::checking::named;
use super::mishap::Mishap;
use crate::Datatype;
use crate::engine::Failure;
use crate::plain::{direct_values, direct_values_mut};

/// A function of two elements, applied element by element.
pub(super) struct Elementwise<T, F> {
    function: F,
    mishap: Mishap,
    elements: PhantomData<T>,
}

impl<T: Datatype, F: Fn(&T, &T) -> T> Elementwise<T, F> {
    pub(super) fn new(function: F) -> Self {
        Elementwise { function, mishap: Mishap::default(), elements: PhantomData }
    }

    /// `kept = combine(kept, other)`, element by element.
    #[inline(always)]
    fn combine(&self, kept: &mut [u8], other: &[u8], combine: impl Fn(&T, &T) -> T) {
        if T::DIRECT
            && let (Some(kept), Some(other)) = (direct_values_mut::<T>(kept), direct_values::<T>(other))
        {
            let combine = || kept.iter_mut().zip(other).for_each(|(kept, other)| *kept = combine(kept, other));
            return self.mishap.guard(combine);
        }
        self.mishap.guard(|| {
            for (kept, other) in kept.chunks_exact_mut(self.element()).zip(other.chunks_exact(self.element())) {
                match (T::unpack(kept), T::unpack(other)) {
                    (Some(value), Some(other)) => combine(&value, &other).pack(kept),
                    _ => self.mishap.no_value.set(true),
                }
            }
        });
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

    fn named(&self) -> Option<Named> {
        named(&self.function)
    }

    fn failure(&self) -> Option<Failure> {
        self.mishap.failure(type_name::<T>())
    }

    #[inline]
    fn outcome(&self) -> Result<(), Failure> {
        self.mishap.outcome(type_name::<T>())
    }
}
