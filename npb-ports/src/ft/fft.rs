//! The discrete Fourier transform of one dimension, of several lines side by side.
//!
//! Each number stands for [`crate::lanes::LANES`] lines, so every operation is a vector operation and the lines' length
//! needs no vector-friendly structure. The transform is in place, of radix 4 with a last step of radix 2 where the length
//! asks for it, by decimation in frequency: its results come out with their digits reversed, and whoever takes them out of
//! the block takes them in the right order ([`Plan::place`]).

use crate::lanes::Lanes;
use multiversion::multiversion;
use std::f64::consts::PI;

/// Real and imaginary parts.
pub type Number = [Lanes; 2];

/// What the transform of lines of one length needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    length: usize,
    /// Powers 1, 2 and 3 of the roots of unity exp(2 pi i j / length), for j up to a quarter of the length.
    roots: Vec<[[f64; 2]; 3]>,
    /// Where each result stands after the transform.
    places: Vec<usize>,
}

impl Plan {
    /// For lines of `length` numbers, a power of two.
    pub fn new(length: usize) -> Self {
        assert!(length.is_power_of_two(), "the transform splits lines into halves");
        let root = |power: usize| {
            let angle = 2.0 * PI * power as f64 / length as f64;
            [angle.cos(), angle.sin()]
        };
        let roots = (0..length / 4).map(|j| [root(j), root(2 * j), root(3 * j)]).collect();
        let mut places = vec![0; length];
        for (place, frequency) in frequencies(length).into_iter().enumerate() {
            places[frequency] = place;
        }
        Plan { length, roots, places }
    }

    /// Numbers in a line.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Where the result number `frequency` stands in a transformed block.
    #[inline(always)]
    pub fn place(&self, frequency: usize) -> usize {
        self.places[frequency]
    }

    /// Replaces the numbers x(j) by the sums over j of x(j) exp(2 pi i j k / length).
    ///
    /// With real and imaginary parts exchanged, before and after, it is exp(-2 pi i j k / length).
    pub fn transform(&self, block: &mut [Number]) {
        transform(&self.roots, &mut block[..self.length]);
    }
}

/// Which result stands where after the transform: the first step sorts by the lowest digit, and so on.
fn frequencies(length: usize) -> Vec<usize> {
    let radix = length.min(if length == 2 { 2 } else { 4 });
    if length == 1 {
        return vec![0];
    }
    let part = frequencies(length / radix);
    (0..radix).flat_map(|digit| part.iter().map(move |frequency| digit + radix * frequency)).collect()
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn transform(roots: &[[[f64; 2]; 3]], block: &mut [Number]) {
    let (mut length, mut stride) = (block.len(), 1);
    while length >= 4 {
        for part in block.chunks_exact_mut(length) {
            split_in_four(roots, stride, part);
        }
        (length, stride) = (length / 4, stride * 4);
    }
    if length == 2 {
        for [a, b] in block.as_chunks_mut::<2>().0 {
            (*a, *b) = (sum(*a, *b), difference(*a, *b));
        }
    }
}

/// Turns a transform into four of a quarter of its length, one for each last digit of the frequency.
#[inline(always)]
fn split_in_four(roots: &[[[f64; 2]; 3]], stride: usize, numbers: &mut [Number]) {
    let quarter = numbers.len() / 4;
    let (first, rest) = numbers.split_at_mut(quarter);
    let (second, rest) = rest.split_at_mut(quarter);
    let (third, fourth) = rest.split_at_mut(quarter);
    let roots = roots.iter().step_by(stride);
    for ((((a, b), c), d), [w1, w2, w3]) in first.iter_mut().zip(second).zip(third).zip(fourth).zip(roots) {
        let (even, odd) = (sum(*a, *c), difference(*a, *c));
        let (even_beside, odd_beside) = (sum(*b, *d), difference(*b, *d));
        *a = sum(even, even_beside);
        *c = times(difference(even, even_beside), w2);
        *b = times([odd[0] - odd_beside[1], odd[1] + odd_beside[0]], w1);
        *d = times([odd[0] + odd_beside[1], odd[1] - odd_beside[0]], w3);
    }
}

#[inline(always)]
fn sum(a: Number, b: Number) -> Number {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn difference(a: Number, b: Number) -> Number {
    [a[0] - b[0], a[1] - b[1]]
}

#[inline(always)]
fn times([re, im]: Number, w: &[f64; 2]) -> Number {
    let (cos, sin) = (Lanes::splat(w[0]), Lanes::splat(w[1]));
    [(re * cos).minus_product(im, sin), (im * cos).plus_product(re, sin)]
}

#[cfg(test)]
mod tests {
    use super::{Number, PI, Plan};
    use crate::lanes::{LANES, Lanes};
    use crate::random::Generator;
    use std::array::from_fn;

    #[test]
    fn every_length_gives_the_sums_of_the_definition() {
        for length in [1, 2, 4, 8, 16, 32, 64, 128] {
            let mut generator = Generator::new(5);
            let numbers: Vec<Number> =
                (0..length).map(|_| from_fn(|_| Lanes(from_fn(|_| generator.next_number())))).collect();
            let plan = Plan::new(length);
            let mut block = numbers.clone();
            plan.transform(&mut block);
            for k in 0..length {
                for lane in 0..LANES {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (j, number) in numbers.iter().enumerate() {
                        let angle = 2.0 * PI * (j * k % length) as f64 / length as f64;
                        re += number[0].0[lane] * angle.cos() - number[1].0[lane] * angle.sin();
                        im += number[0].0[lane] * angle.sin() + number[1].0[lane] * angle.cos();
                    }
                    let [result_re, result_im] = block[plan.place(k)].map(|part| part.0[lane]);
                    assert!((result_re - re).abs() + (result_im - im).abs() < 1e-12 * length as f64);
                }
            }
        }
    }
}
