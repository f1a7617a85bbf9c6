//! Operations that change elements in one step, seen as one by all others of this kind (MPI-5.0 section 12.3.4), under
//! the names that the standard library gives to those of its atomic types.
//!
//! All of them are atomic with each other, whatever the operation and whoever does it.

use std::any::TypeId;

use super::memory::{origin, result, some_value};
use super::{AccumulateOperation, TargetMemory};
use crate::datatype::Basic;
use crate::reduction::Operation;
use crate::{Datatype, Result};

/// Numbers that can be combined with those at a target in one step.
#[doc = example!(2
    "use rwmpi::{AccumulateOperation, LockKind, Window};"
    "let window = Window::allocate(world, 3, 1.0)?;"
    "{"
    "    let memory = window.lock(0, LockKind::Shared)?;"
    "    memory.accumulate(0, &[2.0, 3.0], AccumulateOperation::Sum)?;"
    "    memory.fetch_add(2, 0.5)?;"
    "    memory.fetch_max(2, -1.0)?;"
    "    world.barrier()?;"
    "    assert_eq!((memory.load(0)?, memory.load(2)?), (5.0, 2.0));"
    "    let mut before = [0.0; 2];"
    "    memory.get_accumulate(0, &[0.0; 2], &mut before, AccumulateOperation::NoOperation)?;"
    "    assert_eq!(before, [5.0, 7.0]);"
    "    world.barrier()?;"
    "    memory.store(1, 9.0)?;"
    "    assert_eq!((memory.swap(1, 9.0)?, memory.fetch_min(0, 6.0)?), (9.0, 5.0));"
    "}"
    "window.free()?;"
)]
///
/// No other type is one:
///
/// ```compile_fail,E0599
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::{LockKind, Window};
/// # fn misuse(window: &Window<[f64; 2]>) -> rwmpi::Result<()> {
/// window.lock(0, LockKind::Shared)?.fetch_add(0, [1.0, 2.0])?;
/// # Ok(())
/// # }
/// ```
pub trait AtomicNumber: Datatype + sealed::Sealed {}

/// Integers, which can also be compared with those at a target, and whose bits can be changed, in one step.
#[doc = example!(2
    "let window = rwmpi::Window::allocate(world, 2, 0b1000_u8)?;"
    "{"
    "    let memory = window.lock(0, rwmpi::LockKind::Shared)?;"
    "    // One of them is the first."
    "    let is_first = memory.compare_exchange(1, 8, rank as u8)?.is_ok();"
    "    assert_eq!(world.allreduce_value(u32::from(is_first), op::sum)?, 1);"
    "    memory.fetch_or(0, 1 << rank)?;"
    "    world.barrier()?;"
    "    assert_eq!(memory.fetch_and(0, 0b1011)?, 0b1011);"
    "    world.barrier()?;"
    "    memory.fetch_xor(0, 0b100 << rank)?;"
    "    world.barrier()?;"
    "    assert_eq!(memory.load(0)?, 0b0111);"
    "    world.barrier()?;"
    "    memory.fetch_sub(0, 1)?;"
    "    world.barrier()?;"
    "    assert_eq!(memory.compare_exchange(0, 0, 1)?, Err(5));"
    "}"
    "window.free()?;"
)]
///
/// ```compile_fail,E0599
/// # extern crate rwmpi_core as rwmpi;
/// # use rwmpi::{LockKind, Window};
/// # fn misuse(window: &Window<f64>) -> rwmpi::Result<()> {
/// window.lock(0, LockKind::Shared)?.compare_exchange(0, 1.0, 2.0)?.ok();
/// # Ok(())
/// # }
/// ```
pub trait AtomicInteger: AtomicNumber {
    /// What is to be added to subtract this.
    #[doc(hidden)]
    fn negated(self) -> Self;
}

mod sealed {
    #[doc(hidden)]
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty: $basic:ident,)*) => {
        $(impl sealed::Sealed for $number {})*
        $(impl AtomicNumber for $number {})*

        /// What such elements are for operations, if they are numbers.
        pub(super) fn basic_of<T: 'static>() -> Option<Basic> {
            let basics = [$((TypeId::of::<$number>(), Basic::$basic)),*];
            basics.into_iter().find(|(number, _)| *number == TypeId::of::<T>()).map(|(_, basic)| basic)
        }
    };
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl AtomicInteger for $integer {
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        })*
    };
}

numbers! {
    u8: Uint8, u16: Uint16, u32: Uint32, u64: Uint64, usize: Uint64,
    i8: Int8, i16: Int16, i32: Int32, i64: Int64, isize: Int64,
    f32: Float, f64: Double,
}

integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

const _: () = assert!(size_of::<usize>() == size_of::<u64>(), "a pointer's size is that of the number it is taken for");

impl<T: AtomicNumber> TargetMemory<'_, T> {
    /// Combines values with elements of the target, from number `at` on, each in one step (MPI_Accumulate).
    ///
    /// # Errors
    /// As [`TargetMemory::put`]; the operation is not defined for such numbers.
    #[doc(alias = "MPI_Accumulate")]
    pub fn accumulate(&self, at: usize, values: &[T], operation: AccumulateOperation) -> Result<()> {
        let origin = origin(values, &self.window.datatype);
        self.window.untyped.accumulate(&origin, self.remote(at, values.len())?, &Operation::Predefined(operation))
    }

    /// The same, and fetches what was there before (MPI_Get_accumulate). Both slices have the same length.
    ///
    /// # Errors
    /// As [`TargetMemory::accumulate`].
    #[doc(alias = "MPI_Get_accumulate")]
    pub fn get_accumulate(
        &self,
        at: usize,
        values: &[T],
        before: &mut [T],
        operation: AccumulateOperation,
    ) -> Result<()> {
        let datatype = &self.window.datatype;
        let (origin, result) = (origin(values, datatype), result(before, datatype));
        let (remote, operation) = (self.remote(at, values.len())?, Operation::Predefined(operation));
        self.window.untyped.get_accumulate(Some(&origin), &result, remote, &operation)
    }

    fn fetch(&self, at: usize, value: T, operation: AccumulateOperation) -> Result<T> {
        self.check_somebody()?;
        let mut before = [some_value::<T>()];
        self.get_accumulate(at, &[value], &mut before, operation)?;
        Ok(before[0])
    }

    /// The value of an element.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn load(&self, at: usize) -> Result<T> {
        self.fetch(at, some_value(), AccumulateOperation::NoOperation)
    }

    /// Gives an element another value.
    ///
    /// # Errors
    /// As [`TargetMemory::put`].
    pub fn store(&self, at: usize, value: T) -> Result<()> {
        self.accumulate(at, &[value], AccumulateOperation::Replace)
    }

    /// Gives an element another value; the one before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn swap(&self, at: usize, value: T) -> Result<T> {
        self.fetch(at, value, AccumulateOperation::Replace)
    }

    /// Adds to an element, an integer wrapping around; the value before (MPI_Fetch_and_op).
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    #[doc(alias = "MPI_Fetch_and_op")]
    pub fn fetch_add(&self, at: usize, value: T) -> Result<T> {
        self.fetch(at, value, AccumulateOperation::Sum)
    }

    /// Makes an element the larger of the two; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_max(&self, at: usize, value: T) -> Result<T> {
        self.fetch(at, value, AccumulateOperation::Max)
    }

    /// Makes an element the smaller of the two; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_min(&self, at: usize, value: T) -> Result<T> {
        self.fetch(at, value, AccumulateOperation::Min)
    }
}

impl<T: AtomicInteger + PartialEq> TargetMemory<'_, T> {
    /// Gives an element the value `new` if it has the value `current`; the value before, `Ok` if it was `current`
    /// (MPI_Compare_and_swap).
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    #[doc(alias = "MPI_Compare_and_swap")]
    pub fn compare_exchange(&self, at: usize, current: T, new: T) -> Result<std::result::Result<T, T>> {
        self.check_somebody()?;
        let (datatype, mut before) = (&self.window.datatype, [some_value::<T>()]);
        let (value, compared) = ([new], [current]);
        let (value, compared) = (origin(&value, datatype), origin(&compared, datatype));
        let fetched = result(&mut before, datatype);
        self.window.untyped.compare_and_swap(&value, &compared, &fetched, self.remote(at, 1)?)?;
        Ok(if before[0] == current { Ok(current) } else { Err(before[0]) })
    }
}

impl<T: AtomicInteger> TargetMemory<'_, T> {
    /// Subtracts from an element, wrapping around; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_sub(&self, at: usize, value: T) -> Result<T> {
        self.fetch_add(at, value.negated())
    }

    /// Keeps the bits of an element that are set in `bits`, too; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_and(&self, at: usize, bits: T) -> Result<T> {
        self.fetch(at, bits, AccumulateOperation::BitwiseAnd)
    }

    /// Sets bits of an element; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_or(&self, at: usize, bits: T) -> Result<T> {
        self.fetch(at, bits, AccumulateOperation::BitwiseOr)
    }

    /// Changes bits of an element; the value before.
    ///
    /// # Errors
    /// As [`TargetMemory::get_value`].
    pub fn fetch_xor(&self, at: usize, bits: T) -> Result<T> {
        self.fetch(at, bits, AccumulateOperation::BitwiseXor)
    }
}
