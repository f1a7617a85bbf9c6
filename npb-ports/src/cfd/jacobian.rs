//! Jacobians of the fluxes of one point, as the definition writes them: 5 x 5 matrices.
//!
//! The solvers never form them, for they are sparse and have structure; tests compare what they do with these. N is
//! lower triangular for every axis, and so is every sum of N's and of multiples of the identity.

use super::mesh::{C1, C2, KAPPA, NU};
use super::primitive::Primitive;

/// Row-major 5 x 5.
pub type Matrix = [[f64; 5]; 5];

/// 4/3 along the axis of differentiation, 1 across it.
fn stress_factor<const AXIS: usize>(component: usize) -> f64 {
    if component == AXIS { 4.0 / 3.0 } else { 1.0 }
}

/// A: derivative of the inviscid flux along `AXIS` by the unknowns. `energy` is u5 / u1.
pub fn inviscid<const AXIS: usize>(p: Primitive, energy: f64) -> Matrix {
    let (velocity, normal) = (p.velocity, p.velocity[AXIS]);
    let mut a = [[0.0; 5]; 5];
    a[0][1 + AXIS] = 1.0;
    for m in 0..3 {
        a[1 + m][0] = -velocity[m] * normal;
        a[1 + m][1 + m] += normal;
        a[1 + m][1 + AXIS] += velocity[m];
    }
    a[1 + AXIS][0] += C2 * p.kinetic;
    for m in 0..3 {
        a[1 + AXIS][1 + m] -= C2 * velocity[m];
    }
    a[1 + AXIS][4] = C2;
    a[4][0] = (2.0 * C2 * p.kinetic - C1 * energy) * normal;
    for m in 0..3 {
        a[4][1 + m] = -C2 * normal * velocity[m];
    }
    a[4][1 + AXIS] += C1 * energy - C2 * p.kinetic;
    a[4][4] = C1 * normal;
    a
}

/// N: derivative of the viscous flux along `AXIS` by the unknowns. `energy` is u5 / u1.
pub fn viscous<const AXIS: usize>(p: Primitive, energy: f64) -> Matrix {
    let mut n = [[0.0; 5]; 5];
    n[4][0] = -KAPPA * energy * p.inverse_density;
    for m in 0..3 {
        let stress = stress_factor::<AXIS>(m) * NU;
        n[1 + m][0] = -stress * p.velocity[m] * p.inverse_density;
        n[1 + m][1 + m] = stress * p.inverse_density;
        n[4][0] -= (stress - KAPPA) * p.velocity[m] * p.velocity[m] * p.inverse_density;
        n[4][1 + m] = (stress - KAPPA) * p.velocity[m] * p.inverse_density;
    }
    n[4][4] = KAPPA * p.inverse_density;
    n
}

#[cfg(test)]
mod tests {
    use super::{Matrix, inviscid, viscous};
    use crate::cfd::{C1, C2, Primitive, State};

    const U: State = [1.3, 0.7, -0.4, 0.9, 2.6];
    const V: State = [0.11, -0.23, 0.31, 0.47, -0.59];

    fn product(a: Matrix, v: State) -> State {
        a.map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum())
    }

    fn close(a: State, b: State) {
        for (a, b) in a.into_iter().zip(b) {
            assert!((a - b).abs() < 1e-8, "{a} and {b} differ");
        }
    }

    /// The inviscid flux itself, from which A is derived.
    fn flux<const AXIS: usize>(u: State) -> State {
        let p = Primitive::new(u);
        let (normal, pressure) = (p.velocity[AXIS], C2 * (u[4] - u[0] * p.kinetic));
        let mut flux = u.map(|number| number * normal);
        flux[1 + AXIS] += pressure;
        flux[4] = (C1 * u[4] - C2 * u[0] * p.kinetic) * normal;
        flux
    }

    fn check_axis<const AXIS: usize>() {
        let (p, energy) = (Primitive::new(U), U[4] / U[0]);
        let step = 1e-5;
        let moved = |sign: f64| flux::<AXIS>(std::array::from_fn(|m| U[m] + sign * step * V[m]));
        let (after, before) = (moved(1.0), moved(-1.0));
        close(product(inviscid::<AXIS>(p, energy), V), std::array::from_fn(|m| (after[m] - before[m]) / (2.0 * step)));
    }

    #[test]
    fn the_inviscid_jacobian_is_the_derivative_of_the_flux() {
        check_axis::<0>();
        check_axis::<1>();
        check_axis::<2>();
    }

    #[test]
    fn the_viscous_jacobian_is_lower_triangular() {
        let n = viscous::<1>(Primitive::new(U), 2.0);
        assert!((0..5).all(|row| (row + 1..5).all(|column| n[row][column] == 0.0)));
    }
}
