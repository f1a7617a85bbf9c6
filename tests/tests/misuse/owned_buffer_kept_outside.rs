//! What lends a buffer to a request lends it to nobody else.
fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let mut kept = None;
    let request = rwmpi::owning((vec![0.0; 8], vec![0.0; 8]), |s, (one, other)| {
        kept = Some(other);
        world.irecv(s, one, 0, 0)
    })?;
    drop(request);
    println!("{kept:?}");
    Ok(())
}
