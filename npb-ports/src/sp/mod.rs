//! SP, the scalar pentadiagonal benchmark: an implicit scheme whose line systems are diagonalised, so that each unknown
//! has a pentadiagonal system of its own.
//!
//! Along an axis, the flow's changes travel as waves: three with the flow, one with the flow plus sound, one with the
//! flow minus sound. In terms of waves the equations of a line separate. [`transforms`] turns unknowns into the waves
//! of x, those into the waves of y and so on; [`pentadiagonal`] solves the separate equations.

mod classes;
mod pentadiagonal;
mod transforms;

use crate::definition::Definition;
use crate::multipartition::Multipartition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use classes::problem;
use pentadiagonal::Pentadiagonal;
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a square number",
    allows: |class, processes| Multipartition::is_possible(problem(class).n, processes),
    memory_per_rank: |class, processes| problem(class).memory_per_rank::<Pentadiagonal>(processes),
    has_any_source: false,
    has_one_sided: false,
    operation_type: "floating point",
    run,
};

/// How many operations a step counts as, on a mesh of `n` points each way.
fn operations_per_step(n: usize) -> f64 {
    let n = n as f64;
    ((881.174 * n - 4683.91) * n + 11484.5) * n - 19272.4
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = problem(class);
    let solver = Pentadiagonal::new(problem.n, problem.time_step);
    problem.run(solver, operations_per_step(problem.n), world, universe, options)
}
