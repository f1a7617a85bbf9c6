//! See `rwmpi_core::fuzz::window_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_core::fuzz::window_request(data));
