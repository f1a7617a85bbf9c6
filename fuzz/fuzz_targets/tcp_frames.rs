//! See `rwmpi_transport::fuzz::tcp_frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_transport::fuzz::tcp_frames(data));
