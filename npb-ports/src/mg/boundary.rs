//! Ghost points: the layer around a box that holds copies of the periodic neighbours' outermost points.

use super::shape::Shape;
use rwmpi::Result;

/// A way to bring the ghosts of a grid up to date.
pub trait Boundary {
    /// Calls `compute` to fill the interior of `grid`, which gets its planes without those of ghosts, then fills all ghosts.
    /// The axes are done one after the other, each with the ghosts of those before it, so that edges and corners come out
    /// right.
    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()>;
}

/// The boundary of a box that is the whole periodic grid: its neighbour on every side is itself.
#[derive(Clone, Copy, Debug)]
pub struct Periodic;

impl Boundary for Periodic {
    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        compute(&mut grid[shape.inside()]);
        let [columns, rows, planes] = shape.interior;
        for z in shape.interior_planes() {
            for (y, z) in shape.interior_rows_of(z..z + 1) {
                let row = &mut grid[shape.row(y, z)];
                row[0] = row[columns];
                row[columns + 1] = row[1];
            }
            grid.copy_within(shape.row(rows, z), shape.row(0, z).start);
            grid.copy_within(shape.row(1, z), shape.row(rows + 1, z).start);
        }
        grid.copy_within(shape.plane(planes), 0);
        grid.copy_within(shape.plane(1), shape.plane(planes + 1).start);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Boundary, Periodic, Shape};

    #[test]
    fn every_ghost_is_the_point_one_period_away() {
        let shape = Shape { interior: [2, 3, 4] };
        let [columns, rows, planes] = shape.extents();
        let wrapped = |index: usize, axis: usize| (index + shape.interior[axis] - 1) % shape.interior[axis];
        let value = |x, y, z| (wrapped(x, 0) + 10 * wrapped(y, 1) + 100 * wrapped(z, 2)) as f64;
        let mut grid = vec![f64::NAN; shape.points()];
        for (y, z) in shape.interior_rows() {
            let row = &mut grid[shape.row(y, z)];
            for (x, point) in row.iter_mut().enumerate().skip(1).take(shape.interior[0]) {
                *point = value(x, y, z);
            }
        }
        Periodic.refresh(shape, &mut grid, |_| ()).unwrap();
        for z in 0..planes {
            for y in 0..rows {
                assert!((0..columns).all(|x| grid[shape.row(y, z)][x] == value(x, y, z)));
            }
        }
    }
}
