//! The steady solution, and the interpolation of it that a run starts from.

use super::mesh::{Mesh, State};

/// Polynomial coefficients of the five unknowns: the constant, then for each power 1 to 4 those of x, y and z.
const COEFFICIENTS: [(f64, [[f64; 3]; 4]); 5] = [
    (2.0, [[0.0, 0.0, 4.0], [5.0, 3.0, 0.5], [0.02, 0.01, 0.03], [0.5, 0.4, 0.3]]),
    (1.0, [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.01, 0.03, 0.02], [0.4, 0.3, 0.5]]),
    (2.0, [[2.0, 0.0, 0.0], [0.0, 2.0, 3.0], [0.04, 0.03, 0.05], [0.3, 0.5, 0.4]]),
    (2.0, [[2.0, 0.0, 0.0], [0.0, 2.0, 3.0], [0.03, 0.05, 0.04], [0.2, 0.1, 0.3]]),
    (5.0, [[4.0, 3.0, 2.0], [0.1, 0.4, 0.3], [0.05, 0.04, 0.03], [0.1, 0.3, 0.2]]),
];

/// The steady solution at a place in the unit cube.
pub fn exact_solution(place: [f64; 3]) -> State {
    COEFFICIENTS.map(|(constant, [first, second, third, fourth])| {
        let along = |axis: usize| {
            let x = place[axis];
            x * (first[axis] + x * (second[axis] + x * (third[axis] + x * fourth[axis])))
        };
        constant + along(0) + along(1) + along(2)
    })
}

/// What a point starts with: the exact solution on the boundary, inside a blend of the boundary values of the three
/// mesh lines through the point.
pub fn initial_value(mesh: Mesh, point: [usize; 3]) -> State {
    let place = mesh.coordinates(point);
    if mesh.on_boundary(point) {
        return exact_solution(place);
    }
    let between_faces = |axis: usize| {
        let face = |end: f64| {
            let mut on_face = place;
            on_face[axis] = end;
            exact_solution(on_face)
        };
        let (low, high, x) = (face(0.0), face(1.0), place[axis]);
        std::array::from_fn::<f64, 5, _>(|m| (1.0 - x) * low[m] + x * high[m])
    };
    let (px, py, pz) = (between_faces(0), between_faces(1), between_faces(2));
    std::array::from_fn(|m| {
        let (x, y, z) = (px[m], py[m], pz[m]);
        x + y + z - x * y - y * z - z * x + x * y * z
    })
}

#[cfg(test)]
mod tests {
    use super::{exact_solution, initial_value};
    use crate::cfd::Mesh;

    #[test]
    fn the_origin_has_the_constants_and_the_far_corner_the_sums() {
        assert_eq!(exact_solution([0.0; 3]), [2.0, 1.0, 2.0, 2.0, 5.0]);
        let corner = exact_solution([1.0; 3]);
        for (value, sum) in corner.into_iter().zip([15.76, 8.26, 10.32, 9.72, 15.52]) {
            assert!((value - sum).abs() < 1e-13, "{value} is not {sum}");
        }
    }

    #[test]
    fn a_run_starts_from_the_exact_boundary_and_from_something_else_inside() {
        let mesh = Mesh { n: 5 };
        for point in [[0, 2, 3], [1, 4, 2], [3, 3, 0]] {
            assert_eq!(initial_value(mesh, point), exact_solution(mesh.coordinates(point)));
        }
        assert_ne!(initial_value(mesh, [2, 2, 2]), exact_solution(mesh.coordinates([2, 2, 2])));
    }
}
