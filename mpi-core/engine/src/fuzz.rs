//! What fuzzers throw at the engine. It exists for tests and fuzzers alone.

use crate::simulation;

/// A simulated job, of which one rank writes cells of all kinds with any numbers in them. Which job and which numbers,
/// the first eight bytes say; the ordinary test run tries some hundreds. Panics only if the library breaks a promise.
pub fn hostile_peer(data: &[u8]) {
    let mut seed = [0; 8];
    let len = data.len().min(seed.len());
    seed[..len].copy_from_slice(&data[..len]);
    simulation::run_beside_hostile_peer(u64::from_le_bytes(seed));
}
