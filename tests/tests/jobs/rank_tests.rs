//! `#[rwmpi::test]`: tests of several ranks, and how they fail.

use rwmpi::{Result, Universe, op};

#[rwmpi::test(ranks = 4)]
fn ranks_find_each_other(universe: &Universe) -> Result<()> {
    let world = universe.world();
    assert_eq!(world.size(), 4);
    assert_eq!(world.allreduce_value(1, op::sum)?, 4);
    Ok(())
}

#[rwmpi::test(ranks = 1)]
fn a_test_may_return_nothing(universe: &Universe) {
    universe.world().barrier().unwrap();
}

#[rwmpi::test(ranks = 3)]
#[should_panic(expected = "rank 1 of 3: I give up")]
fn a_rank_that_panics_ends_the_others_waits(universe: &Universe) -> Result<()> {
    let world = universe.world();
    assert!(world.rank() != 1, "I give up");
    world.recv(&mut [0_u8], 1, 0).map(drop)
}

#[rwmpi::test(ranks = 2)]
#[should_panic(expected = "rank 0 of 2: rank 0: send in the world communicator: destination 7 is out of range")]
fn an_error_is_a_failure_of_its_rank(universe: &Universe) -> Result<()> {
    let world = universe.world();
    match world.rank() {
        0 => world.send(&[1_u8], 7, 0),
        _ => world.barrier(),
    }
}

#[rwmpi::test(ranks = 3)]
#[should_panic(expected = "rank 0 waits for rank 1, rank 1 waits for rank 0")]
fn a_test_that_hangs_fails_with_a_report(universe: &Universe) -> Result<()> {
    let world = universe.world();
    match world.rank() {
        rank @ 0..2 => world.recv(&mut [0_u8], 1 - rank, 7).map(drop),
        _ => Ok(()),
    }
}

#[rwmpi::test(ranks = 2)]
#[should_panic(expected = "rank 0, in receive, waits for a receive from rank 1, tag 3")]
fn a_wait_is_told_as_what_was_started(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (incoming, to) = (world.irecv_value::<u64>(1 - world.rank(), 3)?, 1 - world.rank());
    // What it does in between is not what it waits for.
    world.send(&[0_u8], to, 4)?;
    world.recv(&mut [0_u8], to, 4)?;
    world.barrier()?;
    incoming.wait().map(drop)
}

#[rwmpi::test(ranks = 2)]
#[should_panic(expected = "waits for the first of 2: receive from rank 1, tag 1; receive from rank 1, tag 2")]
fn a_wait_for_the_first_of_several_is_told(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let other = 1 - world.rank();
    let mut requests = vec![world.irecv_value::<u64>(other, 1)?, world.irecv_value::<u64>(other, 2)?];
    rwmpi::wait_any(&mut requests).map(drop)
}

#[rwmpi::test(ranks = 3, timeout = 4)]
#[should_panic(
    expected = "deadlock: rank 0 waits for rank 1 (receive, tag 7), rank 1 waits for rank 0 (receive, tag 7)"
)]
fn a_test_that_has_had_its_time_tells_who_waits_for_whom(universe: &Universe) -> Result<()> {
    let world = universe.world();
    match world.rank() {
        rank @ 0..2 => world.recv(&mut [0_u8], 1 - rank, 7).map(drop),
        _ => {
            let mut incoming = world.irecv_value::<u64>(0, 3)?;
            while !incoming.test()? {}
            Ok(())
        }
    }
}

#[rwmpi::test(ranks = 2, timeout = 2)]
#[should_panic(expected = "the test is not over after 2 s")]
fn a_test_has_a_time_limit(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let mut incoming = world.irecv_value::<u64>(1 - world.rank(), 3)?;
    while !incoming.test()? {}
    Ok(())
}
