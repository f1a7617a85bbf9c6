//! A program whose ranks may be threads, and go well or wrong as its argument says.
#![forbid(unsafe_code)]

use std::thread;

use rwmpi::{Communicator, Error, ErrorClass, Universe, scope};

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
        "late" => be_late(world)?,
        // The others wait for the one that does not come.
        _ => world.barrier()?,
    }
    Ok(rank * 10)
}

/// Rank 1 asks for nothing before rank 0 has said that all was sent. Once it was late, no kind of send waits for it.
fn be_late(world: &Communicator) -> rwmpi::Result<()> {
    const LEN: usize = 64 << 10;
    const LOOKS: usize = 10_000;
    const KINDS: u8 = 3;
    let (data, sent) = (1, 2);
    if world.rank() == 1 {
        world.recv(&mut [0_u8; 0], 0, sent)?;
        for kind in 0..=KINDS {
            let mut message = vec![0_u8; LEN];
            world.recv(&mut message, 0, data)?;
            assert!(message.iter().all(|&byte| byte == kind), "message {kind}");
        }
        return Ok(());
    }
    let first = vec![0_u8; LEN];
    scope(|s| {
        let mut request = world.isend(s, &first, 1, data)?;
        for _ in 0..LOOKS {
            assert!(!request.test()?);
        }
        world.send(&[1_u8; LEN], 1, data)?;
        let second = [2_u8; LEN];
        scope(|s| world.isend(s, &second, 1, data)?.wait())?;
        let mut third = world.persistent_send(vec![KINDS; LEN], 1, data)?;
        third.start()?;
        third.wait()?;
        world.send(&[0_u8; 0], 1, sent)?;
        request.wait()
    })?;
    Ok(())
}
