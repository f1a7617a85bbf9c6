//! Round-trip time and bandwidth (the thesis's tables 4.1 and 4.2), taken from the micro-benchmark program beside this
//! one, in the variants that the thesis measured: receives posted in advance, and a stream of blocking sends up to a
//! barrier.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use rwmpi_launcher::Transport;
use serde::{Deserialize, Serialize};

use super::plan::Mode;
use crate::Class;

/// The program that measures.
const PROGRAM: &str = "mpi-bench";
/// Message sizes: those of the thesis, and up to 4 MB.
const SIZES: &str = "0,4,16,64,256,1K,4K,16K,64K,256K,1M,4M";
/// Seconds for each size.
const SECONDS: &str = "0.1";
/// The same in a study that checks and does not measure.
const SECONDS_OF_A_CHECK: &str = "0.01";

/// What the micro-benchmarks measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Micro {
    /// One entry per mode that was measured.
    pub modes: Vec<MicroMode>,
    /// Why nothing was measured, in a sentence.
    pub absent: Option<String>,
    /// What went wrong, each in a sentence.
    pub failures: Vec<String>,
}

/// The figures of one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MicroMode {
    /// Which mode.
    pub protocol: Mode,
    /// Half of the round-trip time by message size, ascending.
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
    /// Bytes over time, in 10^6 bytes per second; zero for an empty message.
    pub megabytes_per_second: f64,
}

/// A figure in the program's JSON; fields that do not apply are left out there.
#[derive(Deserialize)]
struct Figure {
    bytes: Option<u64>,
    min_us: Option<f64>,
    median_us: Option<f64>,
    megabytes_per_second: Option<f64>,
}

impl Micro {
    /// Measures each of `modes` for a study of that class, telling about each first, if the program is in the directory
    /// of `beside`.
    pub fn measure(beside: &Path, class: Class, modes: &[Mode], transport: Transport, tell: impl Fn(&str)) -> Micro {
        let program = beside.with_file_name(PROGRAM);
        let mut micro = Micro::default();
        if !program.exists() {
            micro.absent = Some(format!(
                "Round-trip time and bandwidth were not measured: there is no {}; build it (cargo build --release -p {PROGRAM}) and \
                 run again with --resume.",
                program.display()
            ));
            return micro;
        }
        let seconds = if class == Class::S { SECONDS_OF_A_CHECK } else { SECONDS };
        for &mode in modes {
            tell(&format!("round-trip time and bandwidth, {}", mode.title()));
            let mut measured = |variant: &[&str]| {
                figures(&program, variant, mode, transport, seconds).unwrap_or_else(|failure| {
                    micro.failures.push(failure);
                    Vec::new()
                })
            };
            let (latency, bandwidth) = (measured(&["latency", "--preposted"]), measured(&["bandwidth", "--stream"]));
            micro.modes.push(MicroMode { protocol: mode, latency, bandwidth });
        }
        micro
    }

    /// Whether everything was measured that could be.
    pub fn complete(&self) -> bool {
        !self.modes.is_empty() && self.failures.is_empty()
    }
}

/// Under `cargo run`, which builds only the program that it runs, builds the one that measures too.
pub fn build_program(beside: &Path, tell: impl Fn(&str)) {
    if let Some(mut command) = build_command(beside) {
        tell(&format!("the compilation of {PROGRAM}"));
        // Cargo says itself what goes wrong; that the program is not there is said by who looks for it.
        let _ = command.status();
    }
}

/// What builds the program that measures from the sources of this one and into its directory, if cargo has started this
/// one.
fn build_command(beside: &Path) -> Option<Command> {
    if env::var_os("CARGO_PKG_NAME")? != env!("CARGO_PKG_NAME") {
        return None;
    }
    let directory = beside.parent()?;
    let profile = match directory.file_name()?.to_str()? {
        "debug" => "dev",
        named => named,
    };
    let mut command = Command::new(env::var_os("CARGO")?);
    command.args(["build", "--quiet", "--package", PROGRAM, "--profile", profile]).arg("--manifest-path");
    command.arg(env::var_os("CARGO_MANIFEST_PATH")?).arg("--target-dir").arg(directory.parent()?);
    command.stdin(Stdio::null());
    Some(command)
}

fn figures(
    program: &Path,
    variant: &[&str],
    mode: Mode,
    transport: Transport,
    seconds: &str,
) -> Result<Vec<Point>, String> {
    let (mode, transport) = (mode.name(), transport.name());
    let command = format!("{PROGRAM} {} --protocol {mode} --transport {transport}", variant.join(" "));
    let output = Command::new(program)
        .args(variant)
        .args(["--protocol", mode, "--transport", transport, "--sizes", SIZES, "--seconds", seconds, "--json", "-"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command} could not be started: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{command} failed ({}): {}",
            output.status,
            said.lines().last().unwrap_or("it said nothing")
        ));
    }
    points(&output.stdout).map_err(|error| format!("what {command} reported cannot be understood: {error}"))
}

fn points(json: &[u8]) -> serde_json::Result<Vec<Point>> {
    let figures: Vec<Figure> = serde_json::from_slice(json)?;
    let point = |figure: Figure| {
        Some(Point {
            bytes: figure.bytes?,
            min_us: figure.min_us?,
            median_us: figure.median_us?,
            megabytes_per_second: figure.megabytes_per_second.unwrap_or(0.0),
        })
    };
    let mut points: Vec<Point> = figures.into_iter().filter_map(point).collect();
    points.sort_by_key(|point| point.bytes);
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_without_a_size_or_time_are_left_out() {
        let json = br#"[{"benchmark":"latency","bytes":4,"min_us":0.2,"sextile1_us":0.21,"median_us":0.3,
            "megabytes_per_second":20.0,"floor_ratio":1.5}, {"benchmark":"latency","bytes":0,"min_us":0.1,"median_us":0.2},
            {"benchmark":"rate","messages_per_second":1e6}]"#;
        let points = points(json).unwrap();
        assert_eq!(points.iter().map(|point| point.bytes).collect::<Vec<_>>(), [0, 4]);
        assert_eq!((points[0].megabytes_per_second, points[1].megabytes_per_second), (0.0, 20.0));
    }

    #[test]
    fn a_missing_program_is_said_in_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let micro = Micro::measure(&directory.path().join("npb"), Class::S, &Mode::PROTOCOLS, Transport::Auto, |_| ());
        assert!(micro.absent.unwrap().starts_with("Round-trip time and bandwidth were not measured: there is no "));
        assert!(micro.modes.is_empty());
    }
}
