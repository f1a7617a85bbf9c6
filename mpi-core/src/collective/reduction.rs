//! What reductions do to bytes.

use std::any::{Any, type_name};
use std::cell::Cell;
use std::hint::cold_path;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::checking::Named;
use crate::Datatype;
use crate::engine::Failure;
use crate::plain::{direct_values, direct_values_mut};
use crate::reduction::Arithmetic;

/// An associative operation on runs of elements, given as bytes. Both runs are equally long and, unless empty, aligned
/// for the elements.
pub(crate) trait Reduction {
    /// `kept = kept ∘ later`.
    fn append(&self, kept: &mut [u8], later: &[u8]);
    /// `kept = earlier ∘ kept`.
    fn prepend(&self, earlier: &[u8], kept: &mut [u8]);
    /// The same on memory that others may write to meanwhile, if it can be done there.
    fn where_it_lies(&self) -> Option<Arithmetic> {
        None
    }
    /// Size of an element, bytes.
    fn element(&self) -> usize;
    /// Whether the order of operands makes no difference.
    fn commutes(&self) -> bool {
        false
    }
    /// Which operation it is, if that can be told.
    fn named(&self) -> Option<Named> {
        None
    }
    /// Why elements could not be combined, if some could not.
    fn failure(&self) -> Option<Failure> {
        None
    }
    /// At the end of the collective: whether all contributions could be combined. If the function has panicked, it does
    /// so now, after the other ranks have learned of it.
    #[inline]
    fn outcome(&self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<R: Reduction + ?Sized> Reduction for &R {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        (**self).append(kept, later);
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        (**self).prepend(earlier, kept);
    }

    fn where_it_lies(&self) -> Option<Arithmetic> {
        (**self).where_it_lies()
    }

    fn named(&self) -> Option<Named> {
        (**self).named()
    }

    fn element(&self) -> usize {
        (**self).element()
    }

    fn commutes(&self) -> bool {
        (**self).commutes()
    }

    fn failure(&self) -> Option<Failure> {
        (**self).failure()
    }
}

/// What has gone wrong with a function of the program's.
#[derive(Default)]
pub(crate) struct Mishap {
    /// Whether some rank's contribution was no value.
    pub(super) no_value: Cell<bool>,
    panic: Cell<Option<Box<dyn Any + Send>>>,
    has_panicked: Cell<bool>,
}

impl Mishap {
    /// Calls the function. The other ranks are to learn of a panic before it goes on, by [`Mishap::outcome`].
    #[inline]
    pub(super) fn guard(&self, combine: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(combine)) {
            self.panic.set(Some(panic));
            self.has_panicked.set(true);
        }
    }

    #[inline]
    pub(super) fn failure(&self, of: &'static str) -> Option<Failure> {
        match (self.has_panicked.get(), self.no_value.get()) {
            (false, false) => None,
            (true, _) => Some(Failure::Panicked),
            (_, true) => Some(Failure::NoValue { place: None, of }),
        }
    }

    /// At the end of the collective.
    ///
    /// # Panics
    /// If the function did, with its message.
    pub(super) fn outcome(&self, of: &'static str) -> Result<(), Failure> {
        if !self.has_panicked.get() && !self.no_value.get() {
            return Ok(());
        }
        cold_path();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        self.failure(of).map_or(Ok(()), Err)
    }
}

/// A function of two elements, applied element by element.
pub(crate) struct Elementwise<T, F> {
    function: F,
    mishap: Mishap,
    elements: PhantomData<T>,
}

impl<T: Datatype, F: Fn(&T, &T) -> T> Elementwise<T, F> {
    pub(crate) fn new(function: F) -> Self {
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
        Named::of_function(&self.function)
    }

    fn failure(&self) -> Option<Failure> {
        self.mishap.failure(type_name::<T>())
    }

    #[inline]
    fn outcome(&self) -> Result<(), Failure> {
        self.mishap.outcome(type_name::<T>())
    }
}
