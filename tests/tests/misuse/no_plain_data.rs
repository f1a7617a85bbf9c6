//! Strings are no elements of a buffer.

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    universe.world().send(&["one".to_string(), "two".to_string()], 0, 0)
}
