//! Round-trip time and bandwidth (the thesis's tables 4.1 and 4.2), taken from the micro-benchmark program beside this one.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::plan::Mode;

/// What the micro-benchmarks measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Micro {
    /// One entry per mode that was measured.
    pub modes: Vec<MicroMode>,
    /// Why something is missing, in a sentence.
    pub absent: Option<String>,
}

/// The figures of one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MicroMode {
    /// Which mode.
    pub protocol: Mode,
    /// One-way time by message size, ascending.
    pub latency: Vec<Point>,
    /// Bandwidth by message size, ascending.
    pub bandwidth: Vec<Point>,
}

/// What was measured for one message size, as the micro-benchmark program writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes in a message.
    pub bytes: u64,
    /// Fastest, in microseconds.
    pub min_us: f64,
    /// Middle, in microseconds.
    pub median_us: f64,
    /// Bytes over time, in 10^6 bytes per second.
    pub megabytes_per_second: f64,
}
