//! A rank is one thread.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world().clone();
    std::thread::spawn(move || world.barrier());
    Ok(())
}
