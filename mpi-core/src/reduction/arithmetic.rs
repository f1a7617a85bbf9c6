//! The loops of the predefined operations, one for each operation and kind of number, plain enough to be vectorised.
//!
//! Elements are read and written as bytes: nothing here depends on their alignment.

use std::ops::{BitAnd, BitOr, BitXor};

use multiversion::multiversion;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half, Quad};

use super::extended::Extended;
use super::predefined::Predefined;
use crate::datatype::Number;

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

/// `kept = kept ∘ other` or, with `other` as the `earlier` operand, `kept = other ∘ kept`.
///
/// The two differ where numbers are equal but not the same (zeros with signs), or are no numbers: there the order of the operands makes
/// sure that all ranks come to the same result.
///
/// Wider registers make long reductions shorter by an eighth; they do the same to each element.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn combine(operation: Predefined, number: Number, kept: &mut [u8], other: &[u8], earlier: bool) {
    match number {
        Number::Nothing => {}
        Number::Int8 => integer::<i8, 1>(operation, kept, other),
        Number::Int16 => integer::<i16, 2>(operation, kept, other),
        Number::Int32 => integer::<i32, 4>(operation, kept, other),
        Number::Int64 => integer::<i64, 8>(operation, kept, other),
        Number::Int128 => integer::<i128, 16>(operation, kept, other),
        Number::Uint8 => integer::<u8, 1>(operation, kept, other),
        Number::Uint16 => integer::<u16, 2>(operation, kept, other),
        Number::Uint32 => integer::<u32, 4>(operation, kept, other),
        Number::Uint64 => integer::<u64, 8>(operation, kept, other),
        Number::Half => real::<Half, 2>(operation, kept, other, earlier),
        Number::BrainHalf => real::<BFloat, 2>(operation, kept, other, earlier),
        Number::Single => real::<f32, 4>(operation, kept, other, earlier),
        Number::Double => real::<f64, 8>(operation, kept, other, earlier),
        Number::Extended => real::<Extended, 16>(operation, kept, other, earlier),
        Number::Quadruple => real::<Quad, 16>(operation, kept, other, earlier),
        Number::ComplexHalf => complex::<Half, 2>(operation, kept, other),
        Number::ComplexSingle => complex::<f32, 4>(operation, kept, other),
        Number::ComplexDouble => complex::<f64, 8>(operation, kept, other),
        Number::ComplexExtended => complex::<Extended, 16>(operation, kept, other),
        Number::ComplexQuadruple => complex::<Quad, 16>(operation, kept, other),
    }
}

#[inline(always)]
fn each<T: Bits<N>, const N: usize>(kept: &mut [u8], other: &[u8], function: impl Fn(T, T) -> T) {
    let (kept, other) = (kept.as_chunks_mut::<N>().0, other.as_chunks::<N>().0);
    for (kept, other) in kept.iter_mut().zip(other) {
        *kept = function(T::load(*kept), T::load(*other)).store();
    }
}

#[inline(always)]
fn integer<T: Integer<N>, const N: usize>(operation: Predefined, kept: &mut [u8], other: &[u8]) {
    match operation {
        Predefined::Max => each::<T, N>(kept, other, T::max),
        Predefined::Min => each::<T, N>(kept, other, T::min),
        Predefined::Sum => each::<T, N>(kept, other, T::sum),
        Predefined::Product => each::<T, N>(kept, other, T::product),
        Predefined::LogicalAnd => each::<T, N>(kept, other, |a, b| T::from(a.truth() & b.truth())),
        Predefined::LogicalOr => each::<T, N>(kept, other, |a, b| T::from(a.truth() | b.truth())),
        Predefined::LogicalXor => each::<T, N>(kept, other, |a, b| T::from(a.truth() ^ b.truth())),
        Predefined::BitwiseAnd => each::<T, N>(kept, other, |a, b| a & b),
        Predefined::BitwiseOr => each::<T, N>(kept, other, |a, b| a | b),
        Predefined::BitwiseXor => each::<T, N>(kept, other, |a, b| a ^ b),
        _ => undefined(operation),
    }
}

#[inline(always)]
fn real<T: Real<N>, const N: usize>(operation: Predefined, kept: &mut [u8], other: &[u8], earlier: bool) {
    let larger = |a, b| if a < b { b } else { a };
    let smaller = |a, b| if b < a { b } else { a };
    match operation {
        Predefined::Max if earlier => each::<T, N>(kept, other, |a, b| larger(b, a)),
        Predefined::Max => each::<T, N>(kept, other, larger),
        Predefined::Min if earlier => each::<T, N>(kept, other, |a, b| smaller(b, a)),
        Predefined::Min => each::<T, N>(kept, other, smaller),
        Predefined::Sum => each::<T, N>(kept, other, T::sum),
        Predefined::Product => each::<T, N>(kept, other, T::product),
        _ => undefined(operation),
    }
}

#[inline(always)]
fn complex<T: Real<N>, const N: usize>(operation: Predefined, kept: &mut [u8], other: &[u8]) {
    match operation {
        Predefined::Sum => each::<T, N>(kept, other, T::sum),
        Predefined::Product => {
            let kept = kept.as_chunks_mut::<N>().0.as_chunks_mut::<2>().0;
            let other = other.as_chunks::<N>().0.as_chunks::<2>().0;
            for (kept, other) in kept.iter_mut().zip(other) {
                let [(a, b), (c, d)] = [&*kept, other].map(|[real, imaginary]| (T::load(*real), T::load(*imaginary)));
                *kept = [
                    a.product(c).difference(b.product(d)).store(), //
                    a.product(d).sum(b.product(c)).store(),
                ];
            }
        }
        _ => undefined(operation),
    }
}

#[cold]
fn undefined(operation: Predefined) {
    unreachable!("{} of elements for which `supports` denies it", operation.name())
}
