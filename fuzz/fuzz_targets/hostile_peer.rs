//! See `rwmpi_core::fuzz::hostile_peer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_core::fuzz::hostile_peer(data));
