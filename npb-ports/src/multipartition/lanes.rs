//! The same number of several neighbouring lines: what the line solvers compute with.
//!
//! Lines do not depend on each other, so a solver takes a bundle of them through the same operations, which the compiler
//! turns into vector instructions. That needs these functions to be inlined into one that carries `#[multiversion]`.

use std::array::from_fn;
use std::ops::{Add, Mul, Neg, Sub};

/// How many lines a bundle has.
pub const LANES: usize = 8;

/// One number for each line of a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Lanes(pub [f64; LANES]);

/// The five unknowns of a point, for each line of a bundle.
pub type Unknowns = [Lanes; 5];

impl Lanes {
    /// The same number for every line.
    #[inline(always)]
    pub fn splat(number: f64) -> Self {
        Lanes([number; LANES])
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
