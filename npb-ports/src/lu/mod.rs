//! LU: the flow equations are marched to their steady state by symmetric successive over-relaxation.
//!
//! Every iteration solves a lower and an upper triangular system of 5 x 5 blocks. A block of points can be swept only
//! after its neighbours towards the origin of the sweep, so the processes work as a pipeline, plane after plane along
//! z: two small messages in and two out for every plane and sweep. Whole faces are exchanged once an iteration.

mod blocks;
mod change;
mod diagonals;
mod kernels;
mod neighbours;
mod problem;
mod process_grid;
mod residual;
mod solver;
mod surface_integral;
mod sweep;

use crate::cfd::State;
use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use neighbours::{Messages, Neighbours};
use problem::Problem;
use process_grid::ProcessGrid;
use rwmpi::{Communicator, Result, Universe};
use solver::Solver;
use sweep::Sweep;

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a grid of processes at most twice as wide as high",
    allows: |class, processes| ProcessGrid::allows(Problem::new(class).mesh, processes),
    memory_per_rank,
    has_any_source: true,
    has_one_sided: false,
    operation_type: "floating point",
    run,
};

const TOLERANCE: f64 = 1e-8;

fn memory_per_rank(class: Class, processes: usize) -> u64 {
    let mesh = Problem::new(class).mesh;
    let extent = ProcessGrid::new(processes, 0).block(mesh).extent;
    // Four fields; rows are padded.
    let points: usize = extent.iter().map(|points| points + 12).product();
    (4 * 5 * size_of::<f64>() * points) as u64
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = Problem::new(class);
    let grid = ProcessGrid::new(world.size(), world.rank());
    let block = grid.block(problem.mesh);
    let messages = Messages::new(world, universe, grid, &block, options.any_source)?;
    let mut solver = Solver::new(block, problem.step, messages)?;
    if options.corrupt && world.rank() + 1 == world.size() {
        solver.corrupt();
    }
    solver.compute_residual()?;
    solver.residual_norm()?;
    solver.iterate(1)?;

    solver.set_initial_values();
    solver.compute_residual()?;
    solver.residual_norm()?;
    world.barrier()?;
    let stopwatch = Stopwatch::start(universe);
    let residual = solver.iterate(problem.iterations)?;
    let measurement = stopwatch.stop(universe);

    let n = problem.mesh.n;
    Ok(Outcome {
        size: format!("{n}x{n}x{n}"),
        iterations: problem.iterations,
        operations: problem.operations(),
        measurement,
        verification: verify(&problem, &solver, residual)?,
    })
}

/// Compares the result with the reference values. Collective.
fn verify<N: Neighbours>(problem: &Problem, solver: &Solver<N>, residual: State) -> Result<Verification> {
    let (error, integral) = (solver.error_norm()?, solver.surface_integral()?);
    let mut verification = Verification::new();
    for (name, computed, reference) in [("residual", residual, problem.residual), ("error", error, problem.error)] {
        for m in 0..5 {
            verification.relative(format!("{name} {}", m + 1), computed[m], reference[m], TOLERANCE);
        }
    }
    verification.relative("surface integral", integral, problem.surface_integral, TOLERANCE);
    Ok(verification)
}

#[cfg(test)]
mod tests {
    use super::{Neighbours, Problem, Solver, Sweep, verify};
    use crate::Class;
    use crate::cfd::{Block, Field};
    use rwmpi::Result;

    /// The neighbours of a block that is the whole cube.
    struct Nobody;

    impl Neighbours for Nobody {
        fn exchange_faces(&mut self, _: &mut Field) -> Result<()> {
            Ok(())
        }
        fn begin(&mut self, _: Sweep) -> Result<()> {
            Ok(())
        }
        fn before_plane(&mut self, _: Sweep, _: &mut Field, _: usize, _: usize) -> Result<()> {
            Ok(())
        }
        fn after_plane(&mut self, _: Sweep, _: &Field, _: usize) -> Result<()> {
            Ok(())
        }
        fn sum<const N: usize>(&self, numbers: [f64; N]) -> Result<[f64; N]> {
            Ok(numbers)
        }
    }

    fn passes(class: Class, corrupt: bool) -> bool {
        let problem = Problem::new(class);
        let mut solver = Solver::new(Block::whole(problem.mesh), problem.step, Nobody).unwrap();
        if corrupt {
            solver.corrupt();
        }
        solver.compute_residual().unwrap();
        let residual = solver.iterate(problem.iterations).unwrap();
        let verification = verify(&problem, &solver, residual).unwrap();
        assert_eq!(verification.checks().len(), 11);
        verification.passed()
    }

    #[test]
    fn classes_s_and_w_give_the_reference_values_on_one_process() {
        assert!(passes(Class::S, false));
        assert!(passes(Class::W, false));
    }

    #[test]
    fn one_false_value_fails_the_verification() {
        assert!(!passes(Class::S, true));
    }
}
