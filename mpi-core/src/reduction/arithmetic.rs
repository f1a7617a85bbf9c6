//! The loops of the predefined operations, one for each operation and kind of number, plain enough to be vectorised.
//!
//! Elements are read and written as bytes: nothing here depends on their alignment.
#![allow(unsafe_code)]

use std::ops::{BitAnd, BitOr, BitXor};

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half, Quad};
use rwmpi_collective::{Named, Reduction, WhereItLies};
use rwmpi_transport::{LentSpan, ReadSpan, WriteSpan};

use super::extended::Extended;
use super::predefined::Predefined;
use crate::datatype::{Basic, Number};

/// What lies in `N` bytes of memory.
pub(super) trait Bits<const N: usize>: Copy {
    fn load(bytes: [u8; N]) -> Self;
    fn store(self) -> [u8; N];
}

trait Integer<const N: usize>:
    Bits<N> + Ord + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + From<bool>
{
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;

    fn truth(self) -> bool {
        self != Self::from(false)
    }
}

/// A real number. Comparisons of what is no number are false.
trait Real<const N: usize>: Bits<N> + PartialOrd {
    fn sum(self, other: Self) -> Self;
    fn difference(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
}

macro_rules! native {
    ($($type:ty),*) => { $(
        impl Bits<{ size_of::<$type>() }> for $type {
            #[inline(always)]
            fn load(bytes: [u8; size_of::<$type>()]) -> Self {
                Self::from_ne_bytes(bytes)
            }
            #[inline(always)]
            fn store(self) -> [u8; size_of::<$type>()] {
                self.to_ne_bytes()
            }
        }
    )* };
}

native!(i8, i16, i32, i64, i128, u8, u16, u32, u64, f32, f64);

macro_rules! integers {
    ($($type:ty),*) => { $(
        impl Integer<{ size_of::<$type>() }> for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )* };
}

integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! reals {
    ($($type:ty),*) => { $(
        impl Real<{ size_of::<$type>() }> for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self * other
            }
        }
    )* };
}

reals!(f32, f64);

/// Numbers that the processor has no instructions for.
macro_rules! software {
    ($($type:ty, $bits:ty);*) => { $(
        impl Bits<{ size_of::<$bits>() }> for $type {
            fn load(bytes: [u8; size_of::<$bits>()]) -> Self {
                Self::from_bits(<$bits>::from_ne_bytes(bytes).into())
            }
            fn store(self) -> [u8; size_of::<$bits>()] {
                (self.to_bits() as $bits).to_ne_bytes()
            }
        }

        impl Real<{ size_of::<$bits>() }> for $type {
            fn sum(self, other: Self) -> Self {
                (self + other).value
            }
            fn difference(self, other: Self) -> Self {
                (self - other).value
            }
            fn product(self, other: Self) -> Self {
                (self * other).value
            }
        }
    )* };
}

software!(Half, u16; BFloat, u16; Quad, u128);

impl Bits<16> for Extended {
    fn load(bytes: [u8; 16]) -> Self {
        Extended(bytes)
    }
    fn store(self) -> [u8; 16] {
        self.0
    }
}

impl Real<16> for Extended {
    fn sum(self, other: Self) -> Self {
        self.plus(other)
    }
    fn difference(self, other: Self) -> Self {
        self.minus(other)
    }
    fn product(self, other: Self) -> Self {
        self.times(other)
    }
}

/// One of the predefined operations on one kind of number, whose elements may lie where others write: they are read
/// once, and whatever is there is a number.
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic {
    operation: Predefined,
    number: Number,
    /// Bytes. What is split between ranks is split at basic elements.
    element: u8,
}

impl Arithmetic {
    /// The operation must be defined for such elements.
    pub(super) const fn new(operation: Predefined, basic: Basic) -> Self {
        Arithmetic { operation, number: basic.number(), element: basic.size() as u8 }
    }
}

impl WhereItLies for Arithmetic {
    /// Where numbers are equal but not the same (zeros with signs), or are no numbers, the order of the operands makes
    /// sure that all ranks come to the same result.
    fn combine(&self, earlier: LentSpan<'_>, later: LentSpan<'_>, kept: WriteSpan<'_>) {
        combine(self.operation, self.number, Operands { earlier, later, kept });
    }
}

impl Reduction for Arithmetic {
    fn append(&self, kept: &mut [u8], later: &[u8]) {
        let kept = WriteSpan::from(kept);
        self.combine(kept.as_read().into(), ReadSpan::from(later).into(), kept);
    }

    fn prepend(&self, earlier: &[u8], kept: &mut [u8]) {
        let kept = WriteSpan::from(kept);
        self.combine(ReadSpan::from(earlier).into(), kept.as_read().into(), kept);
    }

    #[inline]
    fn where_it_lies(&self) -> Option<&dyn WhereItLies> {
        Some(self)
    }

    fn element(&self) -> usize {
        self.element.into()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn named(&self) -> Option<Named> {
        Some(self.operation.into())
    }
}

/// So many bytes are combined at a time: a cache line.
const BLOCK: usize = 64;

#[derive(Clone, Copy)]
struct Operands<'a> {
    earlier: LentSpan<'a>,
    later: LentSpan<'a>,
    kept: WriteSpan<'a>,
}

/// Wider registers make long reductions shorter by an eighth; they do the same to each element.
fn combine(operation: Predefined, number: Number, operands: Operands<'_>) {
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        unsafe { combine_by_avx2(operation, number, operands) }
    } else {
        combine_by(operation, number, operands);
    }
}

#[target_feature(enable = "avx2")]
fn combine_by_avx2(operation: Predefined, number: Number, operands: Operands<'_>) {
    combine_by(operation, number, operands);
}

/// Compiled once more into each function that calls it, for the processors that the function is for.
#[inline(always)]
fn combine_by(operation: Predefined, number: Number, operands: Operands<'_>) {
    match number {
        Number::Nothing => {}
        Number::Int8 => integer::<i8, 1>(operation, operands),
        Number::Int16 => integer::<i16, 2>(operation, operands),
        Number::Int32 => integer::<i32, 4>(operation, operands),
        Number::Int64 => integer::<i64, 8>(operation, operands),
        Number::Int128 => integer::<i128, 16>(operation, operands),
        Number::Uint8 => integer::<u8, 1>(operation, operands),
        Number::Uint16 => integer::<u16, 2>(operation, operands),
        Number::Uint32 => integer::<u32, 4>(operation, operands),
        Number::Uint64 => integer::<u64, 8>(operation, operands),
        Number::Half => real::<Half, 2>(operation, operands),
        Number::BrainHalf => real::<BFloat, 2>(operation, operands),
        Number::Single => real::<f32, 4>(operation, operands),
        Number::Double => real::<f64, 8>(operation, operands),
        Number::Extended => real::<Extended, 16>(operation, operands),
        Number::Quadruple => real::<Quad, 16>(operation, operands),
        Number::ComplexHalf => complex::<Half, 2, 4>(operation, operands),
        Number::ComplexSingle => complex::<f32, 4, 8>(operation, operands),
        Number::ComplexDouble => complex::<f64, 8, 16>(operation, operands),
        Number::ComplexExtended => complex::<Extended, 16, 32>(operation, operands),
        Number::ComplexQuadruple => complex::<Quad, 16, 32>(operation, operands),
    }
}

/// Applies a function to elements of `N` bytes: to those of a block at once, then to what is left.
#[inline(always)]
fn each_bytes<const N: usize>(operands: Operands<'_>, function: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let Operands { earlier, later, kept } = operands;
    let done = earlier.zip_to::<BLOCK>(later, kept, |earlier, later| {
        let mut kept = [0; BLOCK];
        let operands = earlier.as_chunks::<N>().0.iter().zip(later.as_chunks::<N>().0);
        for (kept, (earlier, later)) in kept.as_chunks_mut::<N>().0.iter_mut().zip(operands) {
            *kept = function(*earlier, *later);
        }
        kept
    });
    let left = kept.len() - done;
    earlier.part(done, left).zip_to::<N>(later.part(done, left), kept.part(done, left), function);
}

#[inline(always)]
fn each<T: Bits<N>, const N: usize>(operands: Operands<'_>, function: impl Fn(T, T) -> T) {
    each_bytes::<N>(operands, |earlier, later| function(T::load(earlier), T::load(later)).store());
}

#[inline(always)]
fn integer<T: Integer<N>, const N: usize>(operation: Predefined, operands: Operands<'_>) {
    match operation {
        Predefined::Max => each::<T, N>(operands, T::max),
        Predefined::Min => each::<T, N>(operands, T::min),
        Predefined::Sum => each::<T, N>(operands, T::sum),
        Predefined::Product => each::<T, N>(operands, T::product),
        Predefined::LogicalAnd => each::<T, N>(operands, |a, b| T::from(a.truth() & b.truth())),
        Predefined::LogicalOr => each::<T, N>(operands, |a, b| T::from(a.truth() | b.truth())),
        Predefined::LogicalXor => each::<T, N>(operands, |a, b| T::from(a.truth() ^ b.truth())),
        Predefined::BitwiseAnd => each::<T, N>(operands, |a, b| a & b),
        Predefined::BitwiseOr => each::<T, N>(operands, |a, b| a | b),
        Predefined::BitwiseXor => each::<T, N>(operands, |a, b| a ^ b),
        _ => undefined(operation),
    }
}

#[inline(always)]
fn real<T: Real<N>, const N: usize>(operation: Predefined, operands: Operands<'_>) {
    match operation {
        Predefined::Max => each::<T, N>(operands, |a, b| if a < b { b } else { a }),
        Predefined::Min => each::<T, N>(operands, |a, b| if b < a { b } else { a }),
        Predefined::Sum => each::<T, N>(operands, T::sum),
        Predefined::Product => each::<T, N>(operands, T::product),
        _ => undefined(operation),
    }
}

/// `M`: twice `N`.
#[inline(always)]
fn complex<T: Real<N>, const N: usize, const M: usize>(operation: Predefined, operands: Operands<'_>) {
    match operation {
        Predefined::Sum => each::<T, N>(operands, T::sum),
        Predefined::Product => each_bytes::<M>(operands, |earlier, later| {
            let [(a, b), (c, d)] = [earlier, later].map(|number| {
                let parts = number.as_chunks::<N>().0;
                (T::load(parts[0]), T::load(parts[1]))
            });
            let mut product = [0; M];
            let parts = product.as_chunks_mut::<N>().0;
            parts[0] = a.product(c).difference(b.product(d)).store();
            parts[1] = a.product(d).sum(b.product(c)).store();
            product
        }),
        _ => undefined(operation),
    }
}

#[cold]
fn undefined(operation: Predefined) {
    unreachable!("{} of elements for which `supports` denies it", operation.name())
}
