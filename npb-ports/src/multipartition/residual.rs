//! The right-hand side of a step on one cell: the time step times the residual of the flow's steady state.

use crate::cfd::{Block, Field, GHOST, Operator, Row, exact_solution};
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
            primitives: Field::new(block.extent),
            row: Row::new(block.extent[0]),
        };
        let mut forcing = Field::new(block.extent);
        residual.compute(&exact_field(&block), -1.0, &mut forcing);
        residual.forcing = forcing;
        residual
    }

    /// Puts `factor` times the residual of `u`, whose ghosts are valid, into the points of `result` off the boundary.
    pub fn compute(&mut self, u: &Field, factor: f64, result: &mut Field) {
        let block = *self.operator.block();
        let interior = [0, 1, 2].map(|axis| block.interior(axis));
        let rows = interior[1].start + GHOST - 1..interior[1].end + GHOST + 1;
        let primitives_of_plane = |primitives: &mut Field, k: usize| {
            for j in rows.clone() {
                self.operator.row_primitives(u, primitives, j, k);
            }
        };
        let first = interior[2].start + GHOST;
        primitives_of_plane(&mut self.primitives, first - 1);
        primitives_of_plane(&mut self.primitives, first);
        for k in interior[2].clone() {
            primitives_of_plane(&mut self.primitives, k + GHOST + 1);
            for j in interior[1].clone() {
                self.operator.row(u, &self.primitives, [j, k], &mut self.row);
                let columns = interior[0].start + GHOST..interior[0].end + GHOST;
                let forcing = self.forcing.row(j + GHOST, k + GHOST);
                let results = result.row_mut(j + GHOST, k + GHOST);
                for ((result, forcing), change) in results.into_iter().zip(forcing).zip(self.row.components()) {
                    let columns = columns.clone();
                    combine(factor, &change[columns.clone()], &forcing[columns.clone()], &mut result[columns]);
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn combine(factor: f64, change: &[f64], forcing: &[f64], result: &mut [f64]) {
    for ((result, change), forcing) in result.iter_mut().zip(change).zip(forcing) {
        *result = factor * (change + forcing);
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
