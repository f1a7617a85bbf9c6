//! A request ends with the scope that its buffer is lent to.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let numbers = [0.0; 8];
    let mut kept = None;
    rwmpi::scope(|s| {
        kept = Some(world.isend(s, &numbers, 0, 0)?);
        Ok(())
    })?;
    kept.unwrap().wait().map(drop)
}
