//! EP, the embarrassingly parallel benchmark: pairs of uniform numbers become independent Gaussian deviates, which are
//! summed and counted. The ranks meet only at the end, so this measures processors, not messages.
//!
//! 2^m pairs are cut into batches of 2^16, each with its own place in the sequence of random numbers, and the batches
//! are dealt to the ranks in contiguous blocks.

mod batch;
mod logarithm;

use crate::definition::Definition;
use crate::outcome::Outcome;
use crate::random::{Generator, MULTIPLIER, power};
use crate::timer::Stopwatch;
use crate::verify::Verification;
use crate::{Class, Options};
use batch::{PAIRS_PER_BATCH, Tally};
use rwmpi::{Communicator, Result, Universe, op};
use std::ops::Range;

/// What the frame must know of it.
pub const DEFINITION: Definition = Definition {
    process_counts: "no more processes than batches of 65536 pairs",
    allows: |class, processes| processes <= batches(class),
    memory_per_rank: |_, _| 1 << 20,
    has_any_source: false,
    has_one_sided: false,
    operation_type: "random numbers generated",
    run,
};

const SEED: u64 = 271_828_183;

/// The reference sums and the number of Gaussian pairs.
struct Reference {
    sum_x: f64,
    sum_y: f64,
    count: u64,
}

fn log2_pairs(class: Class) -> u32 {
    match class {
        Class::S => 24,
        Class::W => 25,
        Class::A => 28,
        Class::B => 30,
        Class::C => 32,
    }
}

fn batches(class: Class) -> usize {
    (1 << log2_pairs(class)) / PAIRS_PER_BATCH
}

fn reference(class: Class) -> Reference {
    let (sum_x, sum_y, count) = match class {
        Class::S => (1.051299420395306e+07, 1.051517131857535e+07, 13_176_389),
        Class::W => (2.102505525182392e+07, 2.103162209578822e+07, 26_354_769),
        Class::A => (1.682235632304711e+08, 1.682195123368299e+08, 210_832_767),
        Class::B => (6.728927543423024e+08, 6.728951822504275e+08, 843_345_606),
        Class::C => (2.691444083862931e+09, 2.691519118724585e+09, 3_373_275_903),
    };
    Reference { sum_x, sum_y, count }
}

/// The batches of rank `rank` of `ranks`: the first ranks have one more if they can't all have as many.
fn share(batches: usize, rank: usize, ranks: usize) -> Range<usize> {
    let start = |rank: usize| rank * (batches / ranks) + rank.min(batches % ranks);
    start(rank)..start(rank + 1)
}

/// Tallies `batches`.
fn tally(batches: Range<usize>) -> Tally {
    let step = power(MULTIPLIER, 2 * PAIRS_PER_BATCH as u64);
    let mut start = Generator::new(SEED);
    start.multiply(power(step, batches.start as u64));
    let mut tally = Tally::default();
    for _ in batches {
        batch::tally(start, &mut tally);
        start.multiply(step);
    }
    tally
}

fn verify(tally: &Tally, class: Class) -> Verification {
    const TOLERANCE: f64 = 1e-8;
    let reference = reference(class);
    let mut verification = Verification::new();
    verification
        .relative("sum of x", tally.sum_x, reference.sum_x, TOLERANCE)
        .relative("sum of y", tally.sum_y, reference.sum_y, TOLERANCE)
        .relative("Gaussian pairs", tally.count() as f64, reference.count as f64, TOLERANCE);
    verification
}

fn run(world: &Communicator, universe: &Universe, class: Class, options: &Options) -> Result<Outcome> {
    let (rank, ranks) = (world.rank(), world.size());
    world.barrier()?;
    let stopwatch = Stopwatch::start(universe);
    let mut tally = tally(share(batches(class), rank, ranks));
    if options.corrupt && rank == ranks - 1 {
        tally.sum_x *= 1.001;
    }
    tally.sum_x = world.allreduce_value(tally.sum_x, op::sum)?;
    tally.sum_y = world.allreduce_value(tally.sum_y, op::sum)?;
    world.allreduce_in_place(&mut tally.annuli, op::sum)?;
    let measurement = stopwatch.stop(universe);
    Ok(Outcome {
        size: format!("2^{} pairs", log2_pairs(class)),
        iterations: 1,
        operations: 2.0 * 2_f64.powi(log2_pairs(class) as i32),
        measurement,
        verification: verify(&tally, class),
    })
}

#[cfg(test)]
mod tests {
    use super::{batches, share, tally, verify};
    use crate::Class;

    #[test]
    fn one_rank_gets_the_reference_values() {
        let verification = verify(&tally(0..batches(Class::S)), Class::S);
        assert!(verification.passed(), "{verification:?}");
    }

    #[test]
    fn the_shares_are_contiguous_and_nearly_equal() {
        for ranks in [1, 2, 3, 7, 256] {
            let shares: Vec<_> = (0..ranks).map(|rank| share(256, rank, ranks)).collect();
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() >= pair[1].len()));
            assert_eq!((shares[0].start, shares[ranks - 1].end), (0, 256));
            assert!(shares[0].len() - shares[ranks - 1].len() <= 1);
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let (whole, left, right) = (tally(0..5), tally(0..2), tally(2..5));
        assert_eq!(whole.count(), left.count() + right.count());
        assert!((whole.sum_x - left.sum_x - right.sum_x).abs() < 1e-9 * whole.sum_x);
    }
}
