//! All that is done on the finest level, in little more than one pass through the memory.
//!
//! The grids are larger than the caches, and the operators need more time for memory than for arithmetic. So
//! correction, residual, smoothing and the next residual follow each other through the planes, each as soon as the
//! planes that it reads are done, while those are in the cache. What needs ghosts from other ranks is left out at
//! first: the smoothing of the outermost rows and planes, and the second residual of the two outermost. They are made
//! up for after each exchange. The messages are the same as if the operators were applied one after the other.
//!
//! Rows are not cut: this is for boxes that reach through the whole grid along x, whose ghosts along x are their own
//! points.

use super::boundary::{Boundary, wrap_columns, wrap_rows};
use super::cycle::{Level, prolongate_then};
use super::shape::{Rows, Shape};
use super::stencil::{RowSums, Smoother, residual, smooth};
use rwmpi::Result;
use std::ops::{DerefMut, Range};

/// Corrects the solution `fine.u` by that of the level `coarse`, smooths it and computes its residual, ghosts included.
pub fn finish<M: DerefMut<Target = [f64]>>(
    coarse: &Level<M>,
    fine: &mut Level<M>,
    v: &[f64],
    smoother: Smoother,
    boundary: &mut impl Boundary,
    sums: &mut RowSums,
) -> Result<()> {
    let Level { shape, u, r } = fine;
    let wave = Wave { shape: *shape, smoother, v, is_divided_along_y: boundary.is_divided(1) };
    boundary.refresh_wrapped(wave.shape, r, |r| {
        let [smoothed, evaluated] = [1, 2].map(|depth| wave.inner(depth));
        prolongate_then::<true>((coarse.shape, &coarse.u), (wave.shape, u), sums, |u, planes, sums| {
            wave.evaluate(wave.shape.interior_rows().of(planes.clone()), u, r, sums);
            wave.smooth(smoothed.behind(&planes, 1), (r, 1), &mut u[wave.shape.inside()], sums);
            wave.evaluate(evaluated.behind(&planes, 2), u, r, sums);
        });
    })?;
    boundary.refresh_wrapped(wave.shape, u, |u| {
        wave.outer(1).for_each(|rows| wave.smooth(rows, (r, 0), u, sums));
    })?;
    boundary.refresh_wrapped(wave.shape, r, |r| {
        wave.outer(2).for_each(|rows| wave.evaluate(rows, u, r, sums));
    })
}

/// What is the same for all steps.
struct Wave<'a> {
    shape: Shape,
    smoother: Smoother,
    v: &'a [f64],
    is_divided_along_y: bool,
}

impl Wave<'_> {
    /// r = v − A u.
    fn evaluate(&self, rows: Rows, u: &[f64], r: &mut [f64], sums: &mut RowSums) {
        residual(self.shape, rows.clone(), u, self.v, r, sums);
        self.wrap(rows, r);
    }

    /// u = u + S r, where `r` begins with its plane `first`.
    fn smooth(&self, rows: Rows, r: (&[f64], usize), u: &mut [f64], sums: &mut RowSums) {
        smooth(self.shape, rows.clone(), self.smoother, r, u, sums);
        self.wrap(rows, u);
    }

    /// Fills the ghosts of rows that have changed, where these are the rank's own points.
    fn wrap(&self, rows: Rows, inside: &mut [f64]) {
        for plane in rows.z {
            let plane = &mut inside[self.shape.plane(plane - 1)];
            wrap_columns(self.shape, plane, rows.y.clone());
            if !self.is_divided_along_y {
                wrap_rows(self.shape, plane);
            }
        }
    }

    /// The rows that need no ghosts of other ranks even if `depth` operators are applied before.
    fn inner(&self, depth: usize) -> Rows {
        let inner = |range: Range<usize>| range.start + depth..range.end - depth;
        let Rows { y, z } = self.shape.interior_rows();
        Rows { y: if self.is_divided_along_y { inner(y) } else { y }, z: inner(z) }
    }

    /// All other rows.
    fn outer(&self, depth: usize) -> impl Iterator<Item = Rows> + use<> {
        let (all, inner) = (self.shape.interior_rows(), self.inner(depth));
        let parts = [
            all.of(all.z.start..inner.z.start),
            Rows { y: all.y.start..inner.y.start, z: inner.z.clone() },
            Rows { y: inner.y.end..all.y.end, z: inner.z.clone() },
            all.of(inner.z.end..all.z.end),
        ];
        parts.into_iter().filter(|rows| !rows.y.is_empty())
    }
}

impl Rows {
    /// Of these rows those that a step can do which follows `lag` planes behind another one that now does `planes`.
    fn behind(&self, planes: &Range<usize>, lag: usize) -> Self {
        let place = |plane: usize| plane.saturating_sub(lag).clamp(self.z.start, self.z.end);
        self.of(place(planes.start)..place(planes.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mg::boundary::Periodic;
    use crate::random::Generator;
    use std::collections::HashMap;

    const SMOOTHER: Smoother = Smoother { centre: -0.375, face: 0.03125, edge: -0.015625 };

    /// A periodic grid with values without any pattern.
    fn grid(shape: Shape, seed: u64) -> Vec<f64> {
        let mut grid = vec![0.0; shape.points()];
        Generator::new(seed).fill(&mut grid);
        Periodic.refresh(shape, &mut grid, |_| ()).unwrap();
        grid
    }

    #[test]
    fn the_wave_does_what_its_steps_do_one_after_the_other() {
        let [shape, coarse_shape] = [[6, 8, 10], [3, 4, 5]].map(|interior| Shape { interior });
        let mut level = Level { shape, u: grid(shape, 1), r: grid(shape, 2) };
        let coarse = Level { shape: coarse_shape, u: grid(coarse_shape, 3), r: Vec::new() };
        let (v, sums) = (grid(shape, 4), &mut RowSums::new(shape));
        let (mut u, mut r) = (level.u.clone(), level.r.clone());
        prolongate_then::<true>((coarse_shape, &coarse.u), (shape, &mut u), sums, |_, _, _| ());
        Periodic.refresh(shape, &mut r, |r| residual(shape, shape.interior_rows(), &u, &v, r, sums)).unwrap();
        let change = |u: &mut [f64]| smooth(shape, shape.interior_rows(), SMOOTHER, (&r, 0), u, sums);
        Periodic.refresh(shape, &mut u, change).unwrap();
        Periodic.refresh(shape, &mut r, |r| residual(shape, shape.interior_rows(), &u, &v, r, sums)).unwrap();
        finish(&coarse, &mut level, &v, SMOOTHER, &mut Periodic, sums).unwrap();
        assert!(level.u == u && level.r == r);
    }

    #[test]
    fn inner_and_outer_rows_are_all() {
        let shape = Shape { interior: [2, 7, 9] };
        for (is_divided_along_y, depth) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            let wave = Wave { shape, smoother: SMOOTHER, v: &[], is_divided_along_y };
            let mut times = HashMap::new();
            let rows = wave.outer(depth).chain([wave.inner(depth)]).flat_map(|rows| rows.ascending());
            rows.for_each(|row| *times.entry(row).or_insert(0) += 1);
            assert!(shape.interior_rows().ascending().all(|row| times.remove(&row) == Some(1)) && times.is_empty());
        }
    }
}
