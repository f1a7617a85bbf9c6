//! Plain data have plain fields.

use rwmpi::Datatype;

#[derive(Clone, Copy, Datatype)]
struct Particle {
    position: [f64; 3],
    name: &'static str,
}

fn main() {}
