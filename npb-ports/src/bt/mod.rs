//! BT, the block tridiagonal benchmark: an implicit scheme whose line systems couple the five unknowns of a point with
//! those of its neighbours, by 5 x 5 blocks.
//!
//! [`coupling`] makes the blocks from the Jacobians of the fluxes, [`block_tridiagonal`] solves the systems.

mod block_tridiagonal;
mod classes;
mod coupling;

use crate::definition::Definition;
use crate::multipartition::Multipartition;
use crate::outcome::Outcome;
use crate::{Class, Options};
use block_tridiagonal::BlockTridiagonal;
use classes::problem;
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a square number",
    allows: |class, processes| Multipartition::is_possible(problem(class).n, processes),
    memory_per_rank: |class, processes| problem(class).memory_per_rank::<BlockTridiagonal>(processes),
    has_any_source: false,
    has_one_sided: false,
    operation_type: "floating point",
    run,
};

/// How many operations a step counts as, on a mesh of `n` points each way.
fn operations_per_step(n: usize) -> f64 {
    let n = n as f64;
    ((3478.8 * n - 17655.7) * n + 28023.7) * n
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let problem = problem(class);
    let solver = BlockTridiagonal::new(problem.n, problem.time_step);
    problem.run(solver, operations_per_step(problem.n), world, universe, options)
}
