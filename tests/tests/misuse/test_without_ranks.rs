//! A test of several ranks says how many.

#[rwmpi::test]
fn works(universe: &rwmpi::Universe) {
    universe.world().barrier().unwrap();
}

fn main() {}
