//! What the array in space starts with, and what is looked at in the end.

use super::transform::Layout;
use crate::random::Generator;
use num_complex::Complex64;

const SEED: u64 = 314_159_265;

/// How many points a checksum adds.
const CHECKED_POINTS: usize = 1024;

/// Fills the process's part of the array with the random numbers that belong to its points.
pub fn fill_randomly(layout: &Layout, space: &mut [Complex64]) {
    let [nx, ny, _] = layout.extent;
    let along = layout.along_x();
    let mut line = vec![0.0; 2 * nx];
    for z in 0..layout.z {
        for y in 0..layout.space_y {
            let place = (y + layout.grid.xy_rank * layout.space_y) + ny * (z + layout.grid.yz_rank * layout.z);
            let mut generator = Generator::new(SEED);
            generator.jump((2 * nx * place) as u64);
            generator.fill(&mut line);
            let first = layout.line(y, z);
            for (x, [re, im]) in line.as_chunks().0.iter().enumerate() {
                space[first + along.place(x)] = Complex64::new(*re, *im);
            }
        }
    }
}

/// The sum over those of 1024 chosen points that the process has.
pub fn checksum(layout: &Layout, space: &[Complex64]) -> Complex64 {
    let [nx, ny, nz] = layout.extent;
    let own = |index: usize, rank: usize, count: usize| index.checked_sub(rank * count).filter(|own| *own < count);
    let along = layout.along_x();
    let points = (1..=CHECKED_POINTS).filter_map(|j| {
        let y = own(3 * j % ny, layout.grid.xy_rank, layout.space_y)?;
        let z = own(5 * j % nz, layout.grid.yz_rank, layout.z)?;
        Some(space[layout.line(y, z) + along.place(j % nx)])
    });
    points.sum::<Complex64>() / (nx * ny * nz) as f64
}
