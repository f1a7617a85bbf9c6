//! Whatever the table says, messages arrive and collectives give what they give otherwise: tried with its extremes, and
//! with tables drawn from a seed.

use std::array;

use crate::threads::run_tuned_threads;
use crate::tuning::Tuning;
use crate::{Communicator, Protocol, Result, op, scope};

/// Lengths of data in numbers of four bytes, on both sides of most borders.
const LENGTHS: [usize; 6] = [1, 60, 1500, 4500, 12_000, 40_000];

/// The number at `place` of what `rank` gives.
fn number(rank: usize, place: usize) -> u32 {
    (rank * 1_000_003 + place * 7) as u32
}

fn given(rank: usize, len: usize) -> Vec<u32> {
    (0..len).map(|place| number(rank, place)).collect()
}

fn sums(ranks: impl Iterator<Item = usize> + Clone, len: usize) -> Vec<u32> {
    let sum = |place| ranks.clone().fold(0_u32, |sum, rank| sum.wrapping_add(number(rank, place)));
    (0..len).map(sum).collect()
}

fn add(a: &u32, b: &u32) -> u32 {
    a.wrapping_add(*b)
}

fn messages(world: &Communicator, len: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
    let (own, mut heard) = (given(rank, len), vec![0; len]);
    world.sendrecv(&own, to, 1, &mut heard, from, 1)?;
    assert_eq!(heard, given(from, len));
    // One way, and from whoever it is.
    heard.fill(0);
    match rank {
        0 => drop(world.recv(&mut heard, crate::ANY_SOURCE, 2)?),
        1 => world.send(&own, 0, 2)?,
        _ => {}
    }
    assert!(rank != 0 || heard == given(1, len));
    Ok(())
}

fn collectives(world: &Communicator, len: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (own, root) = (given(rank, len), size - 1);
    let mut data = if rank == root { own.clone() } else { vec![0; len] };
    world.bcast(&mut data, root)?;
    assert_eq!(data, given(root, len));
    world.reduce(&own, &mut data, add, root)?;
    assert!(rank != root || data == sums(0..size, len));
    world.allreduce(&own, &mut data, add)?;
    assert_eq!(data, sums(0..size, len));
    world.scan(&own, &mut data, add)?;
    assert_eq!(data, sums(0..rank + 1, len));
    let whole: Vec<u32> = (0..size).flat_map(|rank| given(rank, len)).collect();
    let mut all = vec![0; size * len];
    world.allgather(&own, &mut all)?;
    assert_eq!(all, whole);
    all.fill(0);
    world.gather(&own, &mut all, root)?;
    assert!(rank != root || all == whole);
    let row: Vec<u32> = (0..size).flat_map(|to| given(rank * size + to, len)).collect();
    world.alltoall(&row, &mut all)?;
    assert!(all.chunks(len).enumerate().all(|(from, part)| part == given(from * size + rank, len)));
    world.reduce_scatter_block(&row, &mut data, add)?;
    assert_eq!(data, sums((0..size).map(|from| from * size + rank), len));
    world.barrier()
}

fn nonblocking(world: &Communicator, len: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let own = given(rank, len);
    let [mut first, mut second]: [Vec<u32>; 2] = array::from_fn(|_| own.clone());
    let mut all = vec![0; size * len];
    scope(|s| {
        let requests = [
            world.ibcast(s, &mut first, 0)?,
            world.iallreduce(s, &own, &mut second, add)?,
            world.iallgather(s, &own, &mut all)?,
        ];
        crate::wait_all(requests).map(drop)
    })?;
    assert_eq!((first, second), (given(0, len), sums(0..size, len)));
    assert!(all.chunks(len).enumerate().all(|(from, part)| part == given(from, len)));
    Ok(())
}

/// Everything, among so many ranks.
fn try_all(tuning: &Tuning, ranks: usize) {
    let run = |universe: &crate::Universe| {
        let world = universe.world();
        for len in LENGTHS {
            messages(world, len)?;
            collectives(world, len)?;
            nonblocking(world, len)?;
        }
        world.allreduce_value(1, op::sum)
    };
    let outcomes = run_tuned_threads(ranks, (Protocol::Auto, tuning), run).unwrap();
    assert!(outcomes.into_iter().all(|count| count.unwrap() == ranks), "{tuning:?}");
}

/// A table whose values are what `choose` says for the limits of each row.
fn table(mut choose: impl FnMut(usize, usize) -> usize) -> Tuning {
    let mut tuning = Tuning::DEFAULT;
    for row in Tuning::ROWS {
        tuning.set(row.name, choose(*row.limits.start(), *row.limits.end())).unwrap();
    }
    tuning
}

#[test]
fn the_least_and_the_most_of_every_value_work() {
    for tuning in [table(|least, _| least), table(|_, most| most)] {
        [2, 3, 5].into_iter().for_each(|ranks| try_all(&tuning, ranks));
    }
}

#[test]
fn tables_drawn_from_a_seed_work() {
    let mut seed = 0x5eed_u64;
    let mut draw = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    for _ in 0..4 {
        // Lengths that the data of the test reach.
        let tuning = table(|least, most| {
            let bits = draw(18);
            (least + draw(2 << bits)).min(most)
        });
        try_all(&tuning, 3);
    }
}
