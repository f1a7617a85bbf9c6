//! Several numbers that go through the same operations: what the vector loops compute with.
//!
//! The compiler turns every operation into vector instructions, provided that all of them are inlined into a function
//! that carries `#[multiversion]`: closures given to functions of the standard library are not always. Fused products
//! need a processor that has them, or they are slow.

use std::array::from_fn;
use std::ops::{Add, Mul, Neg, Sub};

/// How many numbers there are.
pub const LANES: usize = 8;

/// Some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Lanes(pub [f64; LANES]);

/// Five numbers of a point, for each of several points.
pub type Unknowns = [Lanes; 5];

impl Lanes {
    /// The same number everywhere.
    #[inline(always)]
    pub fn splat(number: f64) -> Self {
        Lanes([number; LANES])
    }

    /// Those that `numbers` has from `first` on.
    #[inline(always)]
    pub fn load(numbers: &[f64], first: usize) -> Self {
        let numbers = &numbers[first..first + LANES];
        Lanes(from_fn(|lane| numbers[lane]))
    }

    /// Puts them into `numbers` from `first` on.
    #[inline(always)]
    pub fn store(self, numbers: &mut [f64], first: usize) {
        numbers[first..first + LANES].copy_from_slice(&self.0);
    }

    /// Those of `self` whose index is in the range, of `others` elsewhere.
    #[inline(always)]
    pub fn within(self, start: usize, end: usize, others: Lanes) -> Self {
        Lanes(from_fn(|lane| if start <= lane && lane < end { self.0[lane] } else { others.0[lane] }))
    }

    /// `self + a * b`, rounded once.
    #[inline(always)]
    pub fn plus_product(self, a: Lanes, b: Lanes) -> Self {
        Lanes(from_fn(|lane| a.0[lane].mul_add(b.0[lane], self.0[lane])))
    }

    /// `self - a * b`, rounded once.
    #[inline(always)]
    pub fn minus_product(self, a: Lanes, b: Lanes) -> Self {
        Lanes(from_fn(|lane| (-a.0[lane]).mul_add(b.0[lane], self.0[lane])))
    }

    /// `1 / self`.
    #[inline(always)]
    pub fn recip(self) -> Self {
        Lanes(from_fn(|lane| 1.0 / self.0[lane]))
    }

    /// Square root.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Lanes(from_fn(|lane| self.0[lane].sqrt()))
    }
}

impl Add for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn add(self, other: Lanes) -> Lanes {
        Lanes(from_fn(|lane| self.0[lane] + other.0[lane]))
    }
}

impl Sub for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn sub(self, other: Lanes) -> Lanes {
        Lanes(from_fn(|lane| self.0[lane] - other.0[lane]))
    }
}

impl Mul for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes(from_fn(|lane| self.0[lane] * other.0[lane]))
    }
}

impl Mul<Lanes> for f64 {
    type Output = Lanes;
    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes(from_fn(|lane| self * other.0[lane]))
    }
}

impl Neg for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn neg(self) -> Lanes {
        Lanes(from_fn(|lane| -self.0[lane]))
    }
}

/// Five numbers, each the same for all points.
#[inline(always)]
pub fn splat_each([a, b, c, d, e]: &[f64; 5]) -> Unknowns {
    [Lanes::splat(*a), Lanes::splat(*b), Lanes::splat(*c), Lanes::splat(*d), Lanes::splat(*e)]
}
