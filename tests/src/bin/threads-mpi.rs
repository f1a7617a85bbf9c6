//! A program whose ranks may be threads, and go well or wrong as its argument says.
#![forbid(unsafe_code)]

use std::thread;

use rwmpi::{Error, ErrorClass, Universe};

fn main() -> rwmpi::Result<()> {
    let behaviour = std::env::args().nth(1).unwrap_or_default();
    let results = rwmpi::run(|universe| rank_main(universe, &behaviour))?;
    println!("results {results:?}");
    Ok(())
}

fn rank_main(universe: &Universe, behaviour: &str) -> rwmpi::Result<usize> {
    let world = universe.world();
    let rank = world.rank();
    match behaviour {
        "who" => {
            let level = universe.thread_level();
            let me = format!("{} {level:?} {}", std::process::id(), thread::current().name().unwrap_or("?"));
            for line in world.gather_values(&me, 0)?.into_iter().flatten() {
                println!("{line}");
            }
        }
        "panic" if rank == 3 => panic!("a bug"),
        "fail" if rank == 3 => return Err(Error::new(ErrorClass::Other, "the mesh is empty")),
        "kill" if rank == 3 => std::process::abort(),
        // The others wait for the one that does not come.
        _ => world.barrier()?,
    }
    Ok(rank * 10)
}
