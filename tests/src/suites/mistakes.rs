//! Mistakes of the program that only show when it runs: an error on the ranks concerned, and nobody waits in vain.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rwmpi::{Communicator, Error, ErrorClass, Info, Result, SplitType, Universe, op, owning};

use super::Check;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("a_panic_in_any_reduction_hangs_nobody", a_panic_in_any_reduction_hangs_nobody),
    ("a_panic_in_any_reduction_of_values_hangs_nobody", a_panic_in_any_reduction_of_values_hangs_nobody),
    ("lengths_that_differ_are_an_error", lengths_that_differ_are_an_error),
    ("lengths_that_take_different_ways_hang_nobody", lengths_that_take_different_ways_hang_nobody),
    ("half_an_element_is_an_error", half_an_element_is_an_error),
    ("types_that_differ_are_an_error", types_that_differ_are_an_error),
];

/// The sum, unless a value from the last rank meets rank 0's.
fn touchy(size: usize) -> impl Fn(&u64, &u64) -> u64 + Copy + 'static {
    move |a, b| {
        if size > 1 && (*a % 1000 == 0) && *b / 1000 == size as u64 {
            resume_unwind(Box::new("no more"));
        }
        // Of the ranks seen so far the first and the last one.
        a % 1000 + b / 1000 * 1000
    }
}

/// What rank `rank` has: its own number, as first and as last.
fn own(rank: usize, len: usize) -> Vec<u64> {
    vec![rank as u64 + 1000 * (rank as u64 + 1); len]
}

/// How often somebody panicked, and how many were told, of all ranks.
fn outcomes<R>(universe: &Universe, call: impl FnOnce() -> Result<R>) -> Result<[usize; 2]> {
    let here = match catch_unwind(AssertUnwindSafe(call)) {
        Err(panic) => {
            assert_eq!(panic.downcast_ref(), Some(&"no more"));
            [1, 0]
        }
        Ok(Err(error)) => {
            assert!(
                error.to_string().contains("nothing to pass on") || error.to_string().contains("had no"),
                "{error}"
            );
            [0, 1]
        }
        Ok(Ok(_)) => [0, 0],
    };
    universe.world().allreduce_value(here, |a, b| [a[0] + b[0], a[1] + b[1]])
}

fn a_panic_in_any_reduction_hangs_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // By way of a tree, by doubling, by parts, by reading.
    for len in [1, 100, 3_000, 20_000] {
        let (data, op) = (own(rank, len), touchy(size));
        let mut result = vec![0; len];
        let [panics, told] = outcomes(universe, || world.allreduce(&data, &mut result, op))?;
        assert!(size == 1 || (panics > 0 && panics + told == size), "{panics} panicked, {told} of {size} were told");
        let [panics, told] =
            outcomes(universe, || owning(data.clone(), |s, data| world.iallreduce_in_place(s, data, op))?.wait())?;
        assert!(size == 1 || (panics > 0 && panics + told == size), "{panics} panicked, {told} of {size} were told");
        for root in 0..size {
            let [panics, _] = outcomes(universe, || world.reduce(&data, &mut result, op, root))?;
            assert!(size == 1 || panics > 0);
        }
        let [panics, _] = outcomes(universe, || world.scan_in_place(&mut data.clone(), op))?;
        assert!(size == 1 || panics > 0);
        outcomes(universe, || world.exscan(&data, &mut result, op))?;
        let wide = own(rank, len * size);
        outcomes(universe, || world.reduce_scatter_block(&wide, &mut result, op))?;
        // The communicator is as good as before.
        assert_eq!(world.allreduce_value(1, op::sum)?, size);
    }
    Ok(())
}

fn a_panic_in_any_reduction_of_values_hangs_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (number, op) = (own(rank, 1)[0], touchy(size));
    let texts = move |a: &String, b: &String| op(&a.parse().unwrap_or(1), &b.parse().unwrap_or(1)).to_string();
    let [panics, told] = outcomes(universe, || world.allreduce_value(number, op))?;
    assert!(size == 1 || (panics > 0 && panics + told == size), "{panics} panicked, {told} of {size} were told");
    let [panics, told] = outcomes(universe, || world.iallreduce_value(number.to_string(), texts)?.wait())?;
    assert!(size == 1 || (panics > 0 && panics + told == size), "{panics} panicked, {told} of {size} were told");
    assert!(size == 1 || outcomes(universe, || world.scan_value(number, op))?[0] > 0);
    assert!(size == 1 || outcomes(universe, || world.reduce_value(number.to_string(), texts, 0))?[0] > 0);
    Ok(())
}

fn lengths_that_differ_are_an_error(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    if size == 1 {
        return Ok(());
    }
    let wrong = |error: Error| {
        let text = error.to_string();
        assert!(text.contains("where this rank expects") || text.contains("nothing to pass on"), "{text}");
    };
    let last = rank + 1 == size;
    let here = world.split_type(Some(SplitType::Shared), 0, &Info::new())?.map_or(1, |node| node.size());
    // Where some ranks pass on what is for others, or from them, they and those others learn of it, too.
    let some_pass_on = world.allreduce_value((2..size).contains(&here), |a, b| a | b)?;
    // Fewer and more than the root has.
    for len in [3, 5] {
        let mut data = vec![rank as u32; if last { len } else { 4 }];
        let result = world.bcast(&mut data, 0);
        assert!(result.is_err() == last || !last && some_pass_on, "{result:?}");
        result.err().into_iter().for_each(wrong);
        let mut sum = data.clone();
        wrong(world.allreduce(&data, &mut sum, op::sum).unwrap_err());
        let wide = data.repeat(size);
        wrong(world.reduce_scatter_block(&wide, &mut sum, op::sum).unwrap_err());
        let mut all = vec![0; if rank == 0 { 4 * size } else { 0 }];
        let result = world.gather(&data, &mut all, 0);
        assert!(result.is_err() == (rank == 0) || rank != 0 && some_pass_on, "{result:?}");
        result.err().into_iter().for_each(wrong);
        world.barrier()?;
    }
    Ok(())
}

/// One rank has other lengths than all others, on either side of where other algorithms begin.
fn lengths_that_take_different_ways_hang_nobody(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let size = world.size();
    // The last is as long as what the library itself says in advance.
    let pairs = [(1, 80_000), (80_000, 1), (10_000, 20_000), (40_000, 20_000), (29, 80_000)];
    for (one, others) in if size > 1 { &pairs[..] } else { &[] } {
        for odd in [0, size - 1] {
            let len = if world.rank() == odd { *one } else { *others };
            for (name, call) in EVERY_COLLECTIVE {
                let error = call(world, len).err();
                let named_29 = error.as_ref().is_some_and(|error| error.to_string().contains(" 29 bytes"));
                assert!(!named_29 || *one == 29, "{name}: nobody has 29 bytes: {error:?}");
                let failures = world.allreduce_value(usize::from(error.is_some()), op::sum)?;
                assert!(failures > 0, "{name}: {one} bytes at rank {odd}, {others} elsewhere, and nobody complains");
            }
        }
    }
    // All of them work where the lengths agree.
    for len in [28, 29, 30, 20_000, 80_000] {
        for (name, call) in EVERY_COLLECTIVE {
            call(world, len).unwrap_or_else(|error| panic!("{name}, {len} bytes: {error}"));
        }
    }
    Ok(())
}

/// A collective of so many bytes from each rank, or for each.
type OfLength = (&'static str, fn(&Communicator, usize) -> Result<()>);

const EVERY_COLLECTIVE: &[OfLength] = &[
    ("bcast", |world, len| world.bcast(&mut vec![1_u8; len], 0)),
    ("bcast from the last", |world, len| world.bcast(&mut vec![1_u8; len], world.size() - 1)),
    ("ibcast", |world, len| owning(vec![1_u8; len], |s, data| world.ibcast(s, data, 0))?.wait().map(drop)),
    ("allreduce", |world, len| world.allreduce(&vec![1_u8; len], &mut vec![0; len], op::max)),
    ("iallreduce", |world, len| {
        owning(vec![1_u8; len], |s, data| world.iallreduce_in_place(s, data, op::max))?.wait().map(drop)
    }),
    ("reduce", |world, len| world.reduce(&vec![1_u8; len], &mut vec![0; len], op::max, 0)),
    ("reduce to the last", |world, len| world.reduce(&vec![1_u8; len], &mut vec![0; len], op::max, world.size() - 1)),
    ("ireduce", |world, len| {
        let buffers = (vec![1_u8; len], vec![0; len]);
        owning(buffers, |s, (data, result)| world.ireduce(s, data, result, op::max, world.size() - 1))?.wait().map(drop)
    }),
    ("allgather", |world, len| world.allgather(&vec![1_u8; len], &mut vec![0; len * world.size()])),
    ("iallgather", |world, len| {
        let buffers = (vec![1_u8; len], vec![0; len * world.size()]);
        owning(buffers, |s, (data, all)| world.iallgather(s, data, all))?.wait().map(drop)
    }),
    ("alltoall", |world, len| {
        let len = len * world.size();
        world.alltoall(&vec![1_u8; len], &mut vec![0; len])
    }),
    ("ialltoall", |world, len| {
        let len = len * world.size();
        owning((vec![1_u8; len], vec![0; len]), |s, (data, all)| world.ialltoall(s, data, all))?.wait().map(drop)
    }),
    ("gather", |world, len| world.gather(&vec![1_u8; len], &mut vec![0; len * world.size()], 0)),
    ("gather to the last", |world, len| {
        world.gather(&vec![1_u8; len], &mut vec![0; len * world.size()], world.size() - 1)
    }),
    ("scatter", |world, len| world.scatter(&vec![1_u8; len * world.size()], &mut vec![0; len], 0)),
    ("reduce_scatter_block", |world, len| {
        world.reduce_scatter_block(&vec![1_u8; len * world.size()], &mut vec![0; len], op::max)
    }),
    ("reduce_scatter to the last", |world, len| {
        let last = |rank| if rank + 1 == world.size() { len } else { 0 };
        let counts: Vec<usize> = (0..world.size()).map(last).collect();
        world.reduce_scatter(&vec![1_u8; len], &counts, &mut vec![0; last(world.rank())], op::max)
    }),
    ("ireduce_scatter_block", |world, len| {
        let buffers = (vec![1_u8; len * world.size()], vec![0; len]);
        owning(buffers, |s, (data, part)| world.ireduce_scatter_block(s, data, part, op::max))?.wait().map(drop)
    }),
    ("scan", |world, len| world.scan_in_place(&mut vec![1_u8; len], op::max)),
    ("exscan", |world, len| world.exscan(&vec![1_u8; len], &mut vec![0; len], op::max)),
];

fn half_an_element_is_an_error(universe: &Universe) -> Result<()> {
    let me = universe.this_rank();
    let refused = |error: Error| {
        assert_eq!(error.class(), ErrorClass::Datatype);
        assert!(error.to_string().contains("no whole number of f64"), "{error}");
    };
    let mut buffer = [0.0_f64; 2];
    me.buffered_send(&[1_u8; 12], 0, 1)?;
    refused(me.recv(&mut buffer, 0, 1).unwrap_err());
    let receive = owning(buffer, |s, buffer| me.irecv(s, buffer, 0, 1))?;
    me.send(&[1_u8; 12], 0, 1)?;
    refused(receive.wait().unwrap_err());
    Ok(())
}

/// Where both sides are built with debug assertions; in a job of both kinds of builds the others say nothing about
/// their types, and get what was sent.
fn types_that_differ_are_an_error(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let checks = world.allgather_values(&cfg!(debug_assertions))?;
    let refused = |error: Error, words: &str| {
        assert!(error.class() == ErrorClass::Datatype && error.to_string().contains(words), "{error}");
    };
    let settled = |error: Option<Error>, words: &str| {
        assert_eq!(error.is_some(), checks[rank] && checks[left], "{error:?}");
        error.into_iter().for_each(|error| refused(error, words));
    };
    // Whichever way a message takes, and whoever is first.
    for (len, early) in [(1, true), (1, false), (900, true), (30_000, true), (30_000, false)] {
        let receive = || owning(vec![0_f64; len], |s, buffer| world.irecv(s, buffer, left, 1));
        let posted = if early { Some(receive()?) } else { None };
        world.barrier()?;
        let sent = owning(vec![1_i64; len], |s, data| world.isend(s, data, right, 1))?;
        let posted = posted.map_or_else(receive, Ok)?;
        settled(posted.wait().err(), "has sent i64 where this rank expects f64");
        sent.wait()?;
        let sent = world.isend_value(&vec![Some(1_u8); len], right, 1)?;
        let received = world.recv_value::<Vec<Option<i8>>>(left, 1);
        settled(received.err(), "where this rank expects alloc::vec::Vec");
        sent.wait()?;
        // Numbers are no text, even where their bytes could be.
        let sent = world.isend_value(&vec![u32::from_le_bytes(*b"text"); len], right, 1)?;
        settled(
            world.recv_value::<String>(left, 1).err(),
            "has sent u32 where this rank expects alloc::string::String",
        );
        sent.wait()?;
        let sent = world.isend_value(&"text".repeat(len), right, 1)?;
        settled(world.recv_value::<Vec<f32>>(left, 1).err(), "has sent text where this rank expects alloc::vec::Vec");
        sent.wait()?;
        let sent = world.isend_value(&"text".repeat(len), right, 1)?;
        assert_eq!(world.recv_value::<Vec<u8>>(left, 1)?.0.len(), 4 * len);
        sent.wait()?;
        // Raw bytes may be anything, and arrays are their elements.
        let sent = world.isend_value(&vec![[1_i64; 2]; len], right, 1)?;
        assert_eq!(world.recv_value::<Vec<i64>>(left, 1)?.0, vec![1; 2 * len]);
        sent.wait()?;
        let sent = world.isend_value(&vec![1_i64; len], right, 1)?;
        assert_eq!(world.recv_value::<Vec<u8>>(left, 1)?.0.len(), 8 * len);
        sent.wait()?;
    }
    let last = size > 1 && rank + 1 == size;
    let broadcast = if last { world.bcast(&mut [0_u32; 4], 0) } else { world.bcast(&mut [0_f32; 4], 0) };
    let sum = if last {
        world.allreduce_value(1_u32, op::sum).map(drop)
    } else {
        world.allreduce_value(1_f32, op::sum).map(drop)
    };
    if size > 1 && checks.iter().all(|checks| *checks) {
        assert_eq!(broadcast.is_err(), last);
        broadcast.err().into_iter().for_each(|error| refused(error, "has sent f32 where this rank expects u32"));
        sum.unwrap_err();
    }
    world.barrier()
}
