//! Lines of a three-dimensional array, in and out of the blocks that are transformed.

use super::fft::{Number, Plan};
use crate::lanes::{LANES, Lanes};
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

impl Direction {
    /// Which part of a [`Number`] holds the real parts: exchanging them with the imaginary parts changes the direction.
    #[inline(always)]
    fn real(self) -> usize {
        match self {
            Direction::Forward => 0,
            Direction::Inverse => 1,
        }
    }
}

/// Transforms lines in place.
pub fn transform_in_place(
    plan: &Plan,
    direction: Direction,
    array: &mut [Complex64],
    lines: Lines,
    block: &mut [Number],
) {
    load(array, lines, direction, &mut block[..plan.length()]);
    plan.transform(block);
    store(plan, block, direction, array, lines);
}

/// Loads lines into a block.
pub fn load(array: &[Complex64], lines: Lines, direction: Direction, block: &mut [Number]) {
    if lines.across == 1 && lines.count == LANES {
        load_side_by_side(array, lines, direction.real(), block);
    } else {
        load_any(array, lines, direction.real(), block);
    }
}

/// Stores the results of a transform.
pub fn store(plan: &Plan, block: &[Number], direction: Direction, array: &mut [Complex64], lines: Lines) {
    if lines.across == 1 && lines.count == LANES {
        store_side_by_side(plan, block, direction.real(), array, lines);
    } else {
        store_any(plan, block, direction.real(), array, lines);
    }
}

/// Separates real and imaginary parts.
#[inline(always)]
pub fn separate(numbers: &[Complex64; LANES]) -> [Lanes; 2] {
    let (mut re, mut im) = (Lanes::default(), Lanes::default());
    for lane in 0..LANES {
        re.0[lane] = numbers[lane].re;
        im.0[lane] = numbers[lane].im;
    }
    [re, im]
}

/// The reverse of [`separate`].
#[inline(always)]
pub fn join(re: &Lanes, im: &Lanes, numbers: &mut [Complex64; LANES]) {
    for lane in 0..LANES {
        numbers[lane] = Complex64::new(re.0[lane], im.0[lane]);
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn load_side_by_side(array: &[Complex64], lines: Lines, real: usize, block: &mut [Number]) {
    for (part, numbers) in block.chunks_mut(lines.along.inner).enumerate() {
        let first = lines.first + part * lines.along.part;
        for (index, number) in numbers.iter_mut().enumerate() {
            let row = array[first + index * lines.along.step..].first_chunk().expect("a row has a vector of points");
            let [re, im] = separate(row);
            number[real] = re;
            number[1 - real] = im;
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn store_side_by_side(plan: &Plan, block: &[Number], real: usize, array: &mut [Complex64], lines: Lines) {
    for part in 0..plan.length() / lines.along.inner {
        let first = lines.first + part * lines.along.part;
        for index in 0..lines.along.inner {
            let number = &block[plan.place(part * lines.along.inner + index)];
            let row = array[first + index * lines.along.step..].first_chunk_mut();
            join(&number[real], &number[1 - real], row.expect("a row has a vector of points"));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn load_any(array: &[Complex64], lines: Lines, real: usize, block: &mut [Number]) {
    let Along { inner, step, part } = lines.along;
    for (piece, numbers) in block.chunks_mut(inner).enumerate() {
        for lane in 0..lines.count {
            let line = &array[lines.first + piece * part + lane * lines.across..];
            for (number, value) in numbers.iter_mut().zip(line.iter().step_by(step)) {
                number[real].0[lane] = value.re;
                number[1 - real].0[lane] = value.im;
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn store_any(plan: &Plan, block: &[Number], real: usize, array: &mut [Complex64], lines: Lines) {
    let Along { inner, step, part } = lines.along;
    for piece in 0..plan.length() / inner {
        for lane in 0..lines.count {
            let line = &mut array[lines.first + piece * part + lane * lines.across..];
            for (index, value) in line.iter_mut().step_by(step).take(inner).enumerate() {
                let number = &block[plan.place(piece * inner + index)];
                *value = Complex64::new(number[real].0[lane], number[1 - real].0[lane]);
            }
        }
    }
}
