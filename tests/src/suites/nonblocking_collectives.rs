//! Nonblocking collectives: every one against a sequential computation, and many of them at once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rwmpi::{Communicator, Error, ErrorClass, Parts, Request, Result, Scope, Universe, op, scope, wait_all};

use super::Check;
use super::collectives::{LENGTHS, contribution, matrices, multiply, product};

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("nonblocking_data_find_their_places", nonblocking_data_find_their_places),
    ("nonblocking_parts_find_their_places", nonblocking_parts_find_their_places),
    ("nonblocking_reductions_combine_in_rank_order", nonblocking_reductions_combine_in_rank_order),
    ("collectives_of_one_communicator_do_not_mix", collectives_of_one_communicator_do_not_mix),
    ("collectives_of_several_communicators_overlap", collectives_of_several_communicators_overlap),
    ("a_barrier_waits_for_all", a_barrier_waits_for_all),
    ("any_call_that_waits_moves_collectives_on", any_call_that_waits_moves_collectives_on),
    ("a_panic_of_an_operation_comes_out_where_its_request_is_waited_for", a_panic_comes_out_where_it_belongs),
    ("collectives_go_on_after_many_panics", collectives_go_on_after_many_panics),
    ("a_scope_that_fails_gives_its_buffers_back", a_scope_that_fails_gives_its_buffers_back),
];

fn nonblocking_data_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let root = len % size;
        let all: Vec<i64> = (0..size).flat_map(|rank| contribution(rank, len)).collect();
        let own = contribution(rank, len);
        let at_root = |len: usize| vec![0; if rank == root { len } else { 0 }];
        let mut broadcast = if rank == root { own.clone() } else { vec![0; len] };
        let (mut gathered, mut part) = (at_root(all.len()), vec![0; len]);
        let (mut everywhere, mut transposed) = (vec![0; all.len()], vec![0; all.len()]);
        let mut in_place = vec![0; all.len()];
        in_place[rank * len..][..len].copy_from_slice(&own);
        let sent: Vec<i64> = (0..size).flat_map(|to| own.iter().map(move |value| value + to as i64)).collect();
        scope(|s| {
            let requests = [
                world.ibcast(s, &mut broadcast, root)?,
                world.igather(s, &own, &mut gathered, root)?,
                world.iscatter(s, if rank == root { &all } else { &[] }, &mut part, root)?,
                world.iallgather(s, &own, &mut everywhere)?,
                world.iallgather_in_place(s, &mut in_place)?,
                world.ialltoall(s, &sent, &mut transposed)?,
            ];
            wait_all(requests)
        })?;
        assert_eq!(broadcast, contribution(root, len));
        assert_eq!(part, own);
        assert_eq!((&everywhere, &in_place), (&all, &all));
        assert_eq!(transposed, all.iter().map(|value| value + rank as i64).collect::<Vec<_>>());
        if rank == root {
            assert_eq!(gathered, all);
        }
    }
    Ok(())
}

fn nonblocking_parts_find_their_places(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for scale in [0, 1, 900] {
        let counts: Vec<usize> = (0..size).map(|rank| (rank + 1) * scale).collect();
        let starts: Vec<usize> = (0..size).map(|rank| (0..rank).map(|r| (r + 1) * scale + 2).sum()).collect();
        let parts = Parts { counts: &counts, starts: &starts };
        let own = contribution(rank, counts[rank]);
        let mut expected = vec![0; starts[size - 1] + counts[size - 1]];
        for rank in 0..size {
            expected[starts[rank]..][..counts[rank]].copy_from_slice(&contribution(rank, counts[rank]));
        }
        let (mut gathered, mut everywhere) = (vec![0; expected.len()], vec![0; expected.len()]);
        let mut part = vec![0; own.len()];
        // To everybody the same part, so from rank r comes r's.
        let alike = (vec![own.len(); size], vec![0; size]);
        let mut exchanged = vec![0; expected.len()];
        scope(|s| {
            drop(world.igatherv(s, &own, &mut gathered, parts, 0)?);
            drop(world.iscatterv(s, &expected, parts, &mut part, size - 1)?);
            drop(world.iallgatherv(s, &own, &mut everywhere, parts)?);
            let sent = Parts { counts: &alike.0, starts: &alike.1 };
            world.ialltoallv(s, &own, sent, &mut exchanged, parts)?.wait()
        })?;
        assert_eq!(part, own);
        assert_eq!((&everywhere, &exchanged), (&expected, &expected));
        if rank == 0 {
            assert_eq!(gathered, expected);
        }
    }
    Ok(())
}

fn nonblocking_reductions_combine_in_rank_order(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for len in LENGTHS {
        let len = len / 8;
        let root = len % size;
        let (own, wide) = (matrices(rank, len), matrices(rank, len * size));
        let mut at_root = vec![[0; 4]; if rank == root { len } else { 0 }];
        let (mut everywhere, mut part, mut before) = (vec![[0; 4]; len], vec![[0; 4]; len], vec![[-1; 4]; len]);
        let (mut reduced, mut in_place, mut prefix) = (own.clone(), own.clone(), own.clone());
        scope(|s| {
            let mut requests = vec![
                world.ireduce(s, &own, &mut at_root, multiply, root)?,
                world.ireduce_in_place(s, &mut reduced, multiply, root)?,
                world.iallreduce(s, &own, &mut everywhere, multiply)?,
                world.iallreduce_in_place(s, &mut in_place, multiply)?,
                world.iscan_in_place(s, &mut prefix, multiply)?,
                world.iexscan(s, &own, &mut before, multiply)?,
                world.ireduce_scatter_block(s, &wide, &mut part, multiply)?,
            ];
            while rwmpi::test_all(&mut requests)?.is_none() {}
            Ok(())
        })?;
        let expected = product(0..size, len);
        assert_eq!((&everywhere, &in_place), (&expected, &expected));
        assert_eq!(prefix, product(0..rank + 1, len));
        assert_eq!(before, if rank == 0 { vec![[-1; 4]; len] } else { product(0..rank, len) });
        assert_eq!(part, product(0..size, len * size)[rank * len..][..len]);
        assert_eq!(reduced, if rank == root { expected.clone() } else { own });
        if rank == root {
            assert_eq!(at_root, expected);
        }
    }
    Ok(())
}

/// Starts `number` sums on `communicator`, each with other values.
fn sums<'scope>(
    communicator: &Communicator,
    s: &'scope Scope<'scope, '_>,
    results: &'scope mut [Vec<u64>],
) -> Result<Vec<Request<'scope>>> {
    results.iter_mut().map(|result| communicator.iallreduce_in_place(s, result, op::sum)).collect()
}

/// What [`sums`] begins and ends with: of different lengths, so that different algorithms are under way.
fn values(rank: usize, number: usize) -> Vec<u64> {
    let len = if number.is_multiple_of(2) { 3 } else { 6_000 };
    (0..len).map(|place| (rank * 31 + number * 7 + place) as u64).collect()
}

fn expected_sum(ranks: usize, number: usize) -> Vec<u64> {
    let mut sum = values(0, number);
    for rank in 1..ranks {
        sum.iter_mut().zip(values(rank, number)).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn collectives_of_one_communicator_do_not_mix(universe: &Universe) -> Result<()> {
    const NUMBER: usize = 8;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    for round in 0..4 {
        let mut results: Vec<_> = (0..NUMBER).map(|number| values(rank, number)).collect();
        scope(|s| {
            let mut requests = sums(world, s, &mut results)?;
            // Blocking ones go past those in flight.
            assert_eq!(world.allreduce_value(1, op::sum)?, size);
            assert_eq!(world.bcast_value(rank + round, round % size)?, round % size + round);
            world.barrier()?;
            // Each rank waits in another order.
            requests.rotate_left((rank + round) % NUMBER);
            wait_all(requests)
        })?;
        for (number, result) in results.iter().enumerate() {
            assert_eq!(*result, expected_sum(size, number), "number {number} of round {round}");
        }
    }
    Ok(())
}

fn collectives_of_several_communicators_overlap(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let copy = world.dup()?;
    let parity = world.split(Some(rank as u32 % 2), 0)?.expect("everybody has a colour");
    let members = (rank % 2..size).step_by(2);
    let mut in_world: Vec<_> = (0..3).map(|number| values(rank, number)).collect();
    let mut in_copy: Vec<_> = (0..3).map(|number| values(rank, number + 3)).collect();
    let (own, mut ranks) = ([rank], vec![0; parity.size()]);
    scope(|s| {
        // Who has an even rank begins with another communicator than the others do: no start waits for anybody.
        let mut requests = Vec::new();
        if rank % 2 == 0 {
            requests.extend(sums(world, s, &mut in_world)?);
            requests.extend(sums(&copy, s, &mut in_copy)?);
        } else {
            requests.extend(sums(&copy, s, &mut in_copy)?);
            requests.extend(sums(world, s, &mut in_world)?);
        }
        requests.push(parity.iallgather(s, &own, &mut ranks)?);
        while let Some((_, status)) = rwmpi::wait_any(&mut requests)? {
            assert_eq!(status.source(), None);
        }
        Ok(())
    })?;
    for number in 0..3 {
        assert_eq!(in_world[number], expected_sum(size, number));
        assert_eq!(in_copy[number], expected_sum(size, number + 3));
    }
    assert_eq!(ranks, members.collect::<Vec<_>>());
    Ok(())
}

fn a_barrier_waits_for_all(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    if size == 1 {
        return scope(|s| world.ibarrier(s)?.wait()).map(drop);
    }
    scope(|s| {
        if rank == 0 {
            let mut barriers = [world.ibarrier(s)?, world.ibarrier(s)?, world.ibarrier(s)?];
            for entered in 0..3 {
                // The others have entered `entered` of the three.
                if entered > 0 {
                    while !barriers[entered - 1].test()? {}
                }
                for barrier in &mut barriers[entered..] {
                    assert!(!barrier.test()?, "a barrier ends that nobody else has entered");
                }
                (1..size).try_for_each(|other| world.send_value(&0u8, other, 1))?;
            }
            wait_all(barriers).map(drop)
        } else {
            let mut barriers = Vec::new();
            for _ in 0..3 {
                world.recv_value::<u8>(0, 1)?;
                barriers.push(world.ibarrier(s)?);
            }
            wait_all(barriers).map(drop)
        }
    })
}

fn any_call_that_waits_moves_collectives_on(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let mut data = vec![rank as u64; 5_000];
    scope(|s| {
        let sum = world.iallreduce_in_place(s, &mut data, op::sum)?;
        // Rank 0 is in calls that have nothing to do with the sum until all others have got theirs.
        if rank == 0 {
            for other in 1..size {
                match other % 3 {
                    0 => drop(world.recv_value::<u8>(other, 2)?),
                    1 => {
                        world.probe(other, 2)?;
                        world.recv_value::<u8>(other, 2)?;
                    }
                    _ => {
                        while world.probe_now(other, 2)?.is_none() {}
                        world.recv_value::<u8>(other, 2)?;
                    }
                }
            }
            sum.wait().map(drop)
        } else {
            sum.wait()?;
            world.send_value(&0u8, 0, 2)
        }
    })?;
    assert_eq!(data, vec![(0..size as u64).sum::<u64>(); 5_000]);
    Ok(())
}

fn a_panic_comes_out_where_it_belongs(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let Some(pair) = world.subset(&[0, 1].as_slice()[..world.size().min(2)])? else { return Ok(()) };
    if pair.size() < 2 {
        return Ok(());
    }
    let (mut data, mut other) = ([1u64; 4], [1u64; 4]);
    if pair.rank() == 1 {
        // Rank 0 has begun by then, so its operation is called while it waits for something else.
        pair.recv_value::<u8>(0, 3)?;
        scope(|s| pair.iallreduce_in_place(s, &mut data, op::sum)?.wait())?;
        scope(|s| pair.iallreduce_in_place(s, &mut other, op::sum)?.wait())?;
        assert_eq!((data, other), ([2; 4], [2; 4]));
        return Ok(());
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        scope(|s| {
            let refuse = |_: &u64, _: &u64| -> u64 { std::panic::resume_unwind(Box::new("refused")) };
            let failing = pair.iallreduce_in_place(s, &mut data, refuse)?;
            pair.send_value(&0u8, 1, 3)?;
            pair.iallreduce_in_place(s, &mut other, op::sum)?.wait()?;
            failing.wait()
        })
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"refused"));
    assert_eq!(other, [2; 4]);
    Ok(())
}

/// More than there are places for what ranks put up.
const PANICS: usize = 100;

fn collectives_go_on_after_many_panics(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let Some(pair) = world.subset(&[0, 1].as_slice()[..world.size().min(2)])? else { return Ok(()) };
    if pair.size() < 2 {
        return Ok(());
    }
    let refuse = |_: &u64, _: &u64| -> u64 { std::panic::resume_unwind(Box::new("refused")) };
    for _ in 0..PANICS {
        let mut data = [1u64; 4];
        if pair.rank() == 1 {
            scope(|s| {
                let sum = pair.iallreduce_in_place(s, &mut data, op::sum)?;
                pair.send_value(&0u8, 0, 3)?;
                sum.wait()
            })?;
            assert_eq!(data, [2; 4]);
        } else {
            // The other has begun, so it can come to its end at once.
            pair.recv_value::<u8>(1, 3)?;
            let call = || scope(|s| pair.iallreduce_in_place(s, &mut data, refuse)?.wait());
            let outcome = catch_unwind(AssertUnwindSafe(call));
            assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"refused"));
        }
    }
    Ok(())
}

fn a_scope_that_fails_gives_its_buffers_back(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let copy = world.dup()?;
    // Whatever it takes for the first one is there for the next.
    scope(|s| copy.ibarrier(s)?.wait())?;
    if world.size() > 1 && world.rank() == 0 {
        let mut data = vec![7u64; 5_000];
        let outcome = scope(|s| -> Result<()> {
            drop(copy.ibcast(s, &mut data, 1)?);
            drop(copy.ibarrier(s)?);
            Err(Error::new(ErrorClass::Other, "given up"))
        });
        assert_eq!(outcome.unwrap_err().to_string(), "given up");
        assert_eq!(data, [7; 5_000]);
    }
    world.barrier()
}
