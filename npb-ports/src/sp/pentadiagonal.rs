//! The pentadiagonal systems of a line: first and second neighbours on either side.

use super::transforms::{from_waves_along_z, from_x_to_y, from_y_to_z, to_waves_along_x};
use crate::cfd::{AxisCoefficients, C1, C2, C5, DISSIPATION, Mesh, NU, dissipation_weights};
use crate::lanes::{Lanes, Unknowns, splat_each};
use crate::multipartition::{Face, LineSolver, Lines, Multipartition};
use multiversion::multiversion;

/// Which system each wave belongs to: those that travel with the flow share one.
const SYSTEM: [usize; 5] = [0, 0, 0, 1, 2];

/// The solver of a class.
#[derive(Clone, Debug)]
pub struct Pentadiagonal {
    axes: [Factors; 3],
    /// For each place in a line, the weights of the fourth differences, with all factors.
    dissipation: Vec<[f64; 5]>,
}

/// Factors of the equations along one axis, times the time step.
#[derive(Clone, Copy, Debug)]
struct Factors {
    /// Of velocities.
    first: f64,
    /// Of diffusion that is the same everywhere.
    diffusion: f64,
    /// Of 1 / density in the diffusion: heat conduction, the strongest of all.
    conduction: f64,
}

/// The two coefficients right of the diagonal, of each system, after elimination.
pub type Upper = [[Lanes; 2]; 3];

/// An eliminated row: its diagonal is 1.
#[derive(Clone, Copy, Default)]
struct Row {
    upper: Upper,
    r: Unknowns,
}

/// What a point contributes to the equations of its neighbours.
#[derive(Clone, Copy)]
struct Point {
    velocity: Lanes,
    diffusion: Lanes,
    sound: Lanes,
}

impl Pentadiagonal {
    /// For a mesh of `n` points each way.
    pub fn new(n: usize, time_step: f64) -> Self {
        let axes = [0, 1, 2].map(|axis| {
            let AxisCoefficients { diffusion, first, second } = Mesh { n }.axis(axis);
            Factors {
                first: time_step * first,
                diffusion: time_step * diffusion,
                conduction: time_step * second * C1 * C5 * NU,
            }
        });
        let scale = time_step * DISSIPATION;
        let dissipation = (0..n).map(|i| dissipation_weights(i, n).map(|weight| scale * weight)).collect();
        Pentadiagonal { axes, dissipation }
    }
}

impl LineSolver for Pentadiagonal {
    type Kept = Upper;
    /// The last two rows.
    type Forward = [Lanes; 22];
    /// The solution at two points.
    type Backward = [Lanes; 10];

    fn lines_per_message(_partition: &Multipartition, face: &Face) -> usize {
        face.lines()
    }

    fn prepare(&self, axis: usize, lines: &mut Lines<Upper>) {
        if axis == 0 {
            prepare(&lines.u[1..], &mut lines.r);
        }
    }

    fn eliminate(&self, axis: usize, start: usize, lines: &mut Lines<Upper>, carry: &mut [Lanes; 22]) {
        let dissipation = &self.dissipation[start..];
        eliminate(axis, &self.axes[axis], dissipation, &lines.u, &mut lines.r, &mut lines.kept, carry);
    }

    fn substitute(&self, lines: &mut Lines<Upper>, carry: &mut [Lanes; 10]) {
        substitute(&lines.kept, &mut lines.r, carry);
    }

    fn finish(&self, axis: usize, lines: &mut Lines<Upper>) {
        finish(axis, &lines.u[1..], &mut lines.r);
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn prepare(u: &[Unknowns], r: &mut [Unknowns]) {
    for (r, u) in r.iter_mut().zip(u) {
        *r = to_waves_along_x(u, r);
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn finish(axis: usize, u: &[Unknowns], r: &mut [Unknowns]) {
    match axis {
        0 => r.iter_mut().for_each(|r| *r = from_x_to_y(r)),
        1 => r.iter_mut().for_each(|r| *r = from_y_to_z(r)),
        _ => r.iter_mut().zip(u).for_each(|(r, u)| *r = from_waves_along_z(u, r)),
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn eliminate(
    axis: usize,
    factors: &Factors,
    dissipation: &[[f64; 5]],
    u: &[Unknowns],
    r: &mut [Unknowns],
    kept: &mut [Upper],
    carry: &mut [Lanes; 22],
) {
    let (mut second, mut first) = (Row::from_carry(&carry[..11]), Row::from_carry(&carry[11..]));
    let (mut before, mut here) = (factors.point(axis, &u[0]), factors.point(axis, &u[1]));
    for (((r, kept), u), dissipation) in r.iter_mut().zip(kept).zip(&u[2..]).zip(dissipation) {
        let after = factors.point(axis, u);
        let row = eliminated(&before, &here, &after, dissipation, r, &first, &second);
        (*r, *kept) = (row.r, row.upper);
        (second, first) = (first, row);
        (before, here) = (here, after);
    }
    second.to_carry(&mut carry[..11]);
    first.to_carry(&mut carry[11..]);
}

/// The row of a point, freed of the two points before it by their rows.
#[inline(always)]
fn eliminated(
    before: &Point,
    here: &Point,
    after: &Point,
    dissipation: &[f64; 5],
    r: &Unknowns,
    first: &Row,
    second: &Row,
) -> Row {
    let [w0, w1, w2, w3, w4] = splat_each(dissipation);
    let lower = w1 - before.velocity - before.diffusion;
    let lower = [lower, lower - before.sound, lower + before.sound];
    let upper = w3 + after.velocity - after.diffusion;
    let upper = [upper, upper + after.sound, upper - after.sound];
    let diagonal = Lanes::splat(1.0) + 2.0 * here.diffusion + w2;
    let mut row = Row::default();
    let (mut factor, mut pivot) = (lower, lower);
    for system in 0..3 {
        let ([f1, g1], [f2, g2]) = (first.upper[system], second.upper[system]);
        factor[system] = lower[system].minus_product(w0, f2);
        pivot[system] = diagonal.minus_product(w0, g2).minus_product(factor[system], f1).recip();
        let next = upper[system].minus_product(factor[system], g1);
        row.upper[system] = [next * pivot[system], w4 * pivot[system]];
    }
    for wave in 0..5 {
        let system = SYSTEM[wave];
        let rest = r[wave].minus_product(w0, second.r[wave]).minus_product(factor[system], first.r[wave]);
        row.r[wave] = rest * pivot[system];
    }
    row
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn substitute(kept: &[Upper], r: &mut [Unknowns], carry: &mut [Lanes; 10]) {
    let (first, second) = carry.split_at_mut(5);
    for (r, upper) in r.iter_mut().zip(kept).rev() {
        for wave in 0..5 {
            let [f, g] = upper[SYSTEM[wave]];
            r[wave] = r[wave].minus_product(f, first[wave]).minus_product(g, second[wave]);
            (second[wave], first[wave]) = (first[wave], r[wave]);
        }
    }
}

impl Row {
    #[inline(always)]
    fn from_carry(carry: &[Lanes]) -> Self {
        Row {
            upper: [[carry[0], carry[1]], [carry[2], carry[3]], [carry[4], carry[5]]],
            r: std::array::from_fn(|wave| carry[6 + wave]),
        }
    }

    #[inline(always)]
    fn to_carry(self, carry: &mut [Lanes]) {
        for system in 0..3 {
            carry[2 * system..2 * system + 2].copy_from_slice(&self.upper[system]);
        }
        carry[6..].copy_from_slice(&self.r);
    }
}

impl Factors {
    #[inline(always)]
    fn point(&self, axis: usize, u: &Unknowns) -> Point {
        let inverse_density = u[0].recip();
        let square = (u[1] * u[1]).plus_product(u[2], u[2]).plus_product(u[3], u[3]);
        let kinetic = 0.5 * square * inverse_density;
        let sound = (C1 * C2 * (u[4] - kinetic) * inverse_density).sqrt();
        Point {
            velocity: self.first * u[1 + axis] * inverse_density,
            diffusion: Lanes::splat(self.diffusion) + self.conduction * inverse_density,
            sound: self.first * sound,
        }
    }
}
