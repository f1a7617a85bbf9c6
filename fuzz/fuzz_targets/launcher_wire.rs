//! See `rwmpi_launcher::fuzz::wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_launcher::fuzz::wire(data));
