//! The discrete Fourier transform of one dimension, of several lines side by side.
//!
//! Number j of all lines of a [`Block`] stands before number j + 1 of any, so every loop runs over contiguous numbers
//! and the lines' length needs no vector-friendly structure. The transform is in place, of radix 4 with a first step of
//! radix 2 where the length asks for it. A step multiplies whole stretches of numbers by the same roots of unity; the
//! price is that results come out with their digits reversed, and whoever takes them out of the block takes them in the
//! right order ([`Plan::places`]).

use crate::lanes::LANES;
use multiversion::multiversion;
use std::f64::consts::PI;

/// Real and imaginary part.
type Root = [f64; 2];

/// Some lines in work.
#[derive(Clone, Debug)]
pub struct Block {
    /// Real parts: [`LANES`] numbers, one of each line, then the next of each line.
    pub re: Vec<f64>,
    /// Imaginary parts.
    pub im: Vec<f64>,
}

/// What the transform of lines of one length needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    length: usize,
    /// For each step of radix 4, and each group of numbers in it, the powers 1, 2 and 3 of the root of unity that
    /// belongs to the group.
    steps: Vec<Vec<[Root; 3]>>,
    /// Where each result stands after the transform.
    places: Vec<usize>,
}

impl Block {
    /// Room for lines of `length`.
    pub fn new(length: usize) -> Self {
        Block { re: vec![0.0; length * LANES], im: vec![0.0; length * LANES] }
    }
}

impl Plan {
    /// For lines of `length` numbers, a power of two.
    pub fn new(length: usize) -> Self {
        assert!(length.is_power_of_two(), "the transform splits lines into halves");
        // What the numbers of each group have in common after the steps so far: the low digits of their frequency.
        let mut frequencies = vec![0];
        let split = |frequencies: &[usize], radix: usize| -> Vec<usize> {
            let groups = frequencies.len();
            frequencies.iter().flat_map(|low| (0..radix).map(move |digit| low + groups * digit)).collect()
        };
        if !length.ilog2().is_multiple_of(2) {
            frequencies = split(&frequencies, 2);
        }
        let mut steps = Vec::new();
        while frequencies.len() < length {
            let turns = |frequency: &usize| *frequency as f64 / (4 * frequencies.len()) as f64;
            steps.push(
                frequencies.iter().map(|frequency| [1.0, 2.0, 3.0].map(|n| root(n * turns(frequency)))).collect(),
            );
            frequencies = split(&frequencies, 4);
        }
        let mut places = vec![0; length];
        for (place, frequency) in frequencies.into_iter().enumerate() {
            places[frequency] = place;
        }
        Plan { length, steps, places }
    }

    /// Numbers in a line.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Where the results stand in a transformed block, by frequency.
    #[inline(always)]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Replaces the numbers x(j) by the sums over j of x(j) exp(2 pi i j k / length).
    ///
    /// With real and imaginary parts exchanged, before and after, it is exp(-2 pi i j k / length).
    pub fn transform(&self, block: &mut Block) {
        let numbers = self.length * LANES;
        transform(&self.steps, &mut block.re[..numbers], &mut block.im[..numbers]);
    }
}

/// A full turn is 2 pi.
fn root(turns: f64) -> Root {
    [(2.0 * PI * turns).cos(), (2.0 * PI * turns).sin()]
}

/// Every step turns each group of numbers into two or four smaller ones, one for each further digit of the frequency.
#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn transform(steps: &[Vec<[Root; 3]>], re: &mut [f64], im: &mut [f64]) {
    let mut size = re.len();
    if size > LANES << (2 * steps.len()) {
        size /= 2;
        let ((a, b), (c, d)) = (re.split_at_mut(size), im.split_at_mut(size));
        radix_two(a, b);
        radix_two(c, d);
    }
    for roots in steps {
        for ((re, im), roots) in re.chunks_exact_mut(size).zip(im.chunks_exact_mut(size)).zip(roots) {
            let ([a, b, c, d], [e, f, g, h]) = (quarters(re), quarters(im));
            radix_four(roots, a, e, b, f, c, g, d, h);
        }
        size /= 4;
    }
}

#[inline(always)]
fn quarters(numbers: &mut [f64]) -> [&mut [f64]; 4] {
    let quarter = numbers.len() / 4;
    let (a, rest) = numbers.split_at_mut(quarter);
    let (b, rest) = rest.split_at_mut(quarter);
    let (c, d) = rest.split_at_mut(quarter);
    [a, b, c, d]
}

/// The sums of four numbers from four quarters, each multiplied by a root of unity, with all powers of i.
///
/// As arguments of their own, rather than in a structure, the compiler knows that the quarters don't overlap.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn radix_four(
    [root_b, root_c, root_d]: &[Root; 3],
    a_re: &mut [f64],
    a_im: &mut [f64],
    b_re: &mut [f64],
    b_im: &mut [f64],
    c_re: &mut [f64],
    c_im: &mut [f64],
    d_re: &mut [f64],
    d_im: &mut [f64],
) {
    let count = a_re.len();
    let (a_im, b_re, b_im) = (&mut a_im[..count], &mut b_re[..count], &mut b_im[..count]);
    let (c_re, c_im) = (&mut c_re[..count], &mut c_im[..count]);
    let (d_re, d_im) = (&mut d_re[..count], &mut d_im[..count]);
    for i in 0..count {
        let a = [a_re[i], a_im[i]];
        let b = times([b_re[i], b_im[i]], root_b);
        let c = times([c_re[i], c_im[i]], root_c);
        let d = times([d_re[i], d_im[i]], root_d);
        let (even, odd) = ([a[0] + c[0], a[1] + c[1]], [a[0] - c[0], a[1] - c[1]]);
        let (even_beside, odd_beside) = ([b[0] + d[0], b[1] + d[1]], [b[0] - d[0], b[1] - d[1]]);
        (a_re[i], a_im[i]) = (even[0] + even_beside[0], even[1] + even_beside[1]);
        (b_re[i], b_im[i]) = (odd[0] - odd_beside[1], odd[1] + odd_beside[0]);
        (c_re[i], c_im[i]) = (even[0] - even_beside[0], even[1] - even_beside[1]);
        (d_re[i], d_im[i]) = (odd[0] + odd_beside[1], odd[1] - odd_beside[0]);
    }
}

/// Sums and differences.
#[inline(always)]
fn radix_two(a: &mut [f64], b: &mut [f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (*a + *b, *a - *b);
    }
}

#[inline(always)]
fn times(number: [f64; 2], root: &Root) -> [f64; 2] {
    [root[0].mul_add(number[0], -(root[1] * number[1])), root[0].mul_add(number[1], root[1] * number[0])]
}

#[cfg(test)]
mod tests {
    use super::{Block, PI, Plan};
    use crate::lanes::LANES;
    use crate::random::Generator;

    #[test]
    fn every_length_gives_the_sums_of_the_definition() {
        for length in [1, 2, 4, 8, 16, 32, 64, 128] {
            let mut block = Block::new(length);
            let mut generator = Generator::new(5);
            generator.fill(&mut block.re);
            generator.fill(&mut block.im);
            let numbers = block.clone();
            let plan = Plan::new(length);
            plan.transform(&mut block);
            for k in 0..length {
                for lane in 0..LANES {
                    let (mut re, mut im) = (0.0, 0.0);
                    for j in 0..length {
                        let angle = 2.0 * PI * (j * k % length) as f64 / length as f64;
                        let (a, b) = (numbers.re[j * LANES + lane], numbers.im[j * LANES + lane]);
                        re += a * angle.cos() - b * angle.sin();
                        im += a * angle.sin() + b * angle.cos();
                    }
                    let place = plan.places()[k] * LANES + lane;
                    let distance = (block.re[place] - re).abs() + (block.im[place] - im).abs();
                    assert!(distance < 1e-12 * length as f64, "length {length}, frequency {k}: off by {distance}");
                }
            }
        }
    }
}
