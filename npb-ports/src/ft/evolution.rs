//! Diffusion of the waves: in time, each shrinks by a factor that depends on its wave number.

use super::fft::Block;
use super::transform::Layout;
use crate::lanes::LANES;
use multiversion::multiversion;
use std::f64::consts::PI;

/// Diffusion per time step.
const ALPHA: f64 = 1e-6;

/// The factors of a process's waves after some time: each is the product of one for each dimension.
#[derive(Clone, Debug)]
pub struct Evolution {
    along_x: Vec<f64>,
    along_y: Vec<f64>,
    along_z: Vec<f64>,
}

impl Evolution {
    /// For the waves of a process with this layout, after `time` steps.
    pub fn new(layout: &Layout, time: usize) -> Self {
        let [nx, ny, nz] = layout.extent;
        let decay = -4.0 * ALPHA * PI * PI * time as f64;
        let factors = |n: usize, start: usize, count: usize| -> Vec<f64> {
            (start..start + count).map(|index| (decay * wave_number(index, n).powi(2)).exp()).collect()
        };
        Evolution {
            along_x: factors(nx, layout.grid.xy_rank * layout.x, layout.x),
            along_y: factors(ny, layout.grid.yz_rank * layout.waves_y, layout.waves_y),
            along_z: factors(nz, 0, nz),
        }
    }

    /// Shrinks lines along z; `x` is the own index of the first along x, `y` that of all along y.
    pub fn shrink(&self, block: &mut Block, [x, y]: [usize; 2]) {
        let mut along_x = [0.0; LANES];
        for (factor, own) in along_x.iter_mut().zip(&self.along_x[x..]) {
            *factor = own * self.along_y[y];
        }
        shrink(&mut block.re, &along_x, &self.along_z);
        shrink(&mut block.im, &along_x, &self.along_z);
    }
}

/// The wave number of a frequency: the upper half stands for negative ones.
fn wave_number(index: usize, n: usize) -> f64 {
    ((index + n / 2) % n) as f64 - (n / 2) as f64
}

#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
fn shrink(numbers: &mut [f64], across: &[f64], along: &[f64]) {
    for (numbers, along) in numbers.chunks_exact_mut(across.len()).zip(along) {
        for (number, across) in numbers.iter_mut().zip(across) {
            *number *= across * along;
        }
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
