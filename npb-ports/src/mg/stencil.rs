//! The four operators of multigrid, each a weighted sum over a point and its 26 neighbours, where the weight depends
//! only on whether the neighbour shares a face, an edge or a corner with the point.
//!
//! All but prolongation work row by row in two steps. First, for every place along the row, the four neighbouring rows
//! that share a face with it are added up, and the four that share an edge. These two sums and the row itself are
//! weighted in two ways: as what they give to the point at that place, and to the points one place beside it. Then a
//! point's result is the sum of three numbers.
//!
//! Of a grid that is read, an operator gets everything; of one that it changes, only the planes that are not ghosts
//! ([`Shape::inside`]). So the ghosts' planes can be received meanwhile. Some of the operators go through the planes
//! backwards, to begin with what the one before has left in the cache.

use super::shape::{Rows, Shape};
use multiversion::multiversion;

/// Weights of the operator A; those of faces are zero.
const CENTRE_OF_A: f64 = -8.0 / 3.0;
const EDGE_OF_A: f64 = 1.0 / 6.0;
const CORNER_OF_A: f64 = 1.0 / 12.0;

/// Weights of the smoother S; those of corners are zero.
#[derive(Clone, Copy, Debug)]
pub struct Smoother {
    pub centre: f64,
    pub face: f64,
    pub edge: f64,
}

/// Room for the weighted sums of a row and those around it.
#[derive(Debug)]
pub struct RowSums {
    here: Vec<f64>,
    beside: Vec<f64>,
}

impl RowSums {
    /// Room for rows of `shape` and all smaller ones.
    pub fn new(shape: Shape) -> Self {
        let row = || vec![0.0; shape.extents()[0]];
        RowSums { here: row(), beside: row() }
    }

    /// The whole weighted sums, of the interior points of a row.
    #[inline(always)]
    fn totals(&self, length: usize) -> impl Iterator<Item = f64> {
        let beside = self.beside[..length].windows(3);
        self.here[1..length - 1].iter().zip(beside).map(|(here, beside)| here + (beside[0] + beside[2]))
    }
}

/// Adds up what row `(y, z)` of `grid` and the rows around it give to the points at each place along the row, `here`,
/// and to those one place `beside`. Both functions get the row's own value, the sum of the four rows that share a face
/// with it, and that of the four that share an edge.
#[inline(always)]
fn add_rows(
    shape: Shape,
    grid: &[f64],
    [y, z]: [usize; 2],
    sums: &mut RowSums,
    here: impl Fn(f64, f64, f64) -> f64,
    beside: impl Fn(f64, f64, f64) -> f64,
) {
    let length = shape.extents()[0];
    let row = |y, z| &grid[shape.row(y, z)][..length];
    let (sums_here, sums_beside) = (&mut sums.here[..length], &mut sums.beside[..length]);
    let centres = row(y, z);
    let faces = [row(y - 1, z), row(y + 1, z), row(y, z - 1), row(y, z + 1)];
    let edges = [row(y - 1, z - 1), row(y + 1, z - 1), row(y - 1, z + 1), row(y + 1, z + 1)];
    for x in 0..length {
        let face = (faces[0][x] + faces[1][x]) + (faces[2][x] + faces[3][x]);
        let edge = (edges[0][x] + edges[1][x]) + (edges[2][x] + edges[3][x]);
        sums_here[x] = here(centres[x], face, edge);
        sums_beside[x] = beside(centres[x], face, edge);
    }
}

/// In `rows`, r = v − A u.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn residual(shape: Shape, rows: Rows, u: &[f64], v: &[f64], r: &mut [f64], sums: &mut RowSums) {
    for (y, z) in rows.ascending() {
        let totals = operator_a(shape, u, [y, z], sums);
        let results = r[shape.interior_row(y, z - 1)].iter_mut();
        for ((r, v), total) in results.zip(&v[shape.interior_row(y, z)]).zip(totals) {
            *r = v - total;
        }
    }
}

/// In `rows`, r = r − A u.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn residual_in_place(shape: Shape, rows: Rows, u: &[f64], r: &mut [f64], sums: &mut RowSums) {
    for (y, z) in rows.ascending() {
        let totals = operator_a(shape, u, [y, z], sums);
        r[shape.interior_row(y, z - 1)].iter_mut().zip(totals).for_each(|(r, total)| *r -= total);
    }
}

/// A u of the interior of a row.
#[inline(always)]
fn operator_a<'a>(
    shape: Shape,
    u: &[f64],
    row: [usize; 2],
    sums: &'a mut RowSums,
) -> impl Iterator<Item = f64> + use<'a> {
    let here = |centre, _, edge| CENTRE_OF_A * centre + EDGE_OF_A * edge;
    let beside = |_, face, edge| EDGE_OF_A * face + CORNER_OF_A * edge;
    add_rows(shape, u, row, sums, here, beside);
    sums.totals(shape.extents()[0])
}

/// In `rows`, u = u + S r, where `r` begins with its plane `first`.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn smooth(
    shape: Shape,
    rows: Rows,
    smoother: Smoother,
    (r, first): (&[f64], usize),
    u: &mut [f64],
    sums: &mut RowSums,
) {
    let here = |centre, face, edge| smoother.centre * centre + smoother.face * face + smoother.edge * edge;
    let beside = |centre, face, _| smoother.face * centre + smoother.edge * face;
    for (y, z) in rows.descending() {
        add_rows(shape, r, [y, z - first], sums, here, beside);
        let totals = sums.totals(shape.extents()[0]);
        u[shape.interior_row(y, z - 1)].iter_mut().zip(totals).for_each(|(u, total)| *u += total);
    }
}

/// Coarse = P fine: each coarse point sits on the fine point with twice its index.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn restrict(fine_shape: Shape, fine: &[f64], coarse_shape: Shape, coarse: &mut [f64], sums: &mut RowSums) {
    let here = |centre, face, edge| 0.5 * centre + 0.25 * face + 0.125 * edge;
    let beside = |centre, face, edge| 0.5 * here(centre, face, edge);
    for (y, z) in coarse_shape.interior_rows().descending() {
        add_rows(fine_shape, fine, [2 * y, 2 * z], sums, here, beside);
        let length = fine_shape.extents()[0];
        let coarse = &mut coarse[coarse_shape.interior_row(y, z - 1)];
        let here = sums.here[2..length].as_chunks::<2>().0;
        let beside = sums.beside[1..length].windows(3).step_by(2);
        for ((coarse, [here, _]), beside) in coarse.iter_mut().zip(here).zip(beside) {
            *coarse = here + (beside[0] + beside[2]);
        }
    }
}

/// Fine = Q coarse, or fine = fine + Q coarse if `ADD`, in the two fine planes that are on coarse plane `z` and between
/// it and the next. Ghosts are included: they come out right if those of both were.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn prolongate<const ADD: bool>(
    coarse_shape: Shape,
    z: usize,
    coarse: &[f64],
    fine_shape: Shape,
    fine: &mut [f64],
    sums: &mut RowSums,
) {
    let [length, rows, _] = coarse_shape.extents();
    let sum = &mut sums.here[..length];
    for y in 0..rows - 1 {
        let row = |y, z| &coarse[coarse_shape.row(y, z)];
        let (here, north, above, both) = (row(y, z), row(y + 1, z), row(y, z + 1), row(y + 1, z + 1));
        interpolate::<ADD>(here, 1.0, &mut fine[fine_shape.row(2 * y, 2 * z)]);
        sum.iter_mut().zip(here.iter().zip(north)).for_each(|(sum, (a, b))| *sum = a + b);
        interpolate::<ADD>(sum, 0.5, &mut fine[fine_shape.row(2 * y + 1, 2 * z)]);
        sum.iter_mut().zip(above.iter().zip(both)).for_each(|(sum, (a, b))| *sum += a + b);
        interpolate::<ADD>(sum, 0.25, &mut fine[fine_shape.row(2 * y + 1, 2 * z + 1)]);
        sum.iter_mut().zip(here.iter().zip(above)).for_each(|(sum, (a, b))| *sum = a + b);
        interpolate::<ADD>(sum, 0.5, &mut fine[fine_shape.row(2 * y, 2 * z + 1)]);
    }
}

/// Gives the fine points on coarse points `weight` times `coarse`, and those between them the mean of two.
#[inline(always)]
fn interpolate<const ADD: bool>(coarse: &[f64], weight: f64, fine: &mut [f64]) {
    for (fine, coarse) in fine.as_chunks_mut::<2>().0.iter_mut().zip(coarse.windows(2)) {
        let before = if ADD { *fine } else { [0.0; 2] };
        *fine = [before[0] + weight * coarse[0], before[1] + 0.5 * weight * (coarse[0] + coarse[1])];
    }
}

/// Sum of the squares and largest absolute value of the interior points.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
pub fn squares_and_maximum(shape: Shape, grid: &[f64]) -> (f64, f64) {
    // In eight parts, so that the additions do not wait for one another.
    let (mut squares, mut maxima) = ([0.0; 8], [0.0; 8]);
    for (y, z) in shape.interior_rows().ascending() {
        for group in grid[shape.interior_row(y, z)].chunks(8) {
            for ((square, maximum), value) in squares.iter_mut().zip(&mut maxima).zip(group) {
                *square += value * value;
                *maximum = if value.abs() > *maximum { value.abs() } else { *maximum };
            }
        }
    }
    (squares.iter().sum(), maxima.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::*;

    const FINE: Shape = Shape { interior: [4, 6, 8] };

    /// Values without any pattern.
    fn values(shape: Shape, seed: u64) -> Vec<f64> {
        let mut values = vec![0.0; shape.points()];
        crate::random::Generator::new(seed).fill(&mut values);
        values
    }

    /// The sum over all 27 places around `point`, weighted by how many coordinates differ.
    fn weighted(shape: Shape, grid: &[f64], point: [usize; 3], weights: [f64; 4]) -> f64 {
        let mut sum = 0.0;
        for place in 0..27 {
            let offset = [place % 3, place / 3 % 3, place / 9];
            let distance = offset.iter().filter(|&&offset| offset != 1).count();
            let [x, y, z] = std::array::from_fn(|axis| point[axis] + offset[axis] - 1);
            sum += weights[distance] * grid[shape.row(y, z)][x];
        }
        sum
    }

    fn interior_points(shape: Shape) -> impl Iterator<Item = [usize; 3]> {
        shape.interior_rows().ascending().flat_map(move |(y, z)| (1..=shape.interior[0]).map(move |x| [x, y, z]))
    }

    #[test]
    fn the_residual_is_that_of_the_27_point_operator() {
        let (u, v) = (values(FINE, 1), values(FINE, 2));
        let mut r = vec![f64::NAN; FINE.points()];
        let mut in_place = v.clone();
        residual(FINE, FINE.interior_rows(), &u, &v, &mut r[FINE.inside()], &mut RowSums::new(FINE));
        residual_in_place(FINE, FINE.interior_rows(), &u, &mut in_place[FINE.inside()], &mut RowSums::new(FINE));
        for point in interior_points(FINE) {
            let index = FINE.row(point[1], point[2]).start + point[0];
            let expected = v[index] - weighted(FINE, &u, point, [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0]);
            assert!((r[index] - expected).abs() < 1e-14 && r[index] == in_place[index]);
        }
        assert!(r[0].is_nan() && in_place[0] == v[0], "ghosts are left alone");
    }

    #[test]
    fn smoothing_adds_the_27_point_operator() {
        let (r, before) = (values(FINE, 3), values(FINE, 4));
        let mut u = before.clone();
        let smoother = Smoother { centre: -0.375, face: 0.03125, edge: -0.015625 };
        smooth(FINE, FINE.interior_rows(), smoother, (&r, 0), &mut u[FINE.inside()], &mut RowSums::new(FINE));
        for point in interior_points(FINE) {
            let index = FINE.row(point[1], point[2]).start + point[0];
            let expected = before[index] + weighted(FINE, &r, point, [-0.375, 0.03125, -0.015625, 0.0]);
            assert!((u[index] - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn restriction_weighs_the_27_fine_points() {
        let coarse_shape = Shape { interior: [2, 3, 4] };
        let (fine, mut coarse) = (values(FINE, 5), vec![0.0; coarse_shape.points()]);
        restrict(FINE, &fine, coarse_shape, &mut coarse[coarse_shape.inside()], &mut RowSums::new(FINE));
        for point in interior_points(coarse_shape) {
            let expected = weighted(FINE, &fine, point.map(|index| 2 * index), [0.5, 0.25, 0.125, 0.0625]);
            assert!((coarse[coarse_shape.row(point[1], point[2])][point[0]] - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn prolongation_of_a_linear_function_is_that_function() {
        let coarse_shape = Shape { interior: [2, 3, 4] };
        let linear = |x: f64, y: f64, z: f64| 1.0 + 2.0 * x - 3.0 * y + 5.0 * z;
        let fill = |shape: Shape, step: f64| {
            let mut grid = vec![0.0; shape.points()];
            for z in 0..shape.extents()[2] {
                for y in 0..shape.extents()[1] {
                    for (x, value) in grid[shape.row(y, z)].iter_mut().enumerate() {
                        *value = linear(step * x as f64, step * y as f64, step * z as f64);
                    }
                }
            }
            grid
        };
        let mut fine = values(FINE, 6);
        let expected: Vec<_> = fill(FINE, 1.0).iter().zip(&fine).map(|(value, before)| value + before).collect();
        let (coarse, mut sums) = (fill(coarse_shape, 2.0), RowSums::new(FINE));
        (0..5).for_each(|z| prolongate::<true>(coarse_shape, z, &coarse, FINE, &mut fine, &mut sums));
        let mut alone = values(FINE, 7);
        (0..5).for_each(|z| prolongate::<false>(coarse_shape, z, &coarse, FINE, &mut alone, &mut sums));
        assert!(alone.iter().zip(fill(FINE, 1.0)).all(|(value, expected)| (value - expected).abs() < 1e-12));
        assert!(fine.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12));
    }

    #[test]
    fn the_norms_leave_ghosts_out() {
        let shape = Shape { interior: [3, 1, 2] };
        let mut grid = vec![100.0; shape.points()];
        for (y, z) in shape.interior_rows().ascending() {
            grid[shape.interior_row(y, z)].copy_from_slice(&[1.0, -3.0, 2.0]);
        }
        assert_eq!(squares_and_maximum(shape, &grid), (28.0, 3.0));
    }
}
