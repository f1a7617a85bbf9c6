//! An MPI program that goes well or wrong as its argument says.

use rwmpi::{ANY_SOURCE, op};
use std::process::exit;

fn main() -> rwmpi::Result<()> {
    let behaviour = std::env::args().nth(1).unwrap_or_default();
    let universe = rwmpi::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let sum = world.allreduce_value(rank as u64, op::sum)?;
    println!("rank {rank} of {size}: sum {sum}");
    let mut buffer = [0_u8; 16];
    match behaviour.as_str() {
        "succeed" => return universe.finalize(),
        "leave" if rank == 1 => exit(0),
        "abort" if rank == 1 => universe.abort(3, "the input makes no sense"),
        "panic" if rank == 1 => panic!("a bug"),
        "wait-in-cycle" => rwmpi::scope(|scope| {
            let incoming = world.irecv(scope, &mut buffer, (rank + 1) % size, 5)?;
            world.send(&[1_u8], (rank + 1) % size, 6)?;
            incoming.wait().map(drop)
        })?,
        "busy" if rank == 0 => _ = world.recv(&mut buffer, 1, 3)?,
        "busy" => std::thread::sleep(std::time::Duration::from_secs(100)),
        "cycle" => _ = world.recv(&mut buffer, (rank + 1) % size, 7)?,
        _ if rank == 0 => _ = world.recv(&mut buffer, ANY_SOURCE, 9)?,
        _ => world.barrier()?,
    }
    Ok(())
}
