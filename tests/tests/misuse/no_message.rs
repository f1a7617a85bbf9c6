//! A type that neither derives a message nor is said to go by serde.

struct Config {
    name: String,
}

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    universe.world().send_value(&Config { name: "x".into() }, 0, 0)
}
