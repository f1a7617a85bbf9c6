//! Velocity and what else the fluxes need, made from the unknowns of a point.

use super::mesh::State;

/// Quantities that the definition forms by dividing by the density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Primitive {
    /// 1 / density.
    pub inverse_density: f64,
    /// Velocity along x, y and z.
    pub velocity: [f64; 3],
    /// Kinetic energy per mass: half the square of the velocity.
    pub kinetic: f64,
}

impl Primitive {
    /// From the unknowns.
    #[inline(always)]
    pub fn new(u: State) -> Self {
        let inverse_density = 1.0 / u[0];
        let velocity = [u[1] * inverse_density, u[2] * inverse_density, u[3] * inverse_density];
        let [x, y, z] = velocity;
        Primitive { inverse_density, velocity, kinetic: 0.5 * (x * x + y * y + z * z) }
    }

    /// As five numbers, for storing in a [`super::Field`].
    #[inline(always)]
    pub fn to_array(self) -> [f64; 5] {
        [self.inverse_density, self.velocity[0], self.velocity[1], self.velocity[2], self.kinetic]
    }

    /// Back from [`Primitive::to_array`].
    #[inline(always)]
    pub fn from_array([inverse_density, x, y, z, kinetic]: [f64; 5]) -> Self {
        Primitive { inverse_density, velocity: [x, y, z], kinetic }
    }
}
