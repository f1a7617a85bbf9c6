//! The right-hand side of a step on one cell: the time step times the residual of the flow's steady state.

use crate::cfd::{Block, Field, GHOST, Operator, Row, exact_solution, row_primitives};
use multiversion::multiversion;

/// Computes the residual L(u) - L(exact solution) of a cell.
#[derive(Clone, Debug)]
pub struct Residual {
    operator: Operator,
    forcing: Field,
    primitives: Field,
    row: Row,
}

impl Residual {
    /// For the points of `block`.
    pub fn new(block: Block) -> Self {
        let mut residual = Residual {
            operator: Operator::new(block),
            forcing: Field::new(block.extent),
            primitives: Field::latest_planes(block.extent),
            row: Row::new(block.extent[0]),
        };
        let mut forcing = Field::new(block.extent);
        residual.compute(&exact_field(&block), -1.0, &mut forcing, |_, _| ());
        residual.forcing = forcing;
        residual
    }

    /// Puts `factor` times the residual of `u`, whose ghosts are valid, into the points of `result` off the boundary,
    /// and calls `then` for each plane across z as soon as it is done: its place among these planes, and `result`.
    pub fn compute(&mut self, u: &Field, factor: f64, result: &mut Field, mut then: impl FnMut(usize, &mut Field)) {
        let block = *self.operator.block();
        let interior = [0, 1, 2].map(|axis| block.interior(axis));
        let [width, height, _] = [0, 1, 2].map(|axis| interior[axis].len());
        let [i, j, k] = [0, 1, 2].map(|axis| interior[axis].start + GHOST);
        let primitives_of_plane = |primitives: &mut Field, k: usize| {
            for j in j - 1..j + height + 1 {
                row_primitives(u, primitives, [i - 1, j, k], width + 2);
            }
        };
        primitives_of_plane(&mut self.primitives, k - 1);
        primitives_of_plane(&mut self.primitives, k);
        for (number, plane) in interior[2].clone().enumerate() {
            primitives_of_plane(&mut self.primitives, plane + GHOST + 1);
            for row in interior[1].clone() {
                self.operator.row(u, &self.primitives, [row, plane], &mut self.row);
                let first = [i, row + GHOST, plane + GHOST];
                let forcing = self.forcing.points(first, width);
                let results = result.points_mut(first, width);
                combine(factor, self.row.components(), forcing, results);
            }
            then(number, result);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn combine(factor: f64, changes: [&[f64]; 5], forcing: [&[f64]; 5], results: [&mut [f64]; 5]) {
    for ((result, forcing), change) in results.into_iter().zip(forcing).zip(changes) {
        for ((result, change), forcing) in result.iter_mut().zip(change).zip(forcing) {
            *result = factor * (change + forcing);
        }
    }
}

/// The exact solution on a block and on its ghosts, even those outside the mesh.
fn exact_field(block: &Block) -> Field {
    let mut field = Field::new(block.extent);
    let [columns, rows, planes] = block.extent.map(|extent| 0..extent + 2 * GHOST);
    let intervals = (block.mesh.n - 1) as f64;
    for k in planes {
        for j in rows.clone() {
            for i in columns.clone() {
                let point = [i, j, k];
                let place =
                    [0, 1, 2].map(|axis| (block.start[axis] as f64 + point[axis] as f64 - GHOST as f64) / intervals);
                field.set(point, exact_solution(place));
            }
        }
    }
    field
}
