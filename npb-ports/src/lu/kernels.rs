//! The arithmetic of a sweep, for the points of one anti-diagonal at a time.
//!
//! The definition writes a sweep with 5 x 5 blocks: D at a point, and for each of its neighbours that is done already an
//! off-diagonal block, formed from that neighbour's unknowns. Here no block is formed. As soon as a point is done, the
//! products of its three off-diagonal blocks with its result are computed ([`push`]) and wait for the three points that will
//! subtract them ([`solve`]). D is lower triangular, so solving with it is a forward substitution.

use super::Sweep;
use crate::cfd::jacobian::Change;
use crate::cfd::{AxisCoefficients, KAPPA, Mesh, NU, Primitive, State};
use multiversion::multiversion;

/// Relaxation factor.
pub const OMEGA: f64 = 1.2;

/// Factors of the blocks of one problem.
#[derive(Clone, Copy, Debug)]
pub struct Coefficients {
    step: f64,
    /// Of the off-diagonal blocks, already multiplied by time step and relaxation factor.
    axes: [AxisCoefficients; 3],
    /// D: what it has of the identity.
    identity: f64,
    /// D: factor of a change of velocity in the momentum equations.
    stress: f64,
    /// D: factor of the work of that change in the energy equation.
    work: f64,
    /// D: factor of a change of energy per mass in the energy equation.
    heat: f64,
}

impl Coefficients {
    /// For time steps of `step` on `mesh`.
    pub fn new(mesh: Mesh, step: f64) -> Self {
        let axes = mesh.axes();
        let total = |factor: fn(&AxisCoefficients) -> f64| 2.0 * step * axes.iter().map(factor).sum::<f64>();
        // Each component of the velocity is normal to one axis, where its stress counts 4/3, and across the two others.
        let second = total(|axis| axis.second);
        let stress = NU * second * (10.0 / 9.0);
        Coefficients {
            step,
            axes: axes.map(|axis| AxisCoefficients {
                diffusion: step * OMEGA * axis.diffusion,
                first: step * OMEGA * axis.first,
                second: step * OMEGA * axis.second,
            }),
            identity: 1.0 + total(|axis| axis.diffusion),
            stress,
            work: stress - KAPPA * second,
            heat: KAPPA * second,
        }
    }

    /// D⁻¹ `r` at a point.
    #[inline(always)]
    fn divide_by_diagonal(&self, p: Primitive, energy: f64, r: State) -> State {
        let density = r[0] / self.identity;
        let inverse = p.inverse_density / (self.identity + self.stress * p.inverse_density);
        let mut momentum = [0.0; 3];
        let mut work = 0.0;
        for m in 0..3 {
            let velocity = (r[1 + m] - p.velocity[m] * r[0]) * inverse;
            momentum[m] = (r[1 + m] - self.stress * velocity) / self.identity;
            work += p.velocity[m] * velocity;
        }
        let heat = self.heat * p.inverse_density;
        let [x, y, z] = momentum;
        [density, x, y, z, (r[4] - self.work * work + heat * energy * density) / (self.identity + heat)]
    }

    /// The product of the off-diagonal block of `AXIS` with a change, times the relaxation factor.
    #[inline(always)]
    fn off_diagonal<const AXIS: usize>(&self, sweep: Sweep, change: &Change, v: State) -> State {
        let axis = &self.axes[AXIS];
        let first = match sweep {
            Sweep::Lower => -axis.first,
            Sweep::Upper => axis.first,
        };
        let (inviscid, viscous) = (change.inviscid::<AXIS>(), change.viscous::<AXIS>());
        std::array::from_fn(|m| first * inviscid[m] - axis.second * viscous[m] - axis.diffusion * v[m])
    }
}

/// The components of a row of points.
pub type Points<'a> = [&'a [f64]; 5];

/// What a point's flow is made of.
#[derive(Clone, Copy)]
pub struct Flow<'a> {
    /// Stored [`Primitive`]s.
    pub primitives: Points<'a>,
    /// The last unknown.
    pub u5: &'a [f64],
}

/// Components one after the other, and how many doubles each has: a [`crate::cfd::Row`] to be written.
pub type RowMut<'a> = (&'a mut [f64], usize);

#[inline(always)]
fn at(points: &Points, i: usize) -> State {
    [points[0][i], points[1][i], points[2][i], points[3][i], points[4][i]]
}

impl<'a> Flow<'a> {
    #[inline(always)]
    fn cut(self, count: usize) -> Self {
        Flow { primitives: cut(self.primitives, count), u5: &self.u5[..count] }
    }

    /// Primitives and energy per mass.
    #[inline(always)]
    fn at(&self, i: usize) -> (Primitive, f64) {
        let p = Primitive::from_array(at(&self.primitives, i));
        (p, self.u5[i] * p.inverse_density)
    }
}

#[inline(always)]
fn cut(points: Points<'_>, count: usize) -> Points<'_> {
    points.map(|component| &component[..count])
}

#[inline(always)]
fn cut_mut((row, stride): RowMut<'_>, first: usize, count: usize) -> [&mut [f64]; 5] {
    let mut components = row.chunks_exact_mut(stride);
    std::array::from_fn(|_| &mut components.next().expect("a row has five components")[first..][..count])
}

/// Solves `count` points: `v` is what the sweep starts from and `terms` are the products with the blocks of each point's
/// three neighbours. The results go to place `first` and on of `result`.
#[multiversion(targets("x86_64+avx2+fma"))]
pub fn solve(
    coefficients: &Coefficients,
    sweep: Sweep,
    flow: Flow,
    v: Points,
    terms: [Points; 3],
    result: RowMut,
    (first, count): (usize, usize),
) {
    let (flow, v, [x, y, z]) = (flow.cut(count), cut(v, count), terms.map(|points| cut(points, count)));
    let [a, b, c, d, e] = cut_mut(result, first, count);
    let sum = |i: usize| -> State { std::array::from_fn(|m| x[m][i] + y[m][i] + z[m][i]) };
    match sweep {
        Sweep::Lower => {
            for i in 0..count {
                let (sum, v, (p, energy)) = (sum(i), at(&v, i), flow.at(i));
                let right = std::array::from_fn(|m| coefficients.step * v[m] - sum[m]);
                [a[i], b[i], c[i], d[i], e[i]] = coefficients.divide_by_diagonal(p, energy, right);
            }
        }
        Sweep::Upper => {
            for i in 0..count {
                let (sum, v, (p, energy)) = (sum(i), at(&v, i), flow.at(i));
                let less = coefficients.divide_by_diagonal(p, energy, sum);
                [a[i], b[i], c[i], d[i], e[i]] = std::array::from_fn(|m| v[m] - less[m]);
            }
        }
    }
}

/// Computes the products of the off-diagonal blocks of an axis with the results `w` of `count` points, for the neighbours
/// to subtract. They go to place `first` and on of `terms`.
#[multiversion(targets("x86_64+avx2+fma"))]
pub fn push(
    coefficients: &Coefficients,
    sweep: Sweep,
    axis: usize,
    flow: Flow,
    w: Points,
    terms: RowMut,
    (first, count): (usize, usize),
) {
    let terms = cut_mut(terms, first, count);
    let (flow, w) = (flow.cut(count), cut(w, count));
    match axis {
        0 => push_along::<0>(coefficients, sweep, flow, w, terms, count),
        1 => push_along::<1>(coefficients, sweep, flow, w, terms, count),
        _ => push_along::<2>(coefficients, sweep, flow, w, terms, count),
    }
}

#[inline(always)]
fn push_along<const AXIS: usize>(
    coefficients: &Coefficients,
    sweep: Sweep,
    flow: Flow<'_>,
    w: Points<'_>,
    [a, b, c, d, e]: [&mut [f64]; 5],
    count: usize,
) {
    for i in 0..count {
        let (w, (p, energy)) = (at(&w, i), flow.at(i));
        let change = Change::new(p, energy, w);
        [a[i], b[i], c[i], d[i], e[i]] = coefficients.off_diagonal::<AXIS>(sweep, &change, w);
    }
}
