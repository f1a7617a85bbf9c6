//! A buffer is the request's, whichever thread would like to have it.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let mut numbers = [0.0; 8];
    rwmpi::scope(|s| {
        let request = world.irecv(s, &mut numbers, 0, 0)?;
        std::thread::scope(|threads| {
            threads.spawn(|| numbers[0] = 1.0);
        });
        request.wait()
    })?;
    Ok(())
}
