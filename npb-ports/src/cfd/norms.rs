//! Norms that verification compares.

use super::exact::exact_solution;
use super::field::{Field, GHOST};
use super::mesh::{Block, Mesh, State};

/// Sum of the squares of each component over the points of `block` off the boundary.
pub fn squares(block: &Block, field: &Field) -> State {
    sum_interior(block, |point| field.get(point.map(|index| index + GHOST)))
}

/// Sum of the squares of each component's distance from the exact solution over the points of `block` off the boundary.
pub fn error_squares(block: &Block, u: &Field) -> State {
    sum_interior(block, |point| {
        let value = u.get(point.map(|index| index + GHOST));
        let exact = exact_solution(block.mesh.coordinates(block.global(point)));
        std::array::from_fn(|m| value[m] - exact[m])
    })
}

/// Root of the mean over the mesh's interior points, from sums of squares over all of them.
pub fn root_mean(mesh: Mesh, squares: State) -> State {
    squares.map(|sum| (sum / mesh.interior_points() as f64).sqrt())
}

fn sum_interior(block: &Block, value: impl Fn([usize; 3]) -> State) -> State {
    let mut sums = [0.0; 5];
    for k in block.interior(2) {
        for j in block.interior(1) {
            for i in block.interior(0) {
                for (sum, number) in sums.iter_mut().zip(value([i, j, k])) {
                    *sum += number * number;
                }
            }
        }
    }
    sums
}
