//! One batch: 2^16 pairs of uniform numbers, those inside the unit circle turned into Gaussian deviates and tallied.
//!
//! Pairs are worked on in blocks that stay in the first-level cache, pass by pass, each pass a loop without branches
//! that the compiler turns into vector instructions. Rejected pairs are carried along as zeros instead of being sorted
//! out.

use super::logarithm::natural_logarithm;
use crate::random::Generator;
use multiversion::multiversion;

/// Pairs in a batch.
pub const PAIRS_PER_BATCH: usize = 1 << 16;

const PAIRS_PER_BLOCK: usize = 1 << 8;

/// Sums and counts over Gaussian pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of the absolute values of the first deviates.
    pub sum_x: f64,
    /// Sum of the absolute values of the second deviates.
    pub sum_y: f64,
    /// How many pairs have a larger absolute value in `l..l + 1`, for each `l`.
    pub annuli: [u64; 10],
}

impl Tally {
    /// How many pairs were tallied.
    pub fn count(&self) -> u64 {
        self.annuli.iter().sum()
    }
}

/// A block of pairs: absolute values of the deviates, zero in rejected pairs.
struct Pairs {
    x: [f64; PAIRS_PER_BLOCK],
    y: [f64; PAIRS_PER_BLOCK],
    /// The integer part of the larger of the two, [`REJECTED`] in rejected pairs.
    annulus: [u32; PAIRS_PER_BLOCK],
}

/// Above every annulus: the generator's numbers are multiples of 2^-46, so that no deviate reaches 10.
const REJECTED: u32 = 15;

const TWO_TO_THE_52: f64 = (1_u64 << 52) as f64;

/// Adds the batch whose random numbers follow `start` to `tally`.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn tally(start: Generator, tally: &mut Tally) {
    let mut generator = start;
    let mut uniforms = [0.0; 2 * PAIRS_PER_BLOCK];
    let mut pairs = Pairs { x: [0.0; _], y: [0.0; _], annulus: [0; _] };
    // Two tables, so that counting equal neighbours does not wait for the store of the first.
    let mut counts = [[0_u64; 16]; 2];
    for _ in 0..PAIRS_PER_BATCH / PAIRS_PER_BLOCK {
        generator.fill(&mut uniforms);
        gaussian_pairs(&uniforms, &mut pairs);
        tally.sum_x += sum(&pairs.x);
        tally.sum_y += sum(&pairs.y);
        for &[even, odd] in pairs.annulus.as_chunks().0 {
            counts[0][even as usize % 16] += 1;
            counts[1][odd as usize % 16] += 1;
        }
    }
    for (l, count) in tally.annuli.iter_mut().enumerate() {
        *count += counts[0][l] + counts[1][l];
    }
}

/// Makes Gaussian pairs of pairs of uniform numbers.
#[inline(always)]
fn gaussian_pairs(uniforms: &[f64; 2 * PAIRS_PER_BLOCK], pairs: &mut Pairs) {
    let uniforms: &[[f64; 2]] = uniforms.as_chunks().0;
    let results = pairs.x.iter_mut().zip(&mut pairs.y).zip(&mut pairs.annulus);
    for ([first, second], ((x, y), annulus)) in uniforms.iter().zip(results) {
        let (first, second) = (2.0 * first - 1.0, 2.0 * second - 1.0);
        let square = first * first + second * second;
        let accepted = square <= 1.0;
        // The logarithm of 1 is 0, which makes both deviates of a rejected pair 0.
        let square = if accepted { square } else { 1.0 };
        let factor = (-2.0 * natural_logarithm(square) / square).sqrt();
        (*x, *y) = ((first * factor).abs(), (second * factor).abs());
        let larger = if *x > *y { *x } else { *y };
        // Exact, and unlike a conversion to an integer a vector operation: the last bits of 2^52 + n are those of n.
        *annulus = if accepted { (larger.floor() + TWO_TO_THE_52).to_bits() as u32 & 15 } else { REJECTED };
    }
}

/// The sum, taken in eight parts so that the additions do not wait for one another.
#[inline(always)]
fn sum(numbers: &[f64; PAIRS_PER_BLOCK]) -> f64 {
    let mut lanes = [0.0; 8];
    for group in numbers.as_chunks::<8>().0 {
        lanes.iter_mut().zip(group).for_each(|(lane, number)| *lane += number);
    }
    lanes.iter().sum()
}
