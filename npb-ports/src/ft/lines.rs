//! Lines of a three-dimensional array, in and out of the blocks that are transformed.

use super::fft::{Block, Plan};
use crate::lanes::LANES;
use multiversion::multiversion;
use num_complex::Complex64;

/// Where the numbers of a line stand, relative to its first.
///
/// After an exchange between processes a line comes in parts, one from each process.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    /// Numbers of a line in each part.
    pub inner: usize,
    /// From a number to the next of the same part.
    pub step: usize,
    /// From a part to the next.
    pub part: usize,
}

impl Along {
    /// Place of number `index`.
    #[inline(always)]
    pub fn place(&self, index: usize) -> usize {
        index / self.inner * self.part + index % self.inner * self.step
    }
}

/// Up to [`LANES`] lines of an array.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Place of the first line's first number.
    pub first: usize,
    /// From a line to the next.
    pub across: usize,
    /// How many lines.
    pub count: usize,
    /// Where their numbers are.
    pub along: Along,
}

/// Which of the two transforms of a dimension: they differ in the sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// exp(2 pi i j k / n).
    Forward,
    /// exp(-2 pi i j k / n), without division by n.
    Inverse,
}

impl Block {
    /// Real and imaginary parts, in the order that makes a transform one of that direction.
    #[inline(always)]
    fn parts(&mut self, direction: Direction) -> [&mut [[f64; LANES]]; 2] {
        let (re, im) = (self.re.as_chunks_mut().0, self.im.as_chunks_mut().0);
        match direction {
            Direction::Forward => [re, im],
            Direction::Inverse => [im, re],
        }
    }
}

/// Loads lines into a block.
pub fn load(plan: &Plan, direction: Direction, array: &[Complex64], lines: Lines, block: &mut Block) {
    let [re, im] = block.parts(direction);
    let (re, im) = (&mut re[..plan.length()], &mut im[..plan.length()]);
    if lines.across == 1 && lines.count == LANES {
        load_side_by_side(array, lines, re, im);
    } else {
        load_any(array, lines, re, im);
    }
}

/// Stores the results of a transform.
pub fn store(plan: &Plan, direction: Direction, block: &mut Block, array: &mut [Complex64], lines: Lines) {
    let [re, im] = block.parts(direction);
    if lines.across == 1 && lines.count == LANES {
        store_side_by_side(plan, re, im, array, lines);
    } else {
        store_any(plan, re, im, array, lines);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn load_side_by_side(array: &[Complex64], lines: Lines, re: &mut [[f64; LANES]], im: &mut [[f64; LANES]]) {
    let Along { inner, step, part } = lines.along;
    for (piece, (re, im)) in re.chunks_mut(inner).zip(im.chunks_mut(inner)).enumerate() {
        let rows = array[lines.first + piece * part..].chunks(step);
        for ((row, re), im) in rows.zip(re).zip(im) {
            let row: &[Complex64; LANES] = row.first_chunk().expect("a row has a vector of points");
            for lane in 0..LANES {
                re[lane] = row[lane].re;
                im[lane] = row[lane].im;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn store_side_by_side(plan: &Plan, re: &[[f64; LANES]], im: &[[f64; LANES]], array: &mut [Complex64], lines: Lines) {
    let Along { inner, step, part } = lines.along;
    for (piece, places) in plan.places().chunks(inner).enumerate() {
        let rows = array[lines.first + piece * part..].chunks_mut(step);
        for (row, place) in rows.zip(places) {
            let (re, im) = (&re[*place], &im[*place]);
            let row: &mut [Complex64; LANES] = row.first_chunk_mut().expect("a row has a vector of points");
            for lane in 0..LANES {
                row[lane] = Complex64::new(re[lane], im[lane]);
            }
        }
    }
}

/// A few numbers of each line at a time, so that whole cache lines of the block are filled.
#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn load_any(array: &[Complex64], lines: Lines, re: &mut [[f64; LANES]], im: &mut [[f64; LANES]]) {
    let Along { inner, step, part } = lines.along;
    for (piece, (re, im)) in re.chunks_mut(inner).zip(im.chunks_mut(inner)).enumerate() {
        for (few, (re, im)) in re.chunks_mut(LANES).zip(im.chunks_mut(LANES)).enumerate() {
            let first = lines.first + piece * part + few * LANES * step;
            for lane in 0..lines.count {
                let line = array[first + lane * lines.across..].iter().step_by(step);
                for ((re, im), value) in re.iter_mut().zip(im.iter_mut()).zip(line) {
                    re[lane] = value.re;
                    im[lane] = value.im;
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn store_any(plan: &Plan, re: &[[f64; LANES]], im: &[[f64; LANES]], array: &mut [Complex64], lines: Lines) {
    let Along { inner, step, part } = lines.along;
    for (piece, places) in plan.places().chunks(inner).enumerate() {
        for (few, places) in places.chunks(LANES).enumerate() {
            let first = lines.first + piece * part + few * LANES * step;
            for lane in 0..lines.count {
                let line = array[first + lane * lines.across..].iter_mut().step_by(step);
                for (value, place) in line.zip(places) {
                    *value = Complex64::new(re[*place][lane], im[*place][lane]);
                }
            }
        }
    }
}
