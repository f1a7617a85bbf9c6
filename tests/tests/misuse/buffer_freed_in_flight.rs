//! A buffer outlives its scope.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    rwmpi::scope(|s| {
        let numbers = vec![1.0; 8];
        let request = world.isend(s, &numbers, 0, 0)?;
        request.wait()
    })?;
    Ok(())
}
