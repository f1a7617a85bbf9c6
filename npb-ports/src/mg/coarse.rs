//! The levels that have fewer points along an axis than there are processes.
//!
//! They are tiny, a few thousand points at most, and dividing them would leave some ranks without any. So the ranks
//! collect the residual of the last level that can be divided, and each of them computes the whole correction from all
//! coarser ones by itself: one collective call instead of a dozen exchanges of single points.

use super::boundary::{Boundary, Periodic};
use super::cycle::Hierarchy;
use super::decomposition::Decomposition;
use super::shape::Shape;
use super::stencil::Smoother;
use rwmpi::{Communicator, Result};

/// The undivided levels, and the coarsest divided one collected.
pub struct Collected<'a> {
    world: &'a Communicator,
    decomposition: Decomposition,
    /// The last level is the collected one.
    hierarchy: Hierarchy<Vec<f64>, Periodic>,
    /// This rank's residuals and all ranks', boxes in rank order.
    own: Vec<f64>,
    all: Vec<f64>,
}

impl<'a> Collected<'a> {
    /// Where the coarsest divided level has 2^`log2_points` points along each axis.
    pub fn new(world: &'a Communicator, decomposition: Decomposition, log2_points: u32, smoother: Smoother) -> Self {
        let shapes: Vec<Shape> = (1..=log2_points).map(|log| Shape { interior: [1 << log; 3] }).collect();
        let points = 1_usize << (3 * log2_points);
        let own = vec![0.0; points / world.size()];
        let hierarchy = Hierarchy::new(&shapes, Periodic, smoother, |points| vec![0.0; points]);
        Collected { world, decomposition, hierarchy, own, all: vec![0.0; points] }
    }

    /// From the residual `r` of the coarsest divided level, of which every rank has its part, computes the correction
    /// `u`, ghosts included, that the coarser levels amount to.
    pub fn correct(&mut self, shape: Shape, r: &[f64], u: &mut [f64]) -> Result<()> {
        let length = shape.interior[0];
        for ((y, z), row) in shape.interior_rows().ascending().zip(self.own.chunks_exact_mut(length)) {
            row.copy_from_slice(&r[shape.interior_row(y, z)]);
        }
        self.world.allgather(&self.own, &mut self.all)?;
        let collected = self.hierarchy.finest();
        let points = collected.shape.interior[0];
        for (rank, residuals) in self.all.chunks_exact(self.own.len()).enumerate() {
            let start = self.decomposition.part(rank, points).start;
            for ((y, z), row) in shape.interior_rows().ascending().zip(residuals.chunks_exact(length)) {
                let whole_row = collected.shape.row(y + start[1], z + start[2]);
                collected.r[whole_row][start[0] + 1..][..length].copy_from_slice(row);
            }
        }
        Periodic.refresh(collected.shape, &mut collected.r, |_| ())?;
        self.hierarchy.restrict()?;
        self.hierarchy.smooth_coarsest()?;
        self.hierarchy.correct()?;
        self.hierarchy.prolongate();
        self.copy_own_part(shape, u);
        Ok(())
    }

    fn copy_own_part(&mut self, shape: Shape, u: &mut [f64]) {
        let collected = self.hierarchy.finest();
        let start = self.decomposition.part(self.world.rank(), collected.shape.interior[0]).start;
        let [length, rows, planes] = shape.extents();
        for z in 0..planes {
            for y in 0..rows {
                let whole_row = collected.shape.row(y + start[1], z + start[2]);
                u[shape.row(y, z)].copy_from_slice(&collected.u[whole_row][start[0]..][..length]);
            }
        }
    }
}
