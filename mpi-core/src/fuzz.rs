//! What fuzzers throw at the engine. Each function takes any bytes, and panics only if the library breaks a promise.
//! They exist for tests and fuzzers alone.

use crate::engine::simulation;
use crate::window;

/// A simulated job, of which one rank writes cells of all kinds with any numbers in them. Which job and which numbers,
/// the first eight bytes say; the ordinary test run tries some hundreds.
pub fn hostile_peer(data: &[u8]) {
    let mut seed = [0; 8];
    let len = data.len().min(seed.len());
    seed[..len].copy_from_slice(&data[..len]);
    simulation::run_beside_hostile_peer(u64::from_le_bytes(seed));
}

/// What a rank of another node asks of a window. What is a request is the same when it is written and read again.
pub fn window_request(data: &[u8]) {
    window::read_request(data);
}
