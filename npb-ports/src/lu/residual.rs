//! The steady residual: what drives the flow less what the exact solution would be driven by.

use super::diagonals::Rectangle;
use crate::cfd::{
    AxisCoefficients, Block, Field, GHOST, Primitive, Row, Weights, dissipation_weights, row_primitives,
    spatial_operator, whole_vectors,
};

/// Computes L of skewed fields of one block.
pub struct Residual {
    block: Block,
    coefficients: [AxisCoefficients; 3],
    interior: Rectangle,
    /// Weights of the fourth differences for descending i: a diagonal's, in the order of its points.
    along_x: [Vec<f64>; 5],
    /// Weights of the fourth differences for ascending j.
    along_y: [Vec<f64>; 5],
    row: Row,
}

impl Residual {
    /// For `block`.
    pub fn new(block: Block) -> Self {
        let weights = |axis: usize| -> Vec<_> {
            let indices = block.start[axis]..block.start[axis] + block.extent[axis];
            indices.map(|index| dissipation_weights(index, block.mesh.n)).collect()
        };
        // Vectors reach beyond the last point.
        let transposed = |weights: Vec<[f64; 5]>| {
            std::array::from_fn(|offset| {
                let mut column: Vec<_> = weights.iter().map(|weights| weights[offset]).collect();
                column.resize(weights.len() + whole_vectors(1), 0.0);
                column
            })
        };
        let mut descending = weights(0);
        descending.reverse();
        Residual {
            block,
            coefficients: block.mesh.axes(),
            interior: Rectangle::interior(&block),
            along_x: transposed(descending),
            along_y: transposed(weights(1)),
            row: Row::new(block.extent[1]),
        }
    }

    /// Computes the primitives of the whole block.
    pub fn primitives(&self, u: &Field, primitives: &mut Field) {
        let [width, height, depth] = self.block.extent;
        let rectangle = Rectangle { i: GHOST..GHOST + width, j: GHOST..GHOST + height };
        for k in GHOST..GHOST + depth {
            for diagonal in rectangle.diagonals() {
                row_primitives(u, primitives, diagonal.first(k), diagonal.j.len());
            }
        }
    }

    /// Computes the primitives of the ghosts next to the block, where the mesh has points.
    pub fn ghost_primitives(&self, u: &Field, primitives: &mut Field) {
        let Block { mesh, start, extent } = self.block;
        for axis in [0, 1] {
            let low = (start[axis] > 0).then_some(GHOST - 1);
            let high = (start[axis] + extent[axis] < mesh.n).then_some(GHOST + extent[axis]);
            for outside in low.into_iter().chain(high) {
                for k in GHOST..GHOST + extent[2] {
                    for along in GHOST..GHOST + extent[1 - axis] {
                        let point = if axis == 0 { [outside, along, k] } else { [along, outside, k] };
                        primitives.set(point, Primitive::new(u.get(point)).to_array());
                    }
                }
            }
        }
    }

    /// `result` = L(`u`) - `forcing` at the interior points. Ghosts of `u` and `primitives` must be valid.
    pub fn residual(&mut self, u: &Field, primitives: &Field, forcing: &Field, result: &mut Field) {
        for k in self.block.interior(2) {
            for diagonal in self.interior.diagonals() {
                let (first, count) = (diagonal.first(k + GHOST), diagonal.j.len());
                self.spatial_operator(u, primitives, first, count);
                let rows = result.points_mut(first, count).into_iter().zip(forcing.points(first, count));
                for ((result, forcing), row) in rows.zip(self.row.components()) {
                    for ((result, forcing), drive) in result.iter_mut().zip(forcing).zip(row) {
                        *result = drive - forcing;
                    }
                }
            }
        }
    }

    fn spatial_operator(&mut self, u: &Field, primitives: &Field, first: [usize; 3], count: usize) {
        let [i, j, k] = first.map(|index| index - GHOST);
        let count = whole_vectors(count);
        let descending = self.block.extent[0] - 1 - i;
        let weights = [
            Weights::Each(self.along_x.each_ref().map(|weights| &weights[descending..][..count])),
            Weights::Each(self.along_y.each_ref().map(|weights| &weights[j..][..count])),
            Weights::Same(dissipation_weights(self.block.start[2] + k, self.block.mesh.n)),
        ];
        spatial_operator(&self.coefficients, (u, primitives), first, count, weights, &mut self.row);
    }
}
