//! The spatial operator L: what drives the flow at a point.

use super::field::{Field, GHOST, Row, whole_vectors};
use super::mesh::{AxisCoefficients, Block, C1, C2, C5, DISSIPATION, NU};
use super::primitive::Primitive;
use crate::lanes::{LANES, Lanes, Unknowns, splat_each};
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
    operate(coefficients, u.data(), primitives.data(), points, &u.stencil(first), &weights, result.data_mut());
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
    u: &[f64],
    primitives: &[f64],
    points: Points,
    stencil: &[[usize; 5]; 3],
    weights: &[Weights; 3],
    (result, stride): (&mut [f64], usize),
) {
    for i in (0..points.count).step_by(LANES) {
        let line = |axis: usize| Line { u, primitives, points, stencil: stencil[axis], i };
        let mut change = [Lanes::default(); 5];
        drive_along::<0>(&coefficients[0], &line(0), weights[0].at(i), &mut change);
        drive_along::<1>(&coefficients[1], &line(1), weights[1].at(i), &mut change);
        drive_along::<2>(&coefficients[2], &line(2), weights[2].at(i), &mut change);
        for (m, change) in change.into_iter().enumerate() {
            result[m * stride + i..][..LANES].copy_from_slice(&change.0);
        }
    }
}

/// Some neighbouring points and their neighbours along an axis.
#[derive(Clone, Copy)]
struct Line<'a> {
    u: &'a [f64],
    primitives: &'a [f64],
    points: Points,
    /// Places of the first components two points before to two points after the first point of the row.
    stencil: [usize; 5],
    /// Which point of the row is the first of these.
    i: usize,
}

impl Line<'_> {
    /// Component `m` of the unknowns at a place of the stencil.
    #[inline(always)]
    fn u(&self, offset: usize, m: usize) -> Lanes {
        Lanes::load(self.u, self.stencil[offset] + self.i + m * self.points.stride)
    }

    /// Component `m` of the primitives at a place of the stencil.
    #[inline(always)]
    fn primitive(&self, offset: usize, m: usize) -> Lanes {
        Lanes::load(self.primitives, self.stencil[offset] + self.i + m * self.points.stride)
    }
}

impl Weights<'_> {
    /// Those of the points from `i` on.
    #[inline(always)]
    fn at(&self, i: usize) -> Unknowns {
        match self {
            Weights::Same(weights) => splat_each(weights),
            Weights::Each([a, b, c, d, e]) => {
                [Lanes::load(a, i), Lanes::load(b, i), Lanes::load(c, i), Lanes::load(d, i), Lanes::load(e, i)]
            }
        }
    }
}

/// What is needed of a point beside its unknowns, for the fluxes along an axis.
#[derive(Clone, Copy)]
struct Flow {
    velocity: [Lanes; 3],
    /// The normal velocity.
    normal: Lanes,
    pressure: Lanes,
    /// What heat conduction and the work of viscosity depend on.
    heat: Lanes,
}

impl Flow {
    #[inline(always)]
    fn new<const AXIS: usize>(line: &Line<'_>, offset: usize) -> Self {
        let [inverse_density, kinetic] = [line.primitive(offset, 0), line.primitive(offset, 4)];
        let velocity = [line.primitive(offset, 1), line.primitive(offset, 2), line.primitive(offset, 3)];
        let [density, energy] = [line.u(offset, 0), line.u(offset, 4)];
        let normal = velocity[AXIS];
        let heat = (C1 * C5) * (energy * inverse_density) + (1.0 - C1 * C5) * kinetic + (1.0 / 6.0) * (normal * normal);
        Flow { velocity, normal, pressure: C2 * energy.minus_product(density, kinetic), heat }
    }
}

/// Adds the part of L that comes from differences along `AXIS`.
#[inline(always)]
fn drive_along<const AXIS: usize>(
    coefficients: &AxisCoefficients,
    line: &Line<'_>,
    weights: Unknowns,
    change: &mut Unknowns,
) {
    let diffusion = Lanes::splat(coefficients.diffusion);
    let [w0, w1, w2, w3, w4] = weights;
    let weights = [
        -DISSIPATION * w0,
        diffusion - DISSIPATION * w1,
        -2.0 * diffusion - DISSIPATION * w2,
        diffusion - DISSIPATION * w3,
        -DISSIPATION * w4,
    ];
    for m in 0..5 {
        for (offset, weight) in weights.into_iter().enumerate() {
            change[m] = change[m].plus_product(weight, line.u(offset, m));
        }
    }
    let before = Flow::new::<AXIS>(line, 1);
    let here = Flow::new::<AXIS>(line, 2);
    let after = Flow::new::<AXIS>(line, 3);
    let viscosity = NU * coefficients.second;
    let first = Lanes::splat(coefficients.first);
    change[0] = change[0].minus_product(first, line.u(3, 1 + AXIS) - line.u(1, 1 + AXIS));
    for m in 0..3 {
        let stress = if m == AXIS { 4.0 / 3.0 * viscosity } else { viscosity };
        let bend = before.velocity[m] + after.velocity[m] - 2.0 * here.velocity[m];
        let flux = line.u(3, 1 + m) * after.normal - line.u(1, 1 + m) * before.normal;
        let flux = if m == AXIS { flux + after.pressure - before.pressure } else { flux };
        change[1 + m] = change[1 + m].plus_product(Lanes::splat(stress), bend).minus_product(first, flux);
    }
    let bend = before.heat + after.heat - 2.0 * here.heat;
    let flux = (line.u(3, 4) + after.pressure) * after.normal - (line.u(1, 4) + before.pressure) * before.normal;
    change[4] = change[4].plus_product(Lanes::splat(viscosity), bend).minus_product(first, flux);
}
