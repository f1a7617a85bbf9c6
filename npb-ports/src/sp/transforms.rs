//! From changes of the unknowns to amplitudes of waves and back, point by point.
//!
//! The definition calls these multiplications with the eigenvector matrices txinvr (unknowns to waves along x), ninvr
//! (waves along x to y), pinvr (y to z) and tzetar (z to unknowns).

use crate::cfd::{C1, C2};
use crate::lanes::{Lanes, Unknowns};
use std::f64::consts::FRAC_1_SQRT_2;

/// What the state of a point says about its waves.
#[derive(Clone, Copy)]
struct Point {
    inverse_density: Lanes,
    velocity: [Lanes; 3],
    /// Kinetic energy per mass.
    kinetic: Lanes,
    /// Square of the speed of sound.
    sound_square: Lanes,
}

impl Point {
    #[inline(always)]
    fn new(u: &Unknowns) -> Self {
        let inverse_density = u[0].recip();
        let velocity = [u[1] * inverse_density, u[2] * inverse_density, u[3] * inverse_density];
        let [x, y, z] = velocity;
        let kinetic = 0.5 * (x * x).plus_product(y, y).plus_product(z, z);
        let sound_square = C1 * C2 * (u[4] * inverse_density - kinetic);
        Point { inverse_density, velocity, kinetic, sound_square }
    }
}

/// Unknowns to waves along x.
#[inline(always)]
pub fn to_waves_along_x(u: &Unknowns, r: &Unknowns) -> Unknowns {
    let Point { inverse_density, velocity: [x, y, z], kinetic, sound_square } = Point::new(u);
    let work = (kinetic * r[0] + r[4]).minus_product(x, r[1]).minus_product(y, r[2]).minus_product(z, r[3]);
    let inverse_sound = sound_square.sqrt().recip();
    let pressure = C2 * work * inverse_sound;
    let scale = FRAC_1_SQRT_2 * inverse_density;
    let across = scale * (x * r[0] - r[1]);
    let along = scale * pressure;
    [
        r[0].minus_product(pressure, inverse_sound),
        inverse_density * (r[3].minus_product(z, r[0])),
        inverse_density * ((y * r[0]) - r[2]),
        along - across,
        along + across,
    ]
}

/// Waves along x to waves along y.
#[inline(always)]
pub fn from_x_to_y(r: &Unknowns) -> Unknowns {
    let (across, along) = (FRAC_1_SQRT_2 * r[2], 0.5 * (r[3] + r[4]));
    [-r[1], r[0], FRAC_1_SQRT_2 * (r[3] - r[4]), along - across, along + across]
}

/// Waves along y to waves along z.
#[inline(always)]
pub fn from_y_to_z(r: &Unknowns) -> Unknowns {
    let (across, along) = (FRAC_1_SQRT_2 * r[0], 0.5 * (r[3] + r[4]));
    [FRAC_1_SQRT_2 * (r[3] - r[4]), -r[2], r[1], along - across, along + across]
}

/// Waves along z to unknowns.
#[inline(always)]
pub fn from_waves_along_z(u: &Unknowns, r: &Unknowns) -> Unknowns {
    let Point { velocity: [x, y, z], kinetic, sound_square, .. } = Point::new(u);
    let sound = sound_square.sqrt();
    let scale = FRAC_1_SQRT_2 * u[0];
    let compression = scale * (r[3] + r[4]);
    let per_sound = compression * sound.recip();
    let density = r[2] + per_sound;
    let momentum = scale * (r[3] - r[4]);
    let heat = (1.0 / C2) * (compression * sound);
    [
        density,
        x * density - u[0] * r[1],
        y * density + u[0] * r[0],
        z * density + momentum,
        u[0] * (y * r[0] - x * r[1]) + kinetic * density + heat + z * momentum,
    ]
}
