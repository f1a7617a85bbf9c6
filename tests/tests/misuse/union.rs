//! What is in a union nobody knows.

use rwmpi::Datatype;

#[derive(Clone, Copy, Datatype)]
union Bits {
    float: f32,
    word: u32,
}

fn main() {}
