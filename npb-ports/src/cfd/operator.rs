//! The spatial operator L: what drives the flow at a point.

use super::field::{Field, GHOST, Row, whole_vectors};
use super::mesh::{AxisCoefficients, Block, C1, C2, C5, DISSIPATION, NU, State};
use super::primitive::Primitive;
use multiversion::multiversion;

/// Weights of the fourth difference at mesh index `index` of a line of `n` points, for the points two before to two after.
///
/// Beside the boundary the stencil is cut so that it needs no point outside; on the boundary and beyond it is zero.
pub fn dissipation_weights(index: usize, n: usize) -> [f64; 5] {
    match index {
        _ if index == 0 || index + 1 >= n => [0.0; 5],
        1 => [0.0, 0.0, 5.0, -4.0, 1.0],
        2 => [0.0, -4.0, 6.0, -4.0, 1.0],
        _ if index + 2 == n => [1.0, -4.0, 5.0, 0.0, 0.0],
        _ if index + 3 == n => [1.0, -4.0, 6.0, -4.0, 0.0],
        _ => [1.0, -4.0, 6.0, -4.0, 1.0],
    }
}

/// L on one block, a row along x at a time.
#[derive(Clone, Debug)]
pub struct Operator {
    block: Block,
    coefficients: [AxisCoefficients; 3],
    /// Weights of the fourth differences along x, for each place in a row.
    along_row: [Vec<f64>; 5],
}

/// The points of a row that are computed, and where they are stored.
#[derive(Clone, Copy)]
struct Points {
    /// Place of the first point in its component's row.
    column: usize,
    /// Place of the row's first ghost point in the field.
    row: usize,
    /// Doubles between components.
    stride: usize,
    /// How many points, in whole vectors.
    count: usize,
}

impl Operator {
    /// For the points of `block`.
    pub fn new(block: Block) -> Self {
        let along_row = std::array::from_fn(|offset| {
            let mut weights = vec![0.0; GHOST];
            weights.extend((0..block.extent[0]).map(|i| dissipation_weights(block.start[0] + i, block.mesh.n)[offset]));
            weights.resize(whole_vectors(block.extent[0]) + 2 * GHOST, 0.0);
            weights
        });
        Operator { block, coefficients: std::array::from_fn(|axis| block.mesh.axis(axis)), along_row }
    }

    /// The block that it was made for.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Computes the [`Primitive`]s of row (`j`, `k`) of `u`, ghosts included, where rows count from the first ghost.
    pub fn row_primitives(&self, u: &Field, primitives: &mut Field, j: usize, k: usize) {
        let row = u.row(j, k);
        compute_primitives(row, primitives.row_mut(j, k));
    }

    /// Puts L(u) of the interior points of row (`j`, `k`), which count from the block's first point, into `result`.
    ///
    /// Both fields need valid ghosts: `u` two points far, `primitives` one. Other places of `result` get values without
    /// meaning.
    pub fn row(&self, u: &Field, primitives: &Field, [j, k]: [usize; 2], result: &mut Row) {
        let interior = self.block.interior(0);
        let column = interior.start + GHOST;
        let row = u.index([0, j + GHOST, k + GHOST]);
        let points = Points { column, row, stride: u.component_stride(), count: whole_vectors(interior.len()) };
        let (steps, result) = (u.steps(), result.data_mut());
        let weights = self.along_row.each_ref().map(|weights| &weights[column..column + points.count]);
        damp_along_row(u.data(), points, weights, result);
        for (axis, index) in [(1, j), (2, k)] {
            let weights = dissipation_weights(self.block.start[axis] + index, self.block.mesh.n);
            damp_across_row(u.data(), points, steps[axis], weights, result);
        }
        for axis in 0..3 {
            add_fluxes(axis, &self.coefficients[axis], u.data(), primitives.data(), points, steps[axis], result);
        }
    }
}

/// The same points of all five components of a row of `field`, displaced by a number of doubles.
#[inline(always)]
fn displaced(field: &[f64], points: Points, forward: usize, backward: usize) -> [&[f64]; 5] {
    let first = points.row + points.column + forward - backward;
    std::array::from_fn(|m| &field[first + m * points.stride..][..points.count])
}

/// The points of all five components of a result row.
#[inline(always)]
fn results(result: &mut [f64], points: Points) -> [&mut [f64]; 5] {
    let mut rows = result.chunks_exact_mut(points.stride);
    std::array::from_fn(|_| &mut rows.next().expect("a row has five components")[points.column..][..points.count])
}

#[inline(always)]
fn at(rows: &[&[f64]; 5], i: usize) -> State {
    [rows[0][i], rows[1][i], rows[2][i], rows[3][i], rows[4][i]]
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn compute_primitives(row: [&[f64]; 5], primitives: [&mut [f64]; 5]) {
    let count = row[0].len();
    let row = row.map(|component| &component[..count]);
    let [a, b, c, d, e] = primitives.map(|component| &mut component[..count]);
    for i in 0..count {
        [a[i], b[i], c[i], d[i], e[i]] = Primitive::new(at(&row, i)).to_array();
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn damp_along_row(u: &[f64], points: Points, weights: [&[f64]; 5], result: &mut [f64]) {
    let count = points.count;
    let [w0, w1, w2, w3, w4] = weights.map(|weights| &weights[..count]);
    for (m, result) in results(result, points).into_iter().enumerate() {
        let line = &u[points.row + points.column + m * points.stride - 2..][..count + 4];
        for i in 0..count {
            let sum = w0[i] * line[i] + w1[i] * line[i + 1] + w2[i] * line[i + 2];
            result[i] = -DISSIPATION * (sum + (w3[i] * line[i + 3] + w4[i] * line[i + 4]));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn damp_across_row(u: &[f64], points: Points, step: usize, weights: [f64; 5], result: &mut [f64]) {
    // A weight of zero also stands for a point that may not exist.
    let rows: [[&[f64]; 5]; 5] = std::array::from_fn(|offset| match (weights[offset] == 0.0, offset) {
        (true, _) => displaced(u, points, 0, 0),
        (false, 0..2) => displaced(u, points, 0, (2 - offset) * step),
        (false, _) => displaced(u, points, (offset - 2) * step, 0),
    });
    let weights = weights.map(|weight| -DISSIPATION * weight);
    for (m, result) in results(result, points).into_iter().enumerate() {
        let [r0, r1, r2, r3, r4] = rows.map(|row| row[m]);
        for i in 0..points.count {
            let sum = weights[0] * r0[i] + weights[1] * r1[i] + weights[2] * r2[i];
            result[i] += sum + (weights[3] * r3[i] + weights[4] * r4[i]);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn add_fluxes(
    axis: usize,
    coefficients: &AxisCoefficients,
    u: &[f64],
    primitives: &[f64],
    points: Points,
    step: usize,
    result: &mut [f64],
) {
    match axis {
        0 => add_fluxes_along::<0>(coefficients, u, primitives, points, step, result),
        1 => add_fluxes_along::<1>(coefficients, u, primitives, points, step, result),
        _ => add_fluxes_along::<2>(coefficients, u, primitives, points, step, result),
    }
}

#[inline(always)]
fn add_fluxes_along<const AXIS: usize>(
    coefficients: &AxisCoefficients,
    u: &[f64],
    primitives: &[f64],
    points: Points,
    step: usize,
    result: &mut [f64],
) {
    let before = (displaced(u, points, 0, step), displaced(primitives, points, 0, step));
    let here = (displaced(u, points, 0, 0), displaced(primitives, points, 0, 0));
    let after = (displaced(u, points, step, 0), displaced(primitives, points, step, 0));
    let [a, b, c, d, e] = results(result, points);
    for i in 0..points.count {
        let point = |(u, p): &([&[f64]; 5], [&[f64]; 5])| (at(u, i), Primitive::from_array(at(p, i)));
        let change = point_fluxes::<AXIS>(coefficients, point(&before), point(&here), point(&after));
        a[i] += change[0];
        b[i] += change[1];
        c[i] += change[2];
        d[i] += change[3];
        e[i] += change[4];
    }
}

/// The part of L that fluxes along `AXIS` make at a point, given its and its two neighbours' values.
#[inline(always)]
fn point_fluxes<const AXIS: usize>(
    coefficients: &AxisCoefficients,
    before: (State, Primitive),
    here: (State, Primitive),
    after: (State, Primitive),
) -> State {
    let viscosity = NU * coefficients.second;
    let second_difference = |f: fn(&(State, Primitive)) -> f64| f(&before) - 2.0 * f(&here) + f(&after);
    let (flux_before, flux_after) = (inviscid_flux::<AXIS>(before), inviscid_flux::<AXIS>(after));
    let mut change: State = std::array::from_fn(|m| {
        let diffusion = coefficients.diffusion * (before.0[m] - 2.0 * here.0[m] + after.0[m]);
        diffusion - coefficients.first * (flux_after[m] - flux_before[m])
    });
    for m in 0..3 {
        let stress = if m == AXIS { 4.0 / 3.0 * viscosity } else { viscosity };
        change[1 + m] += stress * (before.1.velocity[m] - 2.0 * here.1.velocity[m] + after.1.velocity[m]);
    }
    let kinetic = second_difference(|(_, p)| p.kinetic);
    let normal_square = second_difference(|(_, p)| p.velocity[AXIS] * p.velocity[AXIS]);
    let energy = second_difference(|(u, p)| u[4] * p.inverse_density);
    change[4] += viscosity * ((1.0 - C1 * C5) * kinetic + (1.0 / 6.0) * normal_square + C1 * C5 * energy);
    change
}

/// The inviscid flux along `AXIS`.
#[inline(always)]
fn inviscid_flux<const AXIS: usize>((u, p): (State, Primitive)) -> State {
    let normal = p.velocity[AXIS];
    let pressure = C2 * (u[4] - u[0] * p.kinetic);
    let mut flux = [u[1 + AXIS], u[1] * normal, u[2] * normal, u[3] * normal, (u[4] + pressure) * normal];
    flux[1 + AXIS] += pressure;
    flux
}
