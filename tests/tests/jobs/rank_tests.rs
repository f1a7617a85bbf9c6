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
