//! Fourier transforms of many lines at once: Stockham's algorithm, radix 4 with one stage of radix 2 where the length asks for
//! it, eight lines side by side so that each step is a vector instruction.

use multiversion::multiversion;

use super::Complex;

/// Lines that are transformed side by side.
pub const LANES: usize = 8;

type Lane = [f64; LANES];

/// The same place of eight lines.
#[derive(Clone, Copy)]
struct Point {
    re: Lane,
    im: Lane,
}

const ZERO: Point = Point { re: [0.0; LANES], im: [0.0; LANES] };

/// Which way to transform; neither divides by the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With exponent -2πi.
    Forward,
    /// With exponent +2πi.
    Inverse,
}

/// A plan for lines of one length, with room to work.
pub struct Plan {
    /// `exp(-2πi k / n)`.
    roots: Vec<Complex>,
    points: Vec<Point>,
    work: Vec<Point>,
}

/// Where the elements of a set of lines lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// From one element of a line to the next.
    pub along: usize,
    /// From one line to the next.
    pub across: usize,
    /// How many lines.
    pub lines: usize,
}

impl Plan {
    /// For lines of `length` elements, a power of two.
    pub fn new(length: usize) -> Self {
        let step = -2.0 * std::f64::consts::PI / length as f64;
        let roots = (0..length).map(|k| [(step * k as f64).cos(), (step * k as f64).sin()]).collect();
        Plan { roots, points: vec![ZERO; length], work: vec![ZERO; length] }
    }

    /// Transforms the lines that `layout` describes, in place.
    pub fn transform(&mut self, data: &mut [Complex], layout: Layout, direction: Direction) {
        let mut first = 0;
        while first < layout.lines {
            let count = LANES.min(layout.lines - first);
            let start = first * layout.across;
            load(data, start, layout, count, &mut self.points, direction);
            run(&self.roots, &mut self.points, &mut self.work);
            store(data, start, layout, count, &self.points, direction);
            first += count;
        }
    }
}

/// The inverse transform is the forward one with real and imaginary parts exchanged before and after.
#[inline(always)]
fn parts(direction: Direction) -> (usize, usize) {
    match direction {
        Direction::Forward => (0, 1),
        Direction::Inverse => (1, 0),
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn load(data: &[Complex], start: usize, layout: Layout, count: usize, points: &mut [Point], direction: Direction) {
    let (re, im) = parts(direction);
    if layout.across == 1 && count == LANES {
        for (k, point) in points.iter_mut().enumerate() {
            let from = &data[start + k * layout.along..][..LANES];
            for lane in 0..LANES {
                point.re[lane] = from[lane][re];
                point.im[lane] = from[lane][im];
            }
        }
        return;
    }
    for lane in 0..count {
        let line = data[start + lane * layout.across..].iter().step_by(layout.along);
        for (point, value) in points.iter_mut().zip(line) {
            point.re[lane] = value[re];
            point.im[lane] = value[im];
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn store(data: &mut [Complex], start: usize, layout: Layout, count: usize, points: &[Point], direction: Direction) {
    let (re, im) = parts(direction);
    if layout.across == 1 && count == LANES {
        for (k, point) in points.iter().enumerate() {
            let into = &mut data[start + k * layout.along..][..LANES];
            for lane in 0..LANES {
                into[lane][re] = point.re[lane];
                into[lane][im] = point.im[lane];
            }
        }
        return;
    }
    for lane in 0..count {
        let line = data[start + lane * layout.across..].iter_mut().step_by(layout.along);
        for (point, value) in points.iter().zip(line) {
            value[re] = point.re[lane];
            value[im] = point.im[lane];
        }
    }
}

#[inline(always)]
fn combine(a: &Lane, b: &Lane, f: impl Fn(f64, f64) -> f64) -> Lane {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn add(a: &Point, b: &Point) -> Point {
    Point { re: combine(&a.re, &b.re, |a, b| a + b), im: combine(&a.im, &b.im, |a, b| a + b) }
}

#[inline(always)]
fn subtract(a: &Point, b: &Point) -> Point {
    Point { re: combine(&a.re, &b.re, |a, b| a - b), im: combine(&a.im, &b.im, |a, b| a - b) }
}

/// `i` times a point.
#[inline(always)]
fn turned(a: &Point) -> Point {
    Point { re: a.im.map(|im| -im), im: a.re }
}

#[inline(always)]
fn scale(root: Complex, a: &Point) -> Point {
    let [c, s] = root;
    Point { re: combine(&a.re, &a.im, |re, im| re * c - im * s), im: combine(&a.re, &a.im, |re, im| re * s + im * c) }
}

/// Transforms `points` forward; `work` is as long.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn run(roots: &[Complex], points: &mut [Point], work: &mut [Point]) {
    let length = roots.len();
    // Each stage cuts the sequences left to transform (`rest` long, `stride` of them, interleaved) into shorter ones.
    let (mut rest, mut stride) = (length, 1);
    let mut in_work = false;
    while rest > 1 {
        let (from, into): (&[Point], &mut [Point]) = if in_work { (work, points) } else { (points, work) };
        if rest % 4 == 0 {
            let quarter = rest / 4;
            for p in 0..quarter {
                let turn = p * (length / rest);
                let (w1, w2, w3) = (roots[turn], roots[2 * turn], roots[3 * turn]);
                let input = |part: usize| &from[stride * (p + part * quarter)..][..stride];
                let (a, b, c, d) = (input(0), input(1), input(2), input(3));
                let (y0, rest_of) = into[stride * 4 * p..][..4 * stride].split_at_mut(stride);
                let (y1, rest_of) = rest_of.split_at_mut(stride);
                let (y2, y3) = rest_of.split_at_mut(stride);
                for q in 0..stride {
                    let (sum_ac, difference_ac) = (add(&a[q], &c[q]), subtract(&a[q], &c[q]));
                    let (sum_bd, turned_bd) = (add(&b[q], &d[q]), turned(&subtract(&b[q], &d[q])));
                    y0[q] = add(&sum_ac, &sum_bd);
                    y1[q] = scale(w1, &subtract(&difference_ac, &turned_bd));
                    y2[q] = scale(w2, &subtract(&sum_ac, &sum_bd));
                    y3[q] = scale(w3, &add(&difference_ac, &turned_bd));
                }
            }
            (rest, stride) = (quarter, stride * 4);
        } else {
            // Two elements are left in each sequence.
            let (a, b) = from.split_at(stride);
            let (y0, y1) = into.split_at_mut(stride);
            for q in 0..stride {
                y0[q] = add(&a[q], &b[q]);
                y1[q] = subtract(&a[q], &b[q]);
            }
            (rest, stride) = (1, stride * 2);
        }
        in_work = !in_work;
    }
    if in_work {
        points.copy_from_slice(work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of the transform, term by term.
    fn naive(line: &[Complex], sign: f64) -> Vec<Complex> {
        let n = line.len();
        let term = |k: usize, j: usize| {
            let angle = sign * 2.0 * std::f64::consts::PI * ((k * j) % n) as f64 / n as f64;
            let ([re, im], (s, c)) = (line[j], angle.sin_cos());
            [re * c - im * s, re * s + im * c]
        };
        let sum = |k| (0..n).map(|j| term(k, j)).fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]]);
        (0..n).map(sum).collect()
    }

    #[test]
    fn lines_in_any_layout_become_their_transforms() {
        for length in [2, 4, 8, 32, 64] {
            for lines in [1, 8, 11] {
                for (along, across) in [(1, length), (lines, 1)] {
                    for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
                        let value = |i: usize| [(i * i % 17) as f64 - 3.0, (i % 5) as f64];
                        let mut data: Vec<Complex> = (0..length * lines).map(value).collect();
                        let original = data.clone();
                        Plan::new(length).transform(&mut data, Layout { along, across, lines }, direction);
                        for line in 0..lines {
                            let place = |k: usize| line * across + k * along;
                            let input: Vec<Complex> = (0..length).map(|k| original[place(k)]).collect();
                            for (k, expected) in naive(&input, sign).into_iter().enumerate() {
                                let found = data[place(k)];
                                assert!((found[0] - expected[0]).abs() + (found[1] - expected[1]).abs() < 1e-9);
                            }
                        }
                    }
                }
            }
        }
    }
}
