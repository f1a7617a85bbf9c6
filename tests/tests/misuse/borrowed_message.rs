//! What is received borrows from nobody.

use rwmpi::Message;

#[derive(Message)]
struct Line<'a> {
    text: &'a str,
}

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    universe.world().send_value(&Line { text: "hello" }, 0, 0)
}
