//! Every collective against a sequential computation.

use rwmpi::{Parts, Result, Universe, op};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("broadcast_reaches_all_from_any_root", broadcast_reaches_all_from_any_root),
    ("reductions_combine_in_rank_order", reductions_combine_in_rank_order),
    ("parts_of_a_result_reach_their_ranks", parts_of_a_result_reach_their_ranks),
    ("gather_and_scatter_place_every_part", gather_and_scatter_place_every_part),
    ("parts_of_differing_lengths_find_their_places", parts_of_differing_lengths_find_their_places),
    ("alltoall_transposes", alltoall_transposes),
    ("communicators_split_and_do_not_mix", communicators_split_and_do_not_mix),
];

/// Elements: none, one, a line, a cell's payload and more, the long algorithms.
pub(super) const LENGTHS: [usize; 6] = [0, 1, 7, 700, 5_000, 40_000];

/// What rank `rank` contributes at place `place`.
fn element(rank: usize, place: usize) -> i64 {
    (rank as i64 + 1) * 1_000_003 + place as i64 * 7
}

pub(super) fn contribution(rank: usize, len: usize) -> Vec<i64> {
    (0..len).map(|place| element(rank, place)).collect()
}

/// Two by two matrices modulo a prime: an associative operation that does not commute.
pub(super) fn multiply(a: &[i64; 4], b: &[i64; 4]) -> [i64; 4] {
    let modulus = 1_000_007;
    let entry = |row: usize, column: usize| (a[row * 2] * b[column] + a[row * 2 + 1] * b[column + 2]) % modulus;
    [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

pub(super) fn matrices(rank: usize, len: usize) -> Vec<[i64; 4]> {
    (0..len).map(|place| [rank as i64 + 2, place as i64 % 11, 1, rank as i64 * 3 + 1]).collect()
}

pub(super) fn product(ranks: std::ops::Range<usize>, len: usize) -> Vec<[i64; 4]> {
    let mut product = matrices(ranks.start, len);
    for rank in ranks.skip(1) {
        for (kept, next) in product.iter_mut().zip(matrices(rank, len)) {
            *kept = multiply(kept, &next);
        }
    }
    product
}

fn broadcast_reaches_all_from_any_root(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for len in LENGTHS {
        for root in 0..world.size() {
            let mut data = if world.rank() == root { contribution(root, len) } else { vec![0; len] };
            world.bcast(&mut data, root)?;
            assert_eq!(data, contribution(root, len));
        }
    }
    Ok(())
}

fn reductions_combine_in_rank_order(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let len = len / 4;
        for root in [0, size - 1] {
            let mut result = if rank == root { vec![[0; 4]; len] } else { Vec::new() };
            world.reduce(&matrices(rank, len), &mut result, multiply, root)?;
            if rank == root {
                assert_eq!(result, product(0..size, len), "reduce to {root} of {len}");
            }
            let mut data = matrices(rank, len);
            world.reduce_in_place(&mut data, multiply, root)?;
            assert_eq!(data, if rank == root { result } else { matrices(rank, len) });
        }
        let mut result = vec![[0; 4]; len];
        world.allreduce(&matrices(rank, len), &mut result, multiply)?;
        assert_eq!(result, product(0..size, len), "allreduce of {len}");
        let mut prefix = matrices(rank, len);
        world.scan_in_place(&mut prefix, multiply)?;
        assert_eq!(prefix, product(0..rank + 1, len), "scan of {len}");
        let mut before = vec![[-1; 4]; len];
        world.exscan(&matrices(rank, len), &mut before, multiply)?;
        let expected = if rank == 0 { vec![[-1; 4]; len] } else { product(0..rank, len) };
        assert_eq!(before, expected, "exscan of {len}");
        let mut part = vec![[0; 4]; len];
        world.reduce_scatter_block(&matrices(rank, len * size), &mut part, multiply)?;
        assert_eq!(part, product(0..size, len * size)[rank * len..(rank + 1) * len]);
    }
    assert_eq!(world.allreduce_value(rank as f64, op::max)?, size as f64 - 1.0);
    Ok(())
}

fn parts_of_a_result_reach_their_ranks(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Up to what shelves have room for, and more.
    for total in (0..20).chain([63, 64, 65, 300]).chain(509..515).chain([2_000]) {
        let expected = product(0..size, total);
        for share in [|rank: usize, _: usize| rank, |rank, _| rank % 2, |rank, size| usize::from(rank + 1 == size)] {
            let shares: usize = (0..size).map(|rank| share(rank, size)).sum();
            let mut counts: Vec<usize> = (0..size).map(|rank| total * share(rank, size) / shares.max(1)).collect();
            // The rest is the first rank's.
            counts[0] += total - counts.iter().sum::<usize>();
            let start: usize = counts[..rank].iter().sum();
            let mut part = vec![[0; 4]; counts[rank]];
            world.reduce_scatter(&matrices(rank, total), &counts, &mut part, multiply)?;
            assert_eq!(part, expected[start..start + counts[rank]], "{total} in parts of {counts:?}");
        }
    }
    Ok(())
}

fn gather_and_scatter_place_every_part(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let all: Vec<i64> = (0..size).flat_map(|rank| contribution(rank, len)).collect();
        for root in [0, size / 2] {
            let mut gathered = vec![0; if rank == root { all.len() } else { 0 }];
            world.gather(&contribution(rank, len), &mut gathered, root)?;
            let mut part = vec![0; len];
            world.scatter(if rank == root { &all } else { &[] }, &mut part, root)?;
            assert_eq!(part, contribution(rank, len));
            if rank == root {
                assert_eq!(gathered, all);
            }
        }
        let mut gathered = vec![0; all.len()];
        world.allgather(&contribution(rank, len), &mut gathered)?;
        assert_eq!(gathered, all);
    }
    Ok(())
}

fn parts_of_differing_lengths_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for scale in [0, 1, 50, 3000] {
        // Rank r contributes r * scale elements, written behind one another with a gap, the last rank's first.
        let counts: Vec<usize> = (0..size).map(|rank| rank * scale).collect();
        let starts: Vec<usize> = (0..size).map(|rank| (rank + 1..size).map(|r| r * scale + 1).sum()).collect();
        let parts = Parts { counts: &counts, starts: &starts };
        let mut expected = vec![0; starts[0] + counts[0] + 1];
        for rank in 0..size {
            expected[starts[rank]..starts[rank] + counts[rank]].copy_from_slice(&contribution(rank, counts[rank]));
        }
        let mut all = vec![0; expected.len()];
        world.allgatherv(&contribution(rank, counts[rank]), &mut all, parts)?;
        assert_eq!(all, expected);
        let mut all = vec![0; if rank == 0 { expected.len() } else { 0 }];
        world.gatherv(&contribution(rank, counts[rank]), &mut all, parts, 0)?;
        let mut part = vec![0; counts[rank]];
        world.scatterv(if rank == 0 { &expected } else { &[] }, parts, &mut part, 0)?;
        assert_eq!(part, contribution(rank, counts[rank]));
        if rank == 0 {
            assert_eq!(all, expected);
        }
    }
    Ok(())
}

fn alltoall_transposes(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let value = |from: usize, to: usize, place: usize| element(from, place) + to as i64 * 31;
        let sent: Vec<i64> = (0..size).flat_map(|to| (0..len).map(move |place| value(rank, to, place))).collect();
        let expected: Vec<i64> =
            (0..size).flat_map(|from| (0..len).map(move |place| value(from, rank, place))).collect();
        let mut received = vec![0; sent.len()];
        world.alltoall(&sent, &mut received)?;
        assert_eq!(received, expected);
    }
    for scale in [0, 1, 50, 1_500] {
        // To rank t go (from + 1) * t * scale elements.
        let sent_counts: Vec<usize> = (0..size).map(|to| (rank + 1) * to * scale).collect();
        let received_counts: Vec<usize> = (0..size).map(|from| (from + 1) * rank * scale).collect();
        let starts = |counts: &[usize]| -> Vec<usize> {
            counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect()
        };
        let sent = contribution(rank, sent_counts.iter().sum());
        let mut received = vec![0; received_counts.iter().sum()];
        let (sent_starts, received_starts) = (starts(&sent_counts), starts(&received_counts));
        let from = Parts { counts: &sent_counts, starts: &sent_starts };
        let to = Parts { counts: &received_counts, starts: &received_starts };
        world.alltoallv(&sent, from, &mut received, to)?;
        for from in 0..size {
            let first: usize = (0..rank).map(|to| (from + 1) * to * scale).sum();
            let expected = &contribution(from, first + received_counts[from])[first..];
            assert_eq!(&received[received_starts[from]..][..received_counts[from]], expected);
        }
    }
    Ok(())
}

fn communicators_split_and_do_not_mix(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let parity = world.split(Some(rank as u32 % 2), -(rank as i32))?.expect("everybody has a colour");
    // The key turns the order round.
    let members: Vec<usize> = (0..size).rev().filter(|other| other % 2 == rank % 2).collect();
    assert_eq!(parity.size(), members.len());
    assert_eq!(members[parity.rank()], rank);
    let mut all = vec![0; members.len()];
    parity.allgather(&[rank], &mut all)?;
    assert_eq!(all, members);
    assert!(world.split(None, 0)?.is_none());
    let copy = world.dup()?;
    // The same tag in two communicators: each receive gets its own.
    let right = (rank + 1) % size;
    let left = (rank + size - 1) % size;
    rwmpi::scope(|scope| {
        let mut in_copy = [0usize];
        drop(copy.irecv(scope, Box::leak(Box::new(in_copy)), left, 0)?);
        world.send_value(&rank, right, 0)?;
        copy.send_value(&(rank + 100), right, 0)?;
        in_copy[0] = world.recv_value(left, 0)?.0;
        assert_eq!(in_copy[0], left);
        Ok(())
    })?;
    if let Some(pair) = world.subset(&[size - 1, 0].as_slice()[..size.min(2)])? {
        assert_eq!(pair.rank(), if rank == 0 && size > 1 { 1 } else { 0 });
        pair.barrier()?;
    }
    world.barrier()
}
