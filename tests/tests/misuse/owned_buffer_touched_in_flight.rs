//! A buffer that a request owns is the program's again when the request has been waited for.
fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    let buffer = vec![0.0; 8];
    let request = rwmpi::owning(buffer, |s, buffer| world.irecv(s, buffer, 0, 0))?;
    println!("{}", buffer[0]);
    request.wait().map(drop)
}
