//! Does what does not go together, in the way that the first argument names; without --check nothing of it shows.

use rwmpi::{Communicator, op};

fn main() -> rwmpi::Result<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let universe = rwmpi::init()?;
    let world = universe.world();
    let rank = world.rank();
    let other = usize::from(rank == 1);
    let (mut data, mut result) = ([rank as u32; 4], [0; 4]);
    match kind.as_str() {
        "operations" if rank == 1 => world.allreduce(&data, &mut result, op::max)?,
        "operations" => world.allreduce(&data, &mut result, op::sum)?,
        "roots" => world.bcast(&mut data, other)?,
        "lengths" => world.bcast(&mut data[other..], 0)?,
        "calls" if rank == 1 => world.barrier()?,
        "calls" => world.bcast(&mut data, 0)?,
        "part" if rank == 1 => _ = world.split(Some(0), 0)?,
        "part" => world.barrier()?,
        "values" => _ = world.bcast_value(format!("of rank {rank}"), other)?,
        "started" => rwmpi::scope(|s| world.ibcast(s, &mut data, other)?.wait().map(drop))?,
        "started-operations" => rwmpi::scope(|s| match rank {
            1 => world.iallreduce(s, &data, &mut result, op::max)?.wait().map(drop),
            _ => world.iallreduce(s, &data, &mut result, op::sum)?.wait().map(drop),
        })?,
        "started-calls" => rwmpi::scope(|s| match rank {
            1 => world.ibarrier(s)?.wait().map(drop),
            _ => world.ibcast(s, &mut data, 0)?.wait().map(drop),
        })?,
        "started-values" => _ = world.iallreduce_value(rank.to_string(), |a, b| a.clone() + b)?.wait()?,
        "message" if rank == 0 => world.send(&data[..3], 1, 42)?,
        "request" if rank == 0 => {
            let left = world.irecv_value::<u64>(1, 8)?;
            // What is not waited for is not forgotten.
            universe.finalize()?;
            return left.wait().map(drop);
        }
        "request" if rank == 1 => world.send(&[1_u64], 0, 8)?,
        "well" => do_well(world)?,
        _ => {}
    }
    universe.finalize()
}

/// All that there is, as it should be; one rank starts what others wait for only after some messages.
fn do_well(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (mut data, mut result, mut all) = ([rank as u32; 2], [0; 2], vec![0; 2 * size]);
    world.reduce(&data, if rank == 1 { &mut result } else { &mut [] }, |a, b| a ^ b, 1)?;
    world.gather(&data, if rank == 2 { &mut all } else { &mut [] }, 2)?;
    world.scatter(if rank == 2 { &all } else { &[] }, &mut data, 2)?;
    world.allgather(&data, &mut all)?;
    world.exscan(&data, &mut result, op::sum)?;
    world.alltoall(&vec![1_u8; size], &mut vec![0; size])?;
    let words = world.gather_values(&"x".repeat(rank), 0)?;
    assert_eq!(words.map(|words| words.concat().len()), (rank == 0).then(|| (0..size).sum()));
    let half = world.split(Some(u32::from(rank % 2 == 0)), 0)?.expect("all have a colour");
    half.allreduce(&[1_u8], &mut [0], op::sum)?;
    rwmpi::scope(|s| {
        if rank == 1 {
            world.recv(&mut [0_u8], 0, 1)?;
        }
        let barrier = world.ibarrier(s)?;
        if rank == 0 {
            world.send(&[1_u8], 1, 1)?;
        }
        barrier.wait().map(drop)
    })
}
