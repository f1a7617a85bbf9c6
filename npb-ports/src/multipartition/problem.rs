//! A class of SP or BT: its size, its reference values, and the run that ends in comparing with them.

use super::flow::Flow;
use super::sweep::LineSolver;
use crate::Options;
use crate::cfd::{GHOST, Mesh, State, root_mean, whole_vectors};
use crate::lanes::{LANES, Unknowns};
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use rwmpi::{Communicator, Result, Universe, op};

/// What a class consists of.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// Points along each axis.
    pub n: usize,
    /// Time steps.
    pub steps: u32,
    /// Length of a time step.
    pub time_step: f64,
    /// What must come out.
    pub reference: Reference,
}

/// Norms after the last step.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Root mean squares of the residual.
    pub residual: State,
    /// Root mean squares of the distance from the exact solution.
    pub error: State,
}

impl Problem {
    /// Bytes that one of `ranks` ranks needs, for fields and for the lines at work.
    pub fn memory_per_rank<S: LineSolver>(&self, ranks: usize) -> u64 {
        const FIELDS: usize = 3;
        let slabs = ranks.isqrt().max(1);
        let extent = self.n.div_ceil(slabs);
        let row = whole_vectors(extent) + whole_vectors(2 * GHOST);
        let points = slabs * row * (extent + 2 * GHOST).pow(2);
        let lines = if slabs == 1 { 0 } else { 2 * size_of::<Unknowns>() + size_of::<S::Kept>() };
        (points * (FIELDS * size_of::<State>() + lines / LANES)) as u64
    }

    /// Runs it on all ranks of `world`: one step to warm up, then from the start again, against the clock.
    pub fn run<S: LineSolver>(
        &self,
        solver: S,
        operations_per_step: f64,
        world: &Communicator,
        universe: &Universe,
        options: &Options,
    ) -> Result<Outcome> {
        let mut flow = Flow::new(Mesh { n: self.n }, self.time_step, solver, (universe, world))?;
        flow.step()?;
        flow.reset();
        if options.corrupt && world.rank() + 1 == world.size() {
            flow.corrupt();
        }
        world.barrier()?;
        let stopwatch = Stopwatch::start(universe);
        for _ in 0..self.steps {
            flow.step()?;
        }
        let measurement = stopwatch.stop(universe);
        let (mut error, mut residual) = (flow.error_squares(), flow.residual_squares()?);
        world.allreduce_in_place(&mut error, op::sum)?;
        world.allreduce_in_place(&mut residual, op::sum)?;
        let n = self.n;
        Ok(Outcome {
            size: format!("{n}x{n}x{n}"),
            iterations: self.steps,
            operations: f64::from(self.steps) * operations_per_step,
            measurement,
            verification: self.verify(error, residual),
        })
    }

    /// Compares the norms, given as all ranks' sums of squares, with the reference.
    fn verify(&self, error_squares: State, residual_squares: State) -> Verification {
        const TOLERANCE: f64 = 1e-8;
        let mesh = Mesh { n: self.n };
        let (error, residual) = (root_mean(mesh, error_squares), root_mean(mesh, residual_squares));
        let mut verification = Verification::new();
        for (name, computed, reference) in
            [("residual", residual, self.reference.residual), ("error", error, self.reference.error)]
        {
            for m in 0..5 {
                verification.relative(format!("{name} {}", m + 1), computed[m], reference[m], TOLERANCE);
            }
        }
        verification
    }
}
