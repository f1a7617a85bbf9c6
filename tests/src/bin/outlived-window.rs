//! A rank dies while the memory of all is lent to a window. The others get theirs back, and lend it to a window of
//! their own.

use rwmpi::{Communicator, ErrorClass, LockKind, Result, Window};

const ADDED: u64 = 7;

/// Every rank adds to the memory of the first.
fn add(communicator: &Communicator, memory: &mut [u64], dies: bool) -> Result<()> {
    Window::create(communicator, memory, |window| {
        window.lock(0, LockKind::Shared)?.fetch_add(0, ADDED)?;
        if dies {
            std::process::abort();
        }
        window.fence(|_| Ok(()))
    })
}

fn main() -> Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let mut memory = vec![0; 100];
    let error = add(world, &mut memory, world.rank() == 1).expect_err("a rank has died");
    assert_eq!(error.class(), ErrorClass::ProcessDied, "{error}");
    memory.fill(0);
    let rest = world.shrink()?;
    add(&rest, &mut memory, false)?;
    assert_eq!(memory[0], if rest.rank() == 0 { ADDED * rest.size() as u64 } else { 0 });
    drop(rest);
    universe.finalize()
}
