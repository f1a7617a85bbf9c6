//! Ranks that give up long nonblocking collectives: they get their memory back, and those that come later learn of it.

use rwmpi::{Communicator, Error, ErrorClass, Result, op, scope};

/// Elements: more than is put anywhere.
const LEN: usize = 20_000;

fn main() -> Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    // With its first nonblocking collective a communicator gets the memory for them.
    scope(|s| world.ibarrier(s)?.wait())?;
    let mut data = universe.alloc(LEN);
    assert!(data.is_shared());
    if world.rank() == 0 {
        give_up(world, &mut data, || Ok(()));
    }
    world.barrier()?;
    if world.rank() > 0 {
        let text = sum(world, &mut data).unwrap_err().to_string();
        assert!(text.contains("nothing to pass on"), "{text}");
    }
    world.barrier()?;
    check_that_nobody_has_written(world, &data);
    // Also while the others use them.
    for _ in 0..50 {
        match world.rank() {
            0 => give_up(world, &mut data, || Ok(())),
            1 => give_up(world, &mut data, || world.barrier()),
            _ => drop(sum(world, &mut data)),
        }
        if world.rank() != 1 {
            world.barrier()?;
        }
        world.barrier()?;
        check_that_nobody_has_written(world, &data);
        world.barrier()?;
    }
    sum(world, &mut data)?;
    universe.finalize()
}

/// Starts a sum, does something, and gives the sum up.
fn give_up(world: &Communicator, data: &mut [u64], meanwhile: impl FnOnce() -> Result<()>) {
    data.fill(1);
    let outcome = scope(|s| -> Result<()> {
        // It may have come to nothing at once, if another rank has given up its own.
        drop(world.iallreduce_in_place(s, data, op::sum));
        meanwhile()?;
        Err(Error::new(ErrorClass::Other, "given up"))
    });
    assert_eq!(outcome.unwrap_err().to_string(), "given up");
    // It is this rank's again.
    data.fill(0);
}

/// Since rank 0 has given up.
fn check_that_nobody_has_written(world: &Communicator, data: &[u64]) {
    assert!(
        world.rank() != 0 || data.iter().all(|&value| value == 0),
        "another rank has used memory that was taken back"
    );
}

fn sum(world: &Communicator, data: &mut [u64]) -> Result<()> {
    data.fill(1);
    let outcome = scope(|s| world.iallreduce_in_place(s, data, op::sum)?.wait());
    assert!(outcome.is_err() || data.iter().all(|&sum| sum == world.size() as u64));
    outcome.map(drop)
}
