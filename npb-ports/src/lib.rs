//! The NAS Parallel Benchmarks.
#![forbid(unsafe_code)]
pub mod cfd;
