//! Who is there, and how many.
//!
//! `cargo run --example hello` is a job of one rank; `mpiexec -n 4 target/debug/examples/hello` one of four.

use rwmpi::prelude::*;

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    for greeting in run(universe.world())? {
        println!("{greeting}");
    }
    universe.finalize()
}

/// The greetings of all ranks, at rank 0; elsewhere none.
pub fn run(world: &Communicator) -> rwmpi::Result<Vec<String>> {
    let greeting = format!("rank {} of {} says hello", world.rank(), world.size());
    Ok(world.gather_values(&greeting, 0)?.unwrap_or_default())
}
