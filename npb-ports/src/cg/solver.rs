//! Inverse power iteration: each outer iteration solves A z = x by conjugate gradients and takes z for the next x.

use super::matrix::SparseMatrix;
use multiversion::multiversion;
use rwmpi::Result;
use std::ops::DerefMut;

/// Steps of the conjugate gradient method in each outer iteration; there is no test of convergence.
const STEPS: usize = 25;

/// What has to be combined with other ranks' results.
pub trait Combine {
    /// Adds up each of the numbers that `values` computes over the ranks that have different parts of the vectors.
    fn sum<const N: usize>(&mut self, values: impl FnOnce() -> [f64; N]) -> Result<[f64; N]>;

    /// `multiply` makes this rank's contribution to the product of the matrix and a vector; `product` gets the part of
    /// the whole product that belongs to this rank's part of the vectors.
    fn product(&mut self, multiply: impl FnOnce(&mut [f64]), product: &mut [f64]) -> Result<()>;
}

/// A rank that has the whole matrix.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Combine for Alone {
    fn sum<const N: usize>(&mut self, values: impl FnOnce() -> [f64; N]) -> Result<[f64; N]> {
        Ok(values())
    }

    fn product(&mut self, multiply: impl FnOnce(&mut [f64]), product: &mut [f64]) -> Result<()> {
        multiply(product);
        Ok(())
    }
}

/// The vectors, each the rank's part, in memory of kind `M` where others write to them.
pub struct Solver<M> {
    matrix: SparseMatrix,
    x: Vec<f64>,
    /// The solution, and the direction of search: as long as [`SparseMatrix::padded_width`].
    z: Vec<f64>,
    p: Vec<f64>,
    /// The residual.
    r: Vec<f64>,
    /// The product of the matrix and one of the others.
    q: M,
}

/// What an outer iteration finds out.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The inverse of x·z: the eigenvalue, less the shift.
    pub eigenvalue: f64,
    /// The norm of x − A z.
    pub residual: f64,
}

impl<M: DerefMut<Target = [f64]>> Solver<M> {
    /// With `matrix`, whose width is the length of `q`.
    pub fn new(matrix: SparseMatrix, q: M) -> Self {
        let (length, padded) = (q.len(), matrix.padded_width());
        Solver { matrix, x: vec![1.0; length], z: vec![0.0; padded], p: vec![0.0; padded], r: vec![0.0; length], q }
    }

    /// Starts anew, from a vector of ones.
    pub fn reset(&mut self) {
        self.x.fill(1.0);
    }

    /// One outer iteration.
    pub fn iterate(&mut self, combine: &mut impl Combine) -> Result<Estimate> {
        let residual = self.solve(combine)?;
        let z = &self.z[..self.x.len()];
        let [x_z, z_z] = combine.sum(|| [dot(&self.x, z), dot(z, z)])?;
        let scale = 1.0 / z_z.sqrt();
        self.x.iter_mut().zip(z).for_each(|(x, z)| *x = scale * z);
        Ok(Estimate { eigenvalue: 1.0 / x_z, residual })
    }

    /// z ≈ A⁻¹ x; returns the norm of what is missing.
    fn solve(&mut self, combine: &mut impl Combine) -> Result<f64> {
        let Solver { matrix, x, z, p, r, q } = self;
        let length = x.len();
        z.fill(0.0);
        r.copy_from_slice(x);
        p[..length].copy_from_slice(x);
        let [mut rho] = combine.sum(|| [dot(r, r)])?;
        for _ in 0..STEPS {
            combine.product(|product| matrix.multiply(p, product), q)?;
            let [p_q] = combine.sum(|| [dot(&p[..length], q)])?;
            let alpha = rho / p_q;
            let [next] = combine.sum(|| [advance(alpha, &p[..length], q, &mut z[..length], r)])?;
            let beta = next / rho;
            rho = next;
            p.iter_mut().zip(r.iter()).for_each(|(p, r)| *p = r + beta * *p);
        }
        combine.product(|product| matrix.multiply(z, product), q)?;
        x.iter().zip(q.iter()).zip(r.iter_mut()).for_each(|((x, q), r)| *r = x - q);
        let [square] = combine.sum(|| [dot(r, r)])?;
        Ok(square.sqrt())
    }
}

const LANES: usize = 8;

/// The scalar product, taken in eight parts so that the additions do not wait for one another.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

/// z = z + alpha p and r = r − alpha q; returns the new r·r.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn advance(alpha: f64, p: &[f64], q: &[f64], z: &mut [f64], r: &mut [f64]) -> f64 {
    z.iter_mut().zip(p).for_each(|(z, p)| *z += alpha * p);
    let mut lanes = [0.0; LANES];
    for (r, q) in r.chunks_mut(LANES).zip(q.chunks(LANES)) {
        for ((r, q), lane) in r.iter_mut().zip(q).zip(&mut lanes) {
            *r -= alpha * q;
            *lane += *r * *r;
        }
    }
    lanes.iter().sum()
}
