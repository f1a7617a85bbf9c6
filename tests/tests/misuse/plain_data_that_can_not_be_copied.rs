//! Plain data are copied.

use rwmpi::Datatype;

#[derive(Datatype)]
struct Point {
    x: f64,
}

fn main() {}
