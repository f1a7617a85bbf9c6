//! See `rwmpi_launcher::fuzz::pmi_server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rwmpi_launcher::fuzz::pmi_server(data));
