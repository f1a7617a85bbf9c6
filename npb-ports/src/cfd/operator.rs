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

/// L on one block, for fields whose rows run along x.
///
/// Other layouts call [`spatial_operator`] themselves.
#[derive(Clone, Debug)]
pub struct Operator {
    block: Block,
    coefficients: [AxisCoefficients; 3],
    /// Weights of the fourth differences along x, for each place in a row.
    along_row: [Vec<f64>; 5],
}

/// Some points of a row of a field, as the loops need them.
#[derive(Clone, Copy)]
struct Points {
    /// Doubles between components.
    stride: usize,
    /// How many points, in whole vectors.
    count: usize,
}

/// Weights of the fourth difference along an axis for a row of points (see [`dissipation_weights`]).
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// For all points the same.
    Same([f64; 5]),
    /// Each point's own: those of all points for the value two points before, and so on.
    Each([&'a [f64]; 5]),
}

impl Operator {
    /// For the points of `block`.
    pub fn new(block: Block) -> Self {
        let weights: Vec<_> =
            (0..block.extent[0]).map(|i| dissipation_weights(block.start[0] + i, block.mesh.n)).collect();
        let along_row = std::array::from_fn(|offset| {
            let mut along: Vec<_> = weights.iter().map(|weights| weights[offset]).collect();
            along.resize(1 + whole_vectors(block.extent[0]), 0.0);
            along
        });
        Operator { block, coefficients: block.mesh.axes(), along_row }
    }

    /// The block that it was made for.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Puts L(u) of the interior points of row (`j`, `k`), which count from the block's first point, into `result`, which
    /// begins with the row's first interior point.
    ///
    /// Both fields need valid ghosts: `u` two points far, `primitives` one.
    pub fn row(&self, u: &Field, primitives: &Field, [j, k]: [usize; 2], result: &mut Row) {
        let Block { mesh, start, .. } = self.block;
        let interior = self.block.interior(0);
        let count = whole_vectors(interior.len());
        let weights = [
            Weights::Each(self.along_row.each_ref().map(|weights| &weights[interior.start..][..count])),
            Weights::Same(dissipation_weights(start[1] + j, mesh.n)),
            Weights::Same(dissipation_weights(start[2] + k, mesh.n)),
        ];
        let first = [interior.start + GHOST, j + GHOST, k + GHOST];
        spatial_operator(&self.coefficients, (u, primitives), first, count, weights, result);
    }
}

/// Puts L(u) of `count` points, in whole vectors, of a row of `u`, from `first` on, into `result`; `weights` are those of the
/// fourth differences along the three axes.
pub fn spatial_operator(
    coefficients: &[AxisCoefficients; 3],
    (u, primitives): (&Field, &Field),
    first: [usize; 3],
    count: usize,
    weights: [Weights<'_>; 3],
    result: &mut Row,
) {
    let points = Points { stride: u.component_stride(), count };
    let stencil = u.stencil(first);
    result.data_mut().0.fill(0.0);
    for (along, weights) in stencil.into_iter().zip(weights) {
        match weights {
            Weights::Same(weights) => damp_alike(u.data(), points, along, weights, result.data_mut()),
            Weights::Each(weights) => damp_each(u.data(), points, along, weights, result.data_mut()),
        }
    }
    for (axis, [_, before, here, after, _]) in stencil.into_iter().enumerate() {
        let along = [before, here, after];
        add_fluxes(axis, &coefficients[axis], u.data(), primitives.data(), points, along, result.data_mut());
    }
}

/// Computes the [`Primitive`]s of `count` points of a row of `u`, from `first` on.
pub fn row_primitives(u: &Field, primitives: &mut Field, first: [usize; 3], count: usize) {
    compute_primitives(u.points(first, count), primitives.points_mut(first, count));
}

/// All five components of the points of a row that begins at `first`.
#[inline(always)]
fn row(field: &[f64], points: Points, first: usize) -> [&[f64]; 5] {
    std::array::from_fn(|m| &field[first + m * points.stride..][..points.count])
}

/// The first points of all five components of a result row.
#[inline(always)]
fn results((result, stride): (&mut [f64], usize), count: usize) -> [&mut [f64]; 5] {
    let mut rows = result.chunks_exact_mut(stride);
    std::array::from_fn(|_| &mut rows.next().expect("a row has five components")[..count])
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

/// Component `m` of the points two before to two after.
#[inline(always)]
fn component(u: &[f64], points: Points, along: [usize; 5], m: usize) -> [&[f64]; 5] {
    along.map(|first| &u[first + m * points.stride..][..points.count])
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn damp_each(u: &[f64], points: Points, along: [usize; 5], weights: [&[f64]; 5], result: (&mut [f64], usize)) {
    let [w0, w1, w2, w3, w4] = weights.map(|weights| &weights[..points.count]);
    for (m, result) in results(result, points.count).into_iter().enumerate() {
        let [u0, u1, u2, u3, u4] = component(u, points, along, m);
        for i in 0..points.count {
            let sum = w0[i] * u0[i] + w1[i] * u1[i] + w2[i] * u2[i];
            result[i] -= DISSIPATION * (sum + (w3[i] * u3[i] + w4[i] * u4[i]));
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn damp_alike(u: &[f64], points: Points, along: [usize; 5], weights: [f64; 5], result: (&mut [f64], usize)) {
    let [w0, w1, w2, w3, w4] = weights.map(|weight| DISSIPATION * weight);
    for (m, result) in results(result, points.count).into_iter().enumerate() {
        let [u0, u1, u2, u3, u4] = component(u, points, along, m);
        for i in 0..points.count {
            let sum = w0 * u0[i] + w1 * u1[i] + w2 * u2[i];
            result[i] -= sum + (w3 * u3[i] + w4 * u4[i]);
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
    along: [usize; 3],
    result: (&mut [f64], usize),
) {
    match axis {
        0 => add_fluxes_along::<0>(coefficients, u, primitives, points, along, result),
        1 => add_fluxes_along::<1>(coefficients, u, primitives, points, along, result),
        _ => add_fluxes_along::<2>(coefficients, u, primitives, points, along, result),
    }
}

#[inline(always)]
fn add_fluxes_along<const AXIS: usize>(
    coefficients: &AxisCoefficients,
    u: &[f64],
    primitives: &[f64],
    points: Points,
    along: [usize; 3],
    result: (&mut [f64], usize),
) {
    let [before, here, after] = along.map(|first| (row(u, points, first), row(primitives, points, first)));
    let [a, b, c, d, e] = results(result, points.count);
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
