//! The 5 x 5 blocks of the triangular systems, applied without being formed.

use super::change::{Change, Flow};
use super::sweep::Sweep;
use crate::cfd::{AxisCoefficients, KAPPA, Mesh, NU};
use crate::lanes::{Lanes, Unknowns};

/// Relaxation factor.
pub const OMEGA: f64 = 1.2;

/// Factors of the blocks of one problem.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// Time step.
    pub step: f64,
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

impl Blocks {
    /// For time steps of `step` on `mesh`.
    pub fn new(mesh: Mesh, step: f64) -> Self {
        let axes = mesh.axes();
        let total = |factor: fn(&AxisCoefficients) -> f64| 2.0 * step * axes.iter().map(factor).sum::<f64>();
        // Each component of the velocity is normal to one axis, where its stress counts 4/3, and across the two others.
        let second = total(|axis| axis.second);
        let stress = NU * second * (10.0 / 9.0);
        Blocks {
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

    /// D⁻¹ `r`: D is lower triangular, so this is a forward substitution.
    #[inline(always)]
    pub fn divide_by_diagonal(&self, flow: &Flow, r: Unknowns) -> Unknowns {
        let [x, y, z] = flow.velocity;
        let (identity, part) = (Lanes::splat(self.identity), 1.0 / self.identity);
        let stressed = identity.plus_product(Lanes::splat(self.stress), flow.inverse_density);
        let heat = self.heat * flow.inverse_density;
        let heated = identity + heat;
        // Two quotients for one division.
        let both = (stressed * heated).recip();
        let inverse = flow.inverse_density * (heated * both);
        let density = part * r[0];
        let velocity = [
            r[1].minus_product(x, r[0]) * inverse,
            r[2].minus_product(y, r[0]) * inverse,
            r[3].minus_product(z, r[0]) * inverse,
        ];
        let stress = Lanes::splat(self.stress);
        let work = (x * velocity[0]).plus_product(y, velocity[1]).plus_product(z, velocity[2]);
        let energy = r[4].minus_product(Lanes::splat(self.work), work).plus_product(heat * flow.energy, density);
        [
            density,
            part * r[1].minus_product(stress, velocity[0]),
            part * r[2].minus_product(stress, velocity[1]),
            part * r[3].minus_product(stress, velocity[2]),
            energy * (stressed * both),
        ]
    }

    /// The product of the off-diagonal block of `AXIS` with a change by `v`, times the relaxation factor.
    #[inline(always)]
    pub fn off_diagonal<const AXIS: usize>(&self, sweep: Sweep, change: &Change, v: &Unknowns) -> Unknowns {
        let axis = &self.axes[AXIS];
        let first = Lanes::splat(match sweep {
            Sweep::Lower => -axis.first,
            Sweep::Upper => axis.first,
        });
        let (second, diffusion) = (Lanes::splat(axis.second), Lanes::splat(axis.diffusion));
        let (inviscid, viscous) = (change.inviscid::<AXIS>(), change.viscous::<AXIS>());
        let mut product = [Lanes::default(); 5];
        for m in 0..5 {
            product[m] = (first * inviscid[m]).minus_product(second, viscous[m]).minus_product(diffusion, v[m]);
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::tests::{U, V, close, flow, product};
    use super::{Blocks, Change, OMEGA, Sweep};
    use crate::cfd::jacobian::{Matrix, inviscid, viscous};
    use crate::cfd::{Mesh, Primitive};
    use crate::lanes::splat_each;

    const MESH: Mesh = Mesh { n: 9 };
    const STEP: f64 = 0.3;

    fn add(sum: &mut Matrix, factor: f64, matrix: Matrix) {
        for (sum, number) in sum.as_flattened_mut().iter_mut().zip(matrix.as_flattened()) {
            *sum += factor * number;
        }
    }

    fn identity() -> Matrix {
        std::array::from_fn(|row| std::array::from_fn(|column| if row == column { 1.0 } else { 0.0 }))
    }

    #[test]
    fn dividing_by_the_diagonal_undoes_the_product_with_it() {
        let (p, energy) = (Primitive::new(U), U[4] / U[0]);
        let mut d = identity();
        for (axis, n) in [viscous::<0>(p, energy), viscous::<1>(p, energy), viscous::<2>(p, energy)].iter().enumerate()
        {
            add(&mut d, 2.0 * STEP * MESH.axis(axis).second, *n);
            add(&mut d, 2.0 * STEP * MESH.axis(axis).diffusion, identity());
        }
        close(Blocks::new(MESH, STEP).divide_by_diagonal(&flow(U), splat_each(&product(&d, V))), V);
    }

    #[test]
    fn off_diagonal_products_are_those_of_the_definition() {
        let (p, energy) = (Primitive::new(U), U[4] / U[0]);
        let axis = MESH.axis(1);
        for (sweep, sign) in [(Sweep::Lower, -1.0), (Sweep::Upper, 1.0)] {
            let mut block = [[0.0; 5]; 5];
            add(&mut block, sign * OMEGA * STEP * axis.first, inviscid::<1>(p, energy));
            add(&mut block, -OMEGA * STEP * axis.second, viscous::<1>(p, energy));
            add(&mut block, -OMEGA * STEP * axis.diffusion, identity());
            let v = splat_each(&V);
            let change = Change::new(flow(U), v);
            close(Blocks::new(MESH, STEP).off_diagonal::<1>(sweep, &change, &v), product(&block, V));
        }
    }
}
