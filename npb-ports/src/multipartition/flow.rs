//! The implicit simulation that SP and BT share: a step is a face exchange, a right-hand side, and a sweep along each
//! axis. Only what a line's equations are is theirs.

use super::decomposition::Multipartition;
use super::faces::FaceExchange;
use super::residual::Residual;
use super::sweep::{LineSolver, Sweep};
use crate::cfd::{Field, GHOST, Mesh, State, error_squares, initial_value, squares};
use rwmpi::{Communicator, Result, Universe};

/// A rank's part of the simulation.
pub struct Flow<S: LineSolver> {
    partition: Multipartition,
    time_step: f64,
    faces: FaceExchange,
    sweep: Sweep<S>,
    residuals: Vec<Residual>,
    u: Vec<Field>,
    right_hand_sides: Vec<Field>,
}

impl<S: LineSolver> Flow<S> {
    /// For this rank's cells of a mesh that is dealt to the ranks of `world`, with initial values. Collective.
    pub fn new(mesh: Mesh, time_step: f64, solver: S, (universe, world): (&Universe, &Communicator)) -> Result<Self> {
        let partition = Multipartition::new(mesh, world.rank(), world.size());
        let blocks = || partition.cells().iter().map(|cell| cell.block);
        let fields = || blocks().map(|block| Field::new(block.extent)).collect();
        let mut flow = Flow {
            time_step,
            faces: FaceExchange::new(&partition, universe, world)?,
            sweep: Sweep::new(&partition, solver, universe, world)?,
            residuals: blocks().map(Residual::new).collect(),
            u: fields(),
            right_hand_sides: fields(),
            partition,
        };
        flow.reset();
        Ok(flow)
    }

    /// Sets all points to their initial values.
    pub fn reset(&mut self) {
        for (cell, u) in self.partition.cells().iter().zip(&mut self.u) {
            u.fill(&cell.block, |point| initial_value(cell.block.mesh, point));
        }
    }

    /// Advances by one time step.
    pub fn step(&mut self) -> Result<()> {
        if self.partition.slabs() == 1 {
            self.step_alone();
            return Ok(());
        }
        self.compute_right_hand_sides()?;
        for axis in 0..3 {
            self.sweep.run(&self.partition, axis, &mut self.u, &mut self.right_hand_sides)?;
        }
        Ok(())
    }

    /// A rank that need not wait for others does two sweeps of a plane while that is in the cache.
    fn step_alone(&mut self) {
        let Flow { partition, time_step, sweep, residuals, u, right_hand_sides, .. } = self;
        let (block, u, r) = (&partition.cells()[0].block, &mut u[0], &mut right_hand_sides[0]);
        residuals[0].compute(u, *time_step, r, |plane, r| sweep.run_in_plane(block, plane, u, r));
        sweep.run_across_planes(block, u, r);
    }

    /// This rank's sum of squares of the distance from the exact solution.
    pub fn error_squares(&self) -> State {
        sum(self.partition.cells().iter().zip(&self.u).map(|(cell, u)| error_squares(&cell.block, u)))
    }

    /// This rank's sum of squares of the residual.
    pub fn residual_squares(&mut self) -> Result<State> {
        self.compute_right_hand_sides()?;
        let cells = self.partition.cells().iter().zip(&self.right_hand_sides);
        let squares = sum(cells.map(|(cell, r)| squares(&cell.block, r)));
        Ok(squares.map(|square| square / (self.time_step * self.time_step)))
    }

    /// Falsifies one value.
    pub fn corrupt(&mut self) {
        let point = self.partition.cells()[0].block.extent.map(|extent| extent / 2 + GHOST);
        let wrong = self.u[0].get(point).map(|number| 1.001 * number);
        self.u[0].set(point, wrong);
    }

    fn compute_right_hand_sides(&mut self) -> Result<()> {
        self.faces.exchange(&self.partition, &mut self.u)?;
        for ((residual, u), r) in self.residuals.iter_mut().zip(&self.u).zip(&mut self.right_hand_sides) {
            residual.compute(u, self.time_step, r, |_, _| ());
        }
        Ok(())
    }
}

fn sum(parts: impl Iterator<Item = State>) -> State {
    parts.fold([0.0; 5], |total, part| std::array::from_fn(|m| total[m] + part[m]))
}
