//! SP, the scalar pentadiagonal benchmark: an implicit scheme whose line systems are diagonalised, so that each unknown has
//! a pentadiagonal system of its own.
//!
//! Along an axis, the flow's changes travel as waves: three with the flow, one with the flow plus sound, one with the flow
//! minus sound. In terms of waves the equations of a line separate. [`transforms`] turns unknowns into the waves of x, those
//! into the waves of y and so on; [`pentadiagonal`] solves the separate equations.

mod classes;
mod pentadiagonal;
mod transforms;

use crate::benchmark::Definition;
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

#[cfg(test)]
mod tests {
    use crate::{Benchmark, BenchmarkResult, Class, Options};
    use rwmpi::{Protocol, run_threads};

    /// Runs it on ranks that are threads; every rank gets the same result.
    fn run(class: Class, ranks: usize, protocol: Protocol, corrupt: bool) -> BenchmarkResult {
        let options = Options { corrupt, ..Options::default() };
        let rank_main = |universe: &rwmpi::Universe| Benchmark::Sp.run(universe.world(), universe, class, &options);
        run_threads(ranks, protocol, rank_main).unwrap().swap_remove(0).unwrap()
    }

    #[test]
    fn one_rank_gets_the_reference_values_without_a_message() {
        let result = run(Class::S, 1, Protocol::Auto, false);
        assert!(result.verified, "{result}");
        assert_eq!(result.traffic.messages, 0);
    }

    #[test]
    fn several_ranks_get_the_reference_values_under_every_protocol() {
        for (ranks, protocol) in [(4, Protocol::Sr), (4, Protocol::Nsr), (4, Protocol::Auto), (9, Protocol::Auto)] {
            let result = run(Class::S, ranks, protocol, false);
            assert!(result.verified, "{result}");
        }
    }

    #[test]
    fn messages_are_as_many_and_as_long_as_the_definition_demands() {
        // In each of 100 steps, every rank sends six faces and, along three axes, one message forward and one back.
        let traffic = run(Class::S, 4, Protocol::Auto, false).traffic;
        assert_eq!(traffic.messages, 4 * 100 * (6 + 3 + 3));
        assert_eq!(traffic.bytes, 4 * 100 * (6 * 2880 + 3 * 4400 + 3 * 2000));
    }

    #[test]
    fn a_falsified_value_fails() {
        for ranks in [1, 4] {
            let result = run(Class::S, ranks, Protocol::Auto, true);
            assert!(!result.verified, "{result}");
        }
    }
}
