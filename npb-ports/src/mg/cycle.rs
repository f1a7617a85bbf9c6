//! The V-cycle: from the finest grid down to the coarsest and back, correcting the solution on every level.

use super::boundary::Boundary;
use super::shape::Shape;
use super::stencil::{RowSums, Smoother, prolongate, residual, residual_in_place, restrict, smooth};
use super::wave;
use rwmpi::Result;
use std::ops::{DerefMut, Range};

/// One grid level: correction and residual.
pub struct Level<M> {
    /// Shape of both.
    pub shape: Shape,
    /// Correction; on the finest level the solution.
    pub u: M,
    /// Residual.
    pub r: M,
}

/// Grids from coarse to fine, each half as wide as the next, in memory of kind `M` and with ghosts from `B`.
pub struct Hierarchy<M, B> {
    /// Coarsest first.
    pub levels: Vec<Level<M>>,
    boundary: B,
    smoother: Smoother,
    sums: RowSums,
}

impl<M: DerefMut<Target = [f64]>, B: Boundary> Hierarchy<M, B> {
    /// Grids of `shapes`, coarsest first, all zero.
    pub fn new(shapes: &[Shape], boundary: B, smoother: Smoother, allocate: impl Fn(usize) -> M) -> Self {
        let grid = |shape: Shape| allocate(shape.points());
        let levels = shapes.iter().map(|&shape| Level { shape, u: grid(shape), r: grid(shape) }).collect();
        let sums = RowSums::new(*shapes.last().expect("at least one level"));
        Hierarchy { levels, boundary, smoother, sums }
    }

    /// The finest level.
    pub fn finest(&mut self) -> &mut Level<M> {
        self.levels.last_mut().expect("at least one level")
    }

    /// Brings the ghosts of `grid`, which is of `shape`, up to date.
    pub fn refresh(&mut self, shape: Shape, grid: &mut [f64]) -> Result<()> {
        self.boundary.refresh(shape, grid, |_| ())
    }

    /// Lets go of what the ranks have together. Collective.
    pub fn close(self) -> Result<()> {
        self.boundary.close()
    }

    /// Restricts the finest residual to all coarser levels.
    pub fn restrict(&mut self) -> Result<()> {
        for fine in (1..self.levels.len()).rev() {
            let [coarse, fine] = pair(&mut self.levels, fine);
            self.boundary.refresh(coarse.shape, &mut coarse.r, |r| {
                restrict(fine.shape, &fine.r, coarse.shape, r, &mut self.sums);
            })?;
        }
        Ok(())
    }

    /// Solves the coarsest level, as far as one smoothing of nothing does.
    pub fn smooth_coarsest(&mut self) -> Result<()> {
        self.levels[0].u.fill(0.0);
        self.smooth(0)
    }

    /// Corrects level after level, from the second coarsest to all that are coarser than the finest.
    pub fn correct(&mut self) -> Result<()> {
        for level in 1..self.levels.len() - 1 {
            let [coarse, Level { shape, u, r }] = pair(&mut self.levels, level);
            self.boundary.refresh(*shape, r, |r| {
                prolongate_then::<false>((coarse.shape, &coarse.u), (*shape, u), &mut self.sums, |u, planes, sums| {
                    residual_in_place(*shape, shape.interior_rows().of(planes), u, r, sums);
                });
            })?;
            self.smooth(level)?;
        }
        Ok(())
    }

    /// On the finest level, corrects the solution, the coarser ones having been corrected, smooths it and computes the
    /// residual.
    pub fn finish(&mut self, v: &[f64]) -> Result<()> {
        let finest = self.levels.len() - 1;
        if !self.boundary.is_divided(0) {
            let [coarse, fine] = pair(&mut self.levels, finest);
            return wave::finish(coarse, fine, v, self.smoother, &mut self.boundary, &mut self.sums);
        }
        let [coarse, Level { shape, u, r }] = pair(&mut self.levels, finest);
        self.boundary.refresh(*shape, r, |r| {
            prolongate_then::<true>((coarse.shape, &coarse.u), (*shape, u), &mut self.sums, |u, planes, sums| {
                residual(*shape, shape.interior_rows().of(planes), u, v, r, sums);
            });
        })?;
        self.smooth(finest)?;
        self.evaluate(v)
    }

    /// Makes the correction of the second finest level that of the finest.
    pub fn prolongate(&mut self) {
        let finest = self.levels.len() - 1;
        let [coarse, Level { shape, u, .. }] = pair(&mut self.levels, finest);
        prolongate_then::<false>((coarse.shape, &coarse.u), (*shape, u), &mut self.sums, |_, _, _| ());
    }

    /// Takes into the residual of `level` what its correction achieves, and smooths what is left.
    pub fn relax(&mut self, level: usize) -> Result<()> {
        let Level { shape, u, r } = &mut self.levels[level];
        self.boundary.refresh(*shape, r, |r| {
            residual_in_place(*shape, shape.interior_rows(), u, r, &mut self.sums);
        })?;
        self.smooth(level)
    }

    fn smooth(&mut self, level: usize) -> Result<()> {
        let Level { shape, u, r } = &mut self.levels[level];
        self.boundary.refresh(*shape, u, |u| {
            smooth(*shape, shape.interior_rows(), self.smoother, (r, 0), u, &mut self.sums);
        })
    }

    /// On the finest level, r = v − A u.
    pub fn evaluate(&mut self, v: &[f64]) -> Result<()> {
        let Level { shape, u, r } = self.levels.last_mut().expect("at least one level");
        self.boundary.refresh(*shape, r, |r| residual(*shape, shape.interior_rows(), u, v, r, &mut self.sums))
    }
}

/// A level and the next coarser one, that first.
fn pair<M>(levels: &mut [Level<M>], fine: usize) -> &mut [Level<M>; 2] {
    levels[fine - 1..].first_chunk_mut().expect("there is a coarser level")
}

/// Makes the correction of a level that of the next coarser one, or adds it to that if `ADD`, and does `then` in every
/// plane for which that and the planes around it are done, while they are still in the cache.
pub fn prolongate_then<const ADD: bool>(
    (coarse_shape, coarse): (Shape, &[f64]),
    (fine_shape, fine): (Shape, &mut [f64]),
    sums: &mut RowSums,
    mut then: impl FnMut(&mut [f64], Range<usize>, &mut RowSums),
) {
    let mut done = fine_shape.interior_planes().start;
    for z in 0..=coarse_shape.interior[2] {
        prolongate::<ADD>(coarse_shape, z, coarse, fine_shape, fine, sums);
        // Planes 2z and 2z + 1 are new, so all planes before 2z + 1 have their neighbours.
        let complete = (2 * z + 1).max(done);
        then(fine, done..complete, sums);
        done = complete;
    }
}
