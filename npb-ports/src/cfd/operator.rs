//! The spatial operator L: what drives the flow at a point.

use super::field::{Field, GHOST, Row, whole_vectors};
use super::mesh::{AxisCoefficients, Block, C1, C2, C5, DISSIPATION, NU};
use super::primitive::Primitive;
use multiversion::multiversion;

/// Weights of the fourth difference at mesh index `index` of a line of `n` points, for the points two before to two
/// after.
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

    /// Puts L(u) of the interior points of row (`j`, `k`), which count from the block's first point, into `result`,
    /// which begins with the row's first interior point.
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

/// Puts L(u) of `count` points, in whole vectors, of a row of `u`, from `first` on, into `result`; `weights` are those
/// of the fourth differences along the three axes.
pub fn spatial_operator(
    coefficients: &[AxisCoefficients; 3],
    (u, primitives): (&Field, &Field),
    first: [usize; 3],
    count: usize,
    weights: [Weights<'_>; 3],
    result: &mut Row,
) {
    let points = Points { stride: u.component_stride(), count };
    let (u, primitives) = ((u.data(), &u.stencil(first)), (primitives.data(), &primitives.stencil(first)));
    operate(coefficients, u, primitives, points, &weights, result.data_mut());
}

/// Computes the [`Primitive`]s of `count` points of a row of `u`, from `first` on.
pub fn row_primitives(u: &Field, primitives: &mut Field, first: [usize; 3], count: usize) {
    compute_primitives(u.points(first, count), primitives.points_mut(first, count));
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn compute_primitives(row: [&[f64]; 5], primitives: [&mut [f64]; 5]) {
    let count = row[0].len();
    let row = row.map(|component| &component[..count]);
    let [a, b, c, d, e] = primitives.map(|component| &mut component[..count]);
    for i in 0..count {
        [a[i], b[i], c[i], d[i], e[i]] =
            Primitive::new([row[0][i], row[1][i], row[2][i], row[3][i], row[4][i]]).to_array();
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn operate(
    coefficients: &[AxisCoefficients; 3],
    (u, stencil): (&[f64], &[[usize; 5]; 3]),
    (primitives, primitive_stencil): (&[f64], &[[usize; 5]; 3]),
    points: Points,
    weights: &[Weights; 3],
    (result, stride): (&mut [f64], usize),
) {
    // Each loop has one result: of several, the compiler could not know that they don't overlap.
    result.fill(0.0);
    for m in 0..5 {
        let result = &mut result[m * stride..][..points.count];
        for axis in 0..3 {
            diffuse(&coefficients[axis], points.line(u, &stencil[axis], m), &weights[axis], result);
        }
    }
    let (u_here, primitives_here) = ((u, &stencil[0]), (primitives, &primitive_stencil[0]));
    add_fluxes::<0>(&coefficients[0], u_here, primitives_here, points, (result, stride));
    let (u_here, primitives_here) = ((u, &stencil[1]), (primitives, &primitive_stencil[1]));
    add_fluxes::<1>(&coefficients[1], u_here, primitives_here, points, (result, stride));
    let (u_here, primitives_here) = ((u, &stencil[2]), (primitives, &primitive_stencil[2]));
    add_fluxes::<2>(&coefficients[2], u_here, primitives_here, points, (result, stride));
}

impl Points {
    /// Component `m` of the points, if its row's first point is at `first`.
    #[inline(always)]
    fn component(self, field: &[f64], first: usize, m: usize) -> &[f64] {
        &field[first + m * self.stride..][..self.count]
    }

    /// Component `m` of the points two before to two after.
    #[inline(always)]
    fn line<'a>(self, field: &'a [f64], &[a, b, c, d, e]: &[usize; 5], m: usize) -> [&'a [f64]; 5] {
        let at = |first: usize| self.component(field, first, m);
        [at(a), at(b), at(c), at(d), at(e)]
    }
}

/// Adds second and fourth differences of one unknown along one axis.
#[inline(always)]
fn diffuse(coefficients: &AxisCoefficients, u: [&[f64]; 5], weights: &Weights<'_>, result: &mut [f64]) {
    let [u0, u1, u2, u3, u4] = u;
    let diffusion = coefficients.diffusion;
    match weights {
        Weights::Same([w0, w1, w2, w3, w4]) => {
            let [w0, w1, w3, w4] = [w0, w1, w3, w4].map(|weight| -DISSIPATION * weight);
            let (w1, w2, w3) = (w1 + diffusion, -DISSIPATION * w2 - 2.0 * diffusion, w3 + diffusion);
            for i in 0..result.len() {
                let outer = w4.mul_add(u4[i], w0 * u0[i]);
                let inner = w3.mul_add(u3[i], w1 * u1[i]);
                result[i] = w2.mul_add(u2[i], result[i]) + (inner + outer);
            }
        }
        Weights::Each(weights) => {
            let count = result.len();
            let [w0, w1, w2, w3, w4] = weights;
            let (w0, w1, w2) = (&w0[..count], &w1[..count], &w2[..count]);
            let (w3, w4) = (&w3[..count], &w4[..count]);
            for i in 0..result.len() {
                let outer = w4[i].mul_add(u4[i], w0[i] * u0[i]);
                let inner = w3[i].mul_add(u3[i], w1[i] * u1[i]);
                let damping = w2[i].mul_add(u2[i], inner + outer);
                let bend = u2[i].mul_add(-2.0, u1[i] + u3[i]);
                result[i] = diffusion.mul_add(bend, damping.mul_add(-DISSIPATION, result[i]));
            }
        }
    }
}

/// Adds differences of the fluxes along `AXIS`.
#[inline(always)]
fn add_fluxes<const AXIS: usize>(
    coefficients: &AxisCoefficients,
    (u, stencil): (&[f64], &[usize; 5]),
    (primitives, primitive_stencil): (&[f64], &[usize; 5]),
    points: Points,
    (result, stride): (&mut [f64], usize),
) {
    // Places in a stencil.
    let [before, here, after] = [1, 2, 3];
    let normal = 1 + AXIS;
    let u = |place: usize, m: usize| points.component(u, stencil[place], m);
    let primitive = |place: usize, m: usize| points.component(primitives, primitive_stencil[place], m);
    let viscosity = NU * coefficients.second;
    let first = -coefficients.first;

    add_difference(first, u(before, normal), u(after, normal), &mut result[..points.count]);
    for m in 1..4 {
        let stress = if m == normal { 4.0 / 3.0 * viscosity } else { viscosity };
        let momentum = [u(before, m), u(after, m)];
        let velocity = [primitive(before, m), primitive(here, m), primitive(after, m)];
        let speed = [primitive(before, normal), primitive(after, normal)];
        add_momentum_flux([first, stress], momentum, velocity, speed, &mut result[m * stride..][..points.count]);
    }
    let density = [u(before, 0), u(after, 0)];
    let energy = [u(before, 4), u(here, 4), u(after, 4)];
    let kinetic = [primitive(before, 4), primitive(here, 4), primitive(after, 4)];
    let inverse_density = [primitive(before, 0), primitive(here, 0), primitive(after, 0)];
    let speed = [primitive(before, normal), primitive(here, normal), primitive(after, normal)];
    add_pressure(
        first,
        density,
        [energy[0], energy[2]],
        [kinetic[0], kinetic[2]],
        &mut result[normal * stride..][..points.count],
    );
    let result = &mut result[4 * stride..][..points.count];
    add_energy_flux([first, viscosity], density, energy, kinetic, inverse_density, speed, result);
}

#[inline(always)]
fn add_difference(factor: f64, before: &[f64], after: &[f64], result: &mut [f64]) {
    for i in 0..result.len() {
        result[i] = factor.mul_add(after[i] - before[i], result[i]);
    }
}

/// Adds what is carried of a momentum, and what viscosity does to it.
#[inline(always)]
fn add_momentum_flux(
    [first, stress]: [f64; 2],
    momentum: [&[f64]; 2],
    velocity: [&[f64]; 3],
    speed: [&[f64]; 2],
    result: &mut [f64],
) {
    for i in 0..result.len() {
        let flux = (-momentum[0][i]).mul_add(speed[0][i], momentum[1][i] * speed[1][i]);
        let bend = velocity[1][i].mul_add(-2.0, velocity[0][i] + velocity[2][i]);
        result[i] = first.mul_add(flux, stress.mul_add(bend, result[i]));
    }
}

#[inline(always)]
fn pressure(density: f64, energy: f64, kinetic: f64) -> f64 {
    C2 * (-density).mul_add(kinetic, energy)
}

#[inline(always)]
fn add_pressure(first: f64, density: [&[f64]; 2], energy: [&[f64]; 2], kinetic: [&[f64]; 2], result: &mut [f64]) {
    for i in 0..result.len() {
        let at = |place: usize| pressure(density[place][i], energy[place][i], kinetic[place][i]);
        result[i] = first.mul_add(at(1) - at(0), result[i]);
    }
}

/// Adds what is carried of the energy with the work of pressure, and what viscosity and heat conduction do to it.
#[inline(always)]
fn add_energy_flux(
    [first, viscosity]: [f64; 2],
    density: [&[f64]; 2],
    energy: [&[f64]; 3],
    kinetic: [&[f64]; 3],
    inverse_density: [&[f64]; 3],
    speed: [&[f64]; 3],
    result: &mut [f64],
) {
    for i in 0..result.len() {
        let heat = |place: usize| {
            let work = (1.0 / 6.0 * speed[place][i]).mul_add(speed[place][i], (1.0 - C1 * C5) * kinetic[place][i]);
            (C1 * C5 * energy[place][i]).mul_add(inverse_density[place][i], work)
        };
        let carried = |place: usize, end: usize| {
            let pressure = pressure(density[end][i], energy[place][i], kinetic[place][i]);
            (energy[place][i] + pressure) * speed[place][i]
        };
        let bend = heat(1).mul_add(-2.0, heat(0) + heat(2));
        result[i] = first.mul_add(carried(2, 1) - carried(0, 0), viscosity.mul_add(bend, result[i]));
    }
}
