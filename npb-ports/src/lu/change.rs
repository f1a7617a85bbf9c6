//! What a small change of the unknowns of a point does to its fluxes: the products of the Jacobians with a vector,
//! without the Jacobians.

use crate::cfd::{C1, C2, KAPPA, NU};
use crate::lanes::{Lanes, Unknowns};

/// The flow at a point, as far as its Jacobians depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// 1 / density.
    pub inverse_density: Lanes,
    /// Velocity along x, y and z.
    pub velocity: [Lanes; 3],
    /// Half the square of the velocity.
    pub kinetic: Lanes,
    /// Energy per mass.
    pub energy: Lanes,
}

/// A small change of the unknowns of a point, and what follows from it for any axis.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    flow: Flow,
    /// Enthalpy per mass at the point.
    enthalpy: Lanes,
    unknowns: Unknowns,
    /// Change of momentum beyond what the change of density carries: density times the change of velocity.
    relative_momentum: [Lanes; 3],
    velocity: [Lanes; 3],
    pressure: Lanes,
    /// Viscous flux of energy without the part that depends on the axis.
    heat: Lanes,
}

impl Change {
    /// The unknowns change by `v`.
    #[inline(always)]
    pub fn new(flow: Flow, v: Unknowns) -> Self {
        let [x, y, z] = flow.velocity;
        let relative = [v[1].minus_product(x, v[0]), v[2].minus_product(y, v[0]), v[3].minus_product(z, v[0])];
        let velocity = [
            relative[0] * flow.inverse_density,
            relative[1] * flow.inverse_density,
            relative[2] * flow.inverse_density,
        ];
        let work = (x * velocity[0]).plus_product(y, velocity[1]).plus_product(z, velocity[2]);
        let internal = v[4].plus_product(flow.kinetic, v[0]).minus_product(x, v[1]);
        let heat = KAPPA * (v[4].minus_product(flow.energy, v[0]) * flow.inverse_density);
        Change {
            flow,
            enthalpy: (C1 * flow.energy).minus_product(Lanes::splat(C2), flow.kinetic),
            unknowns: v,
            relative_momentum: relative,
            velocity,
            pressure: C2 * internal.minus_product(y, v[2]).minus_product(z, v[3]),
            heat: heat.plus_product(Lanes::splat(NU - KAPPA), work),
        }
    }

    /// A v: change of the inviscid flux along `AXIS`.
    #[inline(always)]
    pub fn inviscid<const AXIS: usize>(&self) -> Unknowns {
        let (v, normal, [x, y, z]) = (self.unknowns, self.flow.velocity[AXIS], self.flow.velocity);
        let momentum = self.relative_momentum[AXIS];
        let mut flux = [
            v[1 + AXIS],
            (x * momentum).plus_product(normal, v[1]),
            (y * momentum).plus_product(normal, v[2]),
            (z * momentum).plus_product(normal, v[3]),
            (self.enthalpy * momentum).plus_product(normal, v[4] + self.pressure),
        ];
        flux[1 + AXIS] = flux[1 + AXIS] + self.pressure;
        flux
    }

    /// N v: change of the viscous flux along `AXIS`.
    #[inline(always)]
    pub fn viscous<const AXIS: usize>(&self) -> Unknowns {
        let [x, y, z] = self.velocity;
        let mut flux = [Lanes::default(), NU * x, NU * y, NU * z, self.heat];
        let normal_stress = (NU / 3.0) * self.velocity[AXIS];
        flux[1 + AXIS] = flux[1 + AXIS] + normal_stress;
        flux[4] = flux[4].plus_product(normal_stress, self.flow.velocity[AXIS]);
        flux
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Change, Flow};
    use crate::cfd::jacobian::{Matrix, inviscid, viscous};
    use crate::cfd::{Primitive, State};
    use crate::lanes::{Lanes, splat_each};

    pub(in super::super) const U: State = [1.3, 0.7, -0.4, 0.9, 2.6];
    pub(in super::super) const V: State = [0.11, -0.23, 0.31, 0.47, -0.59];

    pub(in super::super) fn flow(u: State) -> Flow {
        let p = Primitive::new(u);
        let [inverse_density, kinetic, energy] = [p.inverse_density, p.kinetic, u[4] / u[0]].map(Lanes::splat);
        Flow { inverse_density, velocity: p.velocity.map(Lanes::splat), kinetic, energy }
    }

    pub(in super::super) fn product(a: &Matrix, v: State) -> State {
        a.map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum())
    }

    pub(in super::super) fn close(a: [Lanes; 5], b: State) {
        for (a, b) in a.into_iter().zip(b) {
            assert!(a.0.iter().all(|a| (a - b).abs() < 1e-13), "{a:?} and {b} differ");
        }
    }

    fn check_axis<const AXIS: usize>() {
        let change = Change::new(flow(U), splat_each(&V));
        let (p, energy) = (Primitive::new(U), U[4] / U[0]);
        close(change.inviscid::<AXIS>(), product(&inviscid::<AXIS>(p, energy), V));
        close(change.viscous::<AXIS>(), product(&viscous::<AXIS>(p, energy), V));
    }

    #[test]
    fn products_are_those_with_the_matrices_of_the_definition() {
        check_axis::<0>();
        check_axis::<1>();
        check_axis::<2>();
    }
}
