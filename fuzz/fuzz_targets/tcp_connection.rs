//! See `rwmpi_transport::fuzz::tcp_connection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_transport::fuzz::tcp_connection(data));
