//! CG, conjugate gradient: the eigenvalue nearest to a shift of a large random sparse matrix, by inverse power
//! iteration.
//!
//! The matrix is divided over a mesh of ranks. A product with it needs sums along the mesh's rows and a transpose
//! across its diagonal, all of long vectors; the scalar products need sums of single numbers.

mod matrix;
mod mesh;
mod problem;
mod solver;

use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use matrix::SparseMatrix;
use mesh::{Mesh, Place};
use problem::Problem;
use rwmpi::{Communicator, Result, Universe};
use solver::{Alone, Combine, Estimate, Solver};
use std::ops::DerefMut;

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two",
    allows: |class, processes| processes.is_power_of_two() && processes <= Problem::of(class).order,
    memory_per_rank: |class, processes| {
        let problem = Problem::of(class);
        let Place { rows, columns, .. } = Place::new(problem.order, 0, processes);
        SparseMatrix::bytes(&problem, rows.len(), columns.len() as f64 / problem.order as f64)
    },
    has_any_source: false,
    has_one_sided: false,
    operation_type: "floating point",
    run,
};

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = Problem::of(class);
    let place = Place::new(problem.order, world.rank(), world.size());
    let mut matrix = SparseMatrix::generate(&problem, place.rows.clone(), place.columns.clone());
    if options.corrupt && world.rank() == world.size() - 1 {
        matrix.falsify(1.0);
    }
    let job = Job { world, universe, problem };
    if world.size() == 1 {
        let product = vec![0.0; problem.order];
        job.run(Solver::new(matrix, product), Alone)
    } else {
        let product = universe.alloc(place.columns.len());
        job.run(Solver::new(matrix, product), Mesh::new(world, universe, place))
    }
}

/// What is given, on one rank.
struct Job<'a> {
    world: &'a Communicator,
    universe: &'a Universe,
    problem: Problem,
}

impl Job<'_> {
    fn run<M: DerefMut<Target = [f64]>>(&self, mut solver: Solver<M>, mut combine: impl Combine) -> Result<Outcome> {
        let Problem { order, iterations, .. } = self.problem;
        // Once untimed, to touch all memory.
        let mut estimate = solver.iterate(&mut combine)?;
        solver.reset();
        self.world.barrier()?;
        let stopwatch = Stopwatch::start(self.universe);
        for _ in 0..iterations {
            estimate = solver.iterate(&mut combine)?;
        }
        let measurement = stopwatch.stop(self.universe);
        Ok(Outcome {
            size: order.to_string(),
            iterations,
            operations: operations(&self.problem),
            measurement,
            verification: verify(&estimate, &self.problem),
        })
    }
}

/// The number of floating-point operations, counting a product that is stored as one element as often as it is added
/// up.
fn operations(problem: &Problem) -> f64 {
    let products = (problem.nonzeros * (problem.nonzeros + 1)) as f64;
    let per_row = 3.0 + products + 25.0 * (5.0 + products) + 3.0;
    2.0 * f64::from(problem.iterations) * problem.order as f64 * per_row
}

fn verify(estimate: &Estimate, problem: &Problem) -> Verification {
    let mut verification = Verification::new();
    verification.relative("eigenvalue", problem.shift + estimate.eigenvalue, problem.reference, 1e-10);
    // Not part of the definition, which only prints it.
    verification.with_error("residual of the last solution", estimate.residual, 0.0, estimate.residual, 1e-8);
    verification
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verification(class: Class, falsified_by: f64) -> Verification {
        let problem = Problem::of(class);
        let mut matrix = SparseMatrix::generate(&problem, 0..problem.order, 0..problem.order);
        matrix.falsify(falsified_by);
        let mut solver = Solver::new(matrix, vec![0.0; problem.order]);
        let estimates = (0..problem.iterations).map(|_| solver.iterate(&mut Alone).unwrap());
        verify(&estimates.last().unwrap(), &problem)
    }

    #[test]
    fn one_rank_gets_the_reference_eigenvalue() {
        let verification = verification(Class::S, 0.0);
        assert!(verification.passed(), "{verification:?}");
    }

    #[test]
    fn a_wrong_element_is_noticed() {
        assert!(!verification(Class::S, 1.0).passed());
    }
}
