//! See `rwmpi_transport::fuzz::pmi_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_transport::fuzz::pmi_line(data));
