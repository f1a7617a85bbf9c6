//! Tells address spaces apart, of which each process has one. Numbers of processes are unique within a PID namespace
//! only, and a job may span several.
#![forbid(unsafe_code)]

use std::os::unix::fs::MetadataExt;

/// A number that two peers have in common if and only if they share their private memory.
pub(crate) fn address_space() -> u64 {
    let name_space = std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino());
    (name_space << 32) | u64::from(std::process::id())
}
