//! What fuzzers throw at what reads messages of peers. Each function takes any bytes, and panics only if the library
//! breaks a promise. They exist for tests and fuzzers alone.

#[cfg(fuzzing)]
pub use rwmpi_engine::fuzz::hostile_peer;

use crate::window;

/// What a rank of another node asks of a window. What is a request is the same when it is written and read again.
pub fn window_request(data: &[u8]) {
    window::read_request(data);
}
