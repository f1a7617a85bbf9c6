//! A buffer is the request's until it has completed.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let mut numbers = [0.0; 8];
    rwmpi::scope(|s| {
        let request = world.irecv(s, &mut numbers, 0, 0)?;
        println!("{}", numbers[0]);
        request.wait()
    })?;
    Ok(())
}
