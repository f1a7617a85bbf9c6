//! IS, the integer sort: ten times, every key's rank in the sorted order of all keys is found.
//!
//! Each rank owns an equal part of the keys. It sorts them into buckets by their highest bits, all ranks add up the
//! sizes of their buckets and divide the buckets among themselves so that all get about as many keys, the keys travel
//! to the owners of their buckets in one exchange of all with all, and the owners count them. Buckets are far fewer
//! than values, so that a bucket's counters stay in the cache.

mod distribution;
mod incoming;
mod keys;
mod problem;
mod ranking;

use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use distribution::Exchange;
use incoming::Incoming;
use problem::{ITERATIONS, Problem, TEST_KEYS};
use ranking::Ranking;
use rwmpi::{Communicator, Result, Universe};

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "a power of two, at most 128 in class S and 1024 in others",
    allows: |class, processes| processes.is_power_of_two() && processes <= Problem::of(class).most_processes,
    memory_per_rank: |class, processes| {
        let problem = Problem::of(class);
        let keys = problem.keys_per_rank(processes);
        (4 * (2 * keys + incoming::capacity(keys, processes) + problem.key_values())) as u64
    },
    has_any_source: false,
    has_one_sided: true,
    operation_type: "keys ranked",
    run,
};

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let (world, problem) = (world.dup()?, Problem::of(class));
    let (rank, ranks) = (world.rank(), world.size());
    let mut keys = keys::generate(&problem, rank, ranks);
    let keys_per_rank = keys.len();
    let falsified = problem.test_positions[0];
    if options.corrupt && falsified / keys_per_rank == rank {
        keys[falsified % keys_per_rank] ^= 1 << (problem.log2_key_values - 1);
    }
    let incoming = Incoming::new(&world, universe, options, keys_per_rank)?;
    let mut exchange = Exchange::new(&world, universe, &problem, keys_per_rank, incoming);
    let mut ranking = Ranking::new(&problem);
    // Once untimed, to touch all memory.
    exchange.rank_keys(&mut keys, &mut ranking, 1)?;

    let stopwatch = Stopwatch::start(universe);
    let mut right = 0;
    for iteration in 1..=ITERATIONS {
        right += exchange.rank_keys(&mut keys, &mut ranking, iteration)?;
    }
    let measurement = stopwatch.stop(universe);

    let in_order = exchange.is_sorted(&ranking)?;
    exchange.close()?;
    let right = world.allreduce_value([right, u64::from(in_order)], |a, b| [a[0] + b[0], a[1] + b[1]])?;
    let mut verification = Verification::new();
    verification.equal("test keys with the right rank", right[0], u64::from(ITERATIONS) * TEST_KEYS as u64);
    verification.equal("processes whose keys are in order", right[1], ranks as u64);
    Ok(Outcome {
        size: format!("2^{} keys", problem.log2_keys),
        iterations: ITERATIONS,
        operations: f64::from(ITERATIONS) * (problem.keys_per_rank(1) as f64),
        measurement,
        verification,
    })
}
