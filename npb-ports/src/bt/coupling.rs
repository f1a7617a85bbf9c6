//! The blocks of a line's equations, from the Jacobians of the fluxes at its points.
//!
//! Unknowns are ordered so that the momentum along the line comes second, right after the density: then the blocks look
//! the same for every axis. Many of their entries are zero whatever the flow, and are neither computed nor multiplied.

use crate::cfd::{AxisCoefficients, C1, C2, KAPPA, Mesh, NU};
use crate::lanes::{Lanes, Unknowns};

/// Row-major 5 x 5, for each line of a bundle.
pub type Block = [Unknowns; 5];

/// Columns of the entries that may differ from zero, by row, in blocks left and right of the diagonal.
pub const COUPLED: [&[usize]; 5] = [&[0, 1], &[0, 1, 2, 3, 4], &[0, 1, 2], &[0, 1, 3], &[0, 1, 2, 3, 4]];

/// What a point contributes to the equations of its line.
#[derive(Clone, Copy, Default)]
pub struct Coupling {
    /// The negative of the block left of the diagonal, in the equations of the next point.
    pub onward: Block,
    /// The block on the diagonal, in its own equations.
    pub own: Block,
    /// The block right of the diagonal, in the equations of the point before.
    pub backward: Block,
}

/// Factors of the Jacobians along one axis, times the time step.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    /// Of the inviscid Jacobian.
    first: f64,
    /// Of the viscous Jacobian.
    second: f64,
    /// Of the identity beside the viscous Jacobian.
    diffusion: f64,
}

impl Factors {
    /// For a mesh and an axis.
    pub fn new(mesh: Mesh, axis: usize, time_step: f64) -> Self {
        let AxisCoefficients { diffusion, first, second } = mesh.axis(axis);
        Factors { first: time_step * first, second: time_step * second, diffusion: time_step * diffusion }
    }

    /// Computes what a point with unknowns `u` contributes. Entries that are zero whatever the flow must be zero
    /// already.
    #[inline(always)]
    pub fn couple(&self, u: &Unknowns, coupling: &mut Coupling) {
        let inverse_density = u[0].recip();
        let velocity = [u[1] * inverse_density, u[2] * inverse_density, u[3] * inverse_density];
        let energy = u[4] * inverse_density;
        let inviscid = inviscid(&velocity, energy, self.first);
        let viscous = viscous(&velocity, energy, self.second * inverse_density);
        for row in 0..5 {
            for &column in COUPLED[row] {
                let mut diffusive = viscous[row][column];
                if row == column {
                    diffusive = diffusive + Lanes::splat(self.diffusion);
                }
                coupling.onward[row][column] = diffusive + inviscid[row][column];
                coupling.backward[row][column] = inviscid[row][column] - diffusive;
                coupling.own[row][column] = diffusive + diffusive;
            }
            coupling.own[row][row] = coupling.own[row][row] + Lanes::splat(1.0);
        }
    }
}

/// `factor` times the derivative of the inviscid flux.
#[inline(always)]
fn inviscid(&[n, s, t]: &[Lanes; 3], energy: Lanes, factor: f64) -> Block {
    let zero = Lanes::splat(0.0);
    let one = Lanes::splat(factor);
    let kinetic = 0.5 * (n * n).plus_product(s, s).plus_product(t, t);
    let pressure = C2 * kinetic;
    let enthalpy = C1 * energy - pressure;
    let [fn_, fs, ft] = [factor * n, factor * s, factor * t];
    [
        [zero, one, zero, zero, zero],
        [factor * pressure - fn_ * n, (2.0 - C2) * fn_, -C2 * fs, -C2 * ft, C2 * one],
        [-(fn_ * s), fs, fn_, zero, zero],
        [-(fn_ * t), ft, zero, fn_, zero],
        [fn_ * (pressure - enthalpy), factor * enthalpy - C2 * (fn_ * n), -C2 * (fn_ * s), -C2 * (fn_ * t), C1 * fn_],
    ]
}

/// `factor` times the density times the derivative of the viscous flux.
#[inline(always)]
fn viscous(&[n, s, t]: &[Lanes; 3], energy: Lanes, factor: Lanes) -> Block {
    const NORMAL: f64 = 4.0 / 3.0 * NU;
    let zero = Lanes::splat(0.0);
    let [fn_, fs, ft] = [factor * n, factor * s, factor * t];
    let (work_n, work_s, work_t) = ((NORMAL - KAPPA) * fn_, (NU - KAPPA) * fs, (NU - KAPPA) * ft);
    let heat = (KAPPA * (factor * energy)).plus_product(work_n, n).plus_product(work_s, s).plus_product(work_t, t);
    [
        [zero; 5],
        [-NORMAL * fn_, NORMAL * factor, zero, zero, zero],
        [-NU * fs, zero, NU * factor, zero, zero],
        [-NU * ft, zero, zero, NU * factor, zero],
        [-heat, work_n, work_s, work_t, KAPPA * factor],
    ]
}

#[cfg(test)]
mod tests {
    use super::{Block, COUPLED, Coupling, Factors};
    use crate::cfd::jacobian::{inviscid, viscous};
    use crate::cfd::{Mesh, Primitive};
    use crate::lanes::Lanes;

    #[test]
    fn the_blocks_are_sums_of_the_jacobians() {
        const U: [f64; 5] = [1.3, 0.7, -0.4, 0.9, 2.6];
        let (mesh, time_step) = (Mesh { n: 12 }, 0.01);
        let factors = Factors::new(mesh, 0, time_step);
        let mut coupling = Coupling::default();
        factors.couple(&U.map(Lanes::splat), &mut coupling);
        let (a, n) = (inviscid::<0>(Primitive::new(U), U[4] / U[0]), viscous::<0>(Primitive::new(U), U[4] / U[0]));
        let coefficients = mesh.axis(0);
        for (row, column) in (0..25).map(|entry| (entry / 5, entry % 5)) {
            let identity = f64::from(u8::from(row == column));
            let convection = time_step * coefficients.first * a[row][column];
            let diffusion = time_step * (coefficients.second * n[row][column] + coefficients.diffusion * identity);
            let near = |block: &Block, expected: f64| {
                let entry = block[row][column].0[3];
                assert!((entry - expected).abs() < 1e-14, "entry {row}, {column}: {entry} is not {expected}");
            };
            near(&coupling.onward, convection + diffusion);
            near(&coupling.backward, convection - diffusion);
            near(&coupling.own, identity + 2.0 * diffusion);
            assert!(COUPLED[row].contains(&column) || (convection == 0.0 && diffusion == 0.0));
        }
    }
}
