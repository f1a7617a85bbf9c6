//! Diffusion of the waves: a time step shrinks each by a factor that depends on its wave number.

use super::lines::{Lines, join, separate};
use super::transform::Layout;
use crate::lanes::{LANES, Lanes};
use multiversion::multiversion;
use num_complex::Complex64;
use std::f64::consts::PI;

/// Diffusion per time step.
const ALPHA: f64 = 1e-6;

/// The factors of a process's waves: each is the product of one for each dimension.
pub struct Evolution {
    along_x: Vec<f64>,
    along_y: Vec<f64>,
    along_z: Vec<f64>,
}

impl Evolution {
    /// For the waves of a process with this layout.
    pub fn new(layout: &Layout) -> Self {
        let [nx, ny, nz] = layout.extent;
        let factors = |n: usize, start: usize, count: usize| -> Vec<f64> {
            (start..start + count).map(|index| (-4.0 * ALPHA * PI * PI * wave_number(index, n).powi(2)).exp()).collect()
        };
        Evolution {
            along_x: factors(nx, layout.grid.xy_rank * layout.x, layout.x),
            along_y: factors(ny, layout.grid.yz_rank * layout.waves_y, layout.waves_y),
            along_z: factors(nz, 0, nz),
        }
    }

    /// Advances lines along z by a time step; `start` are the own indices along x and y of the first.
    pub fn step(&self, waves: &mut [Complex64], lines: Lines, start: [usize; 2]) {
        let (along_x, along_y) = (&self.along_x[start[0]..][..lines.count], self.along_y[start[1]]);
        if lines.count == LANES {
            step_lines(waves, lines, along_x, along_y, &self.along_z);
        } else {
            for (z, factor) in self.along_z.iter().enumerate() {
                let row = &mut waves[lines.first + z * lines.along.step..][..lines.count];
                row.iter_mut().zip(along_x).for_each(|(wave, along_x)| *wave *= along_x * (along_y * factor));
            }
        }
    }
}

/// The wave number of a frequency: the upper half stands for negative ones.
fn wave_number(index: usize, n: usize) -> f64 {
    ((index + n / 2) % n) as f64 - (n / 2) as f64
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn step_lines(waves: &mut [Complex64], lines: Lines, along_x: &[f64], along_y: f64, along_z: &[f64]) {
    let along_x = Lanes::load(along_x, 0);
    for (z, factor) in along_z.iter().enumerate() {
        let row = waves[lines.first + z * lines.along.step..].first_chunk_mut();
        let row = row.expect("a row has a vector of points");
        let factors = (along_y * factor) * along_x;
        let [re, im] = separate(row);
        join(&(re * factors), &(im * factors), row);
    }
}

#[cfg(test)]
mod tests {
    use super::wave_number;

    #[test]
    fn the_upper_half_of_the_frequencies_is_negative() {
        let numbers: Vec<_> = (0..8).map(|index| wave_number(index, 8)).collect();
        assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0, -4.0, -3.0, -2.0, -1.0]);
    }
}
