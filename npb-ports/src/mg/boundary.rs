//! Ghost points: the layer around a box that holds copies of the periodic neighbours' outermost points.

use super::shape::Shape;
use rwmpi::Result;
use std::ops::Range;

/// A way to bring the ghosts of a grid up to date.
pub trait Boundary {
    /// Whether boxes of other ranks lie along `axis`.
    fn is_divided(&self, axis: usize) -> bool;

    /// Calls `compute` to fill the interior of `grid`, which gets its planes without those of ghosts, then fills all
    /// ghosts. The axes are done one after the other, each with the ghosts of those before it, so that edges and
    /// corners come out right.
    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()>;

    /// The same for a `compute` that has done, with [`wrap_columns`] and [`wrap_rows`], the ghosts along the axes that
    /// are not divided.
    fn refresh_wrapped(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        self.refresh(shape, grid, compute)
    }

    /// Lets go of what the ranks have together. Collective.
    fn close(self) -> Result<()>
    where
        Self: Sized,
    {
        Ok(())
    }
}

/// The boundary of a box that is the whole periodic grid: its neighbour on every side is itself.
#[derive(Clone, Copy, Debug)]
pub struct Periodic;

impl Boundary for Periodic {
    fn is_divided(&self, _axis: usize) -> bool {
        false
    }

    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        self.refresh_wrapped(shape, grid, |inside| {
            compute(inside);
            for plane in inside.chunks_exact_mut(shape.plane(0).len()) {
                wrap_columns(shape, plane, 1..shape.interior[1] + 1);
                wrap_rows(shape, plane);
            }
        })
    }

    fn refresh_wrapped(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        let planes = shape.interior[2];
        compute(&mut grid[shape.inside()]);
        grid.copy_within(shape.plane(planes), 0);
        grid.copy_within(shape.plane(1), shape.plane(planes + 1).start);
        Ok(())
    }
}

/// Fills the ghosts of some of a plane's rows along x, from the rows themselves.
pub fn wrap_columns(shape: Shape, plane: &mut [f64], rows: Range<usize>) {
    let columns = shape.interior[0];
    for y in rows {
        let row = &mut plane[shape.row(y, 0)];
        row[0] = row[columns];
        row[columns + 1] = row[1];
    }
}

/// Fills the ghosts of a plane along y from the plane itself.
pub fn wrap_rows(shape: Shape, plane: &mut [f64]) {
    let rows = shape.interior[1];
    plane.copy_within(shape.row(rows, 0), 0);
    plane.copy_within(shape.row(1, 0), shape.row(rows + 1, 0).start);
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
        for (y, z) in shape.interior_rows().ascending() {
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
