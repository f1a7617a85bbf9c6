//! Symmetric successive over-relaxation: the iteration itself.

use super::Sweep;
use super::blocks::Blocks;
use super::neighbours::Neighbours;
use super::residual::Residual;
use super::surface_integral::surface_integral;
use super::sweep::{Fields, Sweeper};
use crate::cfd::{Block, Field, GHOST, State, error_squares, exact_solution, initial_value, root_mean, squares};
use rwmpi::Result;

/// One block's part of the solution.
pub struct Solver<N> {
    block: Block,
    neighbours: N,
    residual: Residual,
    sweeper: Sweeper,
    u: Field,
    /// The [`crate::cfd::Primitive`]s of `u`: of the block always, of the ghosts since the last residual.
    primitives: Field,
    /// L of the exact solution.
    forcing: Field,
    /// The residual; during an iteration, the correction.
    v: Field,
}

impl<N: Neighbours> Solver<N> {
    /// Computes the forcing and sets the initial values. Collective.
    pub fn new(block: Block, step: f64, mut neighbours: N) -> Result<Self> {
        let mut residual = Residual::new(block);
        let zero = Field::skewed(block.extent);
        let (mut u, mut primitives, mut forcing) = (zero.clone(), zero.clone(), zero.clone());
        u.fill(&block, |point| exact_solution(block.mesh.coordinates(point)));
        neighbours.exchange_faces(&mut u)?;
        residual.primitives(&u, &mut primitives);
        residual.ghost_primitives(&u, &mut primitives);
        residual.residual(&u, &primitives, &zero, &mut forcing);
        let sweeper = Sweeper::new(Blocks::new(block.mesh, step), &block);
        let mut solver = Solver { block, neighbours, residual, sweeper, u, primitives, forcing, v: zero };
        solver.set_initial_values();
        Ok(solver)
    }

    /// Begins anew.
    pub fn set_initial_values(&mut self) {
        let block = self.block;
        self.u.fill(&block, |point| initial_value(block.mesh, point));
        self.residual.primitives(&self.u, &mut self.primitives);
    }

    /// Falsifies the forcing of one point.
    pub fn corrupt(&mut self) {
        let point = [0, 1, 2].map(|axis| self.block.interior(axis).start + GHOST);
        let value = self.forcing.get(point);
        self.forcing.set(point, value.map(|number| number * 1.01));
    }

    /// Computes the residual of the present values. Collective.
    pub fn compute_residual(&mut self) -> Result<()> {
        self.neighbours.exchange_faces(&mut self.u)?;
        self.residual.ghost_primitives(&self.u, &mut self.primitives);
        self.residual.residual(&self.u, &self.primitives, &self.forcing, &mut self.v);
        Ok(())
    }

    /// Root mean square of what [`Solver::compute_residual`] computed last. Collective.
    pub fn residual_norm(&self) -> Result<State> {
        Ok(root_mean(self.block.mesh, self.neighbours.sum(squares(&self.block, &self.v))?))
    }

    /// Root mean square of the distance from the exact solution. Collective.
    pub fn error_norm(&self) -> Result<State> {
        Ok(root_mean(self.block.mesh, self.neighbours.sum(error_squares(&self.block, &self.u))?))
    }

    /// Pressure integrated over a box. Collective.
    pub fn surface_integral(&self) -> Result<f64> {
        surface_integral(&self.block, &self.u, &self.neighbours)
    }

    /// Iterates and returns the norm of the last residual. [`Solver::compute_residual`] must have been called.
    /// Collective.
    pub fn iterate(&mut self, iterations: u32) -> Result<State> {
        for _ in 0..iterations {
            self.sweep(Sweep::Lower)?;
            self.sweep(Sweep::Upper)?;
            self.compute_residual()?;
        }
        self.residual_norm()
    }

    fn sweep(&mut self, sweep: Sweep) -> Result<()> {
        self.sweeper.begin();
        self.neighbours.begin(sweep)?;
        let mut planes = self.sweeper.planes(sweep);
        while let Some(k) = planes.next() {
            self.neighbours.before_plane(sweep, &mut self.v, k, planes.len())?;
            let mut fields = Fields { u: &mut self.u, primitives: &mut self.primitives, v: &mut self.v };
            self.sweeper.plane(sweep, &mut fields, k);
            self.neighbours.after_plane(sweep, &self.v, k)?;
        }
        Ok(())
    }
}
