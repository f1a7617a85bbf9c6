//! The pressure integrated over three pairs of opposite faces of a box inside the cube.

use super::neighbours::Neighbours;
use crate::cfd::{Block, C2, Field, GHOST, Primitive};
use rwmpi::Result;
use std::ops::RangeInclusive;

/// The box's integral. Summing the four corners of every cell of a face comes to weighting its points, which needs no
/// neighbour's values.
pub fn surface_integral(block: &Block, u: &Field, neighbours: &impl Neighbours) -> Result<f64> {
    let n = block.mesh.n;
    let sides: [RangeInclusive<usize>; 3] = [1..=n - 2, 1..=n - 3, 2..=n - 2];
    let pressure = |point: [usize; 3]| {
        let u = u.get(point.map(|index| index + GHOST));
        C2 * (u[4] - u[0] * Primitive::new(u).kinetic)
    };
    let mut integral = 0.0;
    for axis in [2, 1, 0] {
        let ends = [*sides[axis].start(), *sides[axis].end()];
        let mut sum = 0.0;
        for_each_point(block, |point, own| {
            if ends.contains(&point[axis]) {
                let weight = |other: usize| if other == axis { 1.0 } else { cell_count(&sides[other], point[other]) };
                sum += weight(0) * weight(1) * weight(2) * pressure(own);
            }
        });
        integral += neighbours.sum([sum])?[0];
    }
    let spacing = 1.0 / (n - 1) as f64;
    Ok(0.25 * spacing * spacing * integral)
}

/// How many cells of a side have the point as a corner.
fn cell_count(side: &RangeInclusive<usize>, index: usize) -> f64 {
    match index {
        _ if !side.contains(&index) => 0.0,
        _ if index == *side.start() || index == *side.end() => 1.0,
        _ => 2.0,
    }
}

/// Calls `visit` with each point's indices in the mesh and in the block.
fn for_each_point(block: &Block, mut visit: impl FnMut([usize; 3], [usize; 3])) {
    for k in 0..block.extent[2] {
        for j in 0..block.extent[1] {
            for i in 0..block.extent[0] {
                visit(block.global([i, j, k]), [i, j, k]);
            }
        }
    }
}
