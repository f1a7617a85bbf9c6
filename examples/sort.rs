//! Sorting what is spread over all ranks (*sample sort*): samples say where to cut, so that every rank gets about as
//! much; then everybody sends everybody the part between its cuts, however long.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let words = "the quick brown fox jumps over the lazy dog and runs away".split(' ');
    let mine = words.skip(world.rank()).step_by(world.size()).map(str::to_string).collect();
    let sorted = run(world, mine)?;
    println!("rank {}: {sorted:?}", world.rank());
    universe.finalize()
}

/// Sorts what all ranks have: rank 0 gets the smallest, the last rank the largest.
pub fn run<T: Message + Ord + Clone>(world: &Communicator, mut mine: Vec<T>) -> rwmpi::Result<Vec<T>> {
    let size = world.size();
    mine.sort();
    let samples: Vec<T> = (0..size).filter_map(|place| mine.get(place * mine.len() / size)).cloned().collect();
    let mut samples = world.allgather_values(&samples)?.concat();
    samples.sort();
    let cuts = (1..size).filter_map(|rank| samples.get(rank * samples.len() / size));

    let mut parts = Vec::new();
    let mut rest = &mine[..];
    for cut in cuts {
        let (part, behind) = rest.split_at(rest.partition_point(|value| value < cut));
        parts.push(part.to_vec());
        rest = behind;
    }
    parts.push(rest.to_vec());
    parts.resize(size, Vec::new());

    let mut sorted = world.alltoall_values(&parts)?.concat();
    sorted.sort();
    Ok(sorted)
}
