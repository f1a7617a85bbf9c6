//! `cargo xtask bench`: measures this machine and keeps the figures in `bench/results`, as JSON and as tables; part of
//! them as a page.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::experiments;
use crate::process::{run, run_and_keep};
use crate::workspace::{MEASURED, Workspace};

/// What is measured: name of the result, arguments of mpi-bench. The floor comes first: it is what the rest is held
/// against.
const MEASUREMENTS: &[(&str, &[&str])] = &[
    ("floor", &["floor"]),
    ("latency", &["latency"]),
    ("latency-private", &["latency", "--memory", "private"]),
    ("latency-preposted", &["latency", "--preposted"]),
    ("latency-sr", &["latency", "--preposted", "--protocol", "sr"]),
    ("latency-nsr", &["latency", "--preposted", "--protocol", "nsr"]),
    ("pingping", &["pingping"]),
    ("bandwidth", &["bandwidth"]),
    ("bandwidth-private", &["bandwidth", "--memory", "private"]),
    ("bandwidth-stream", &["bandwidth", "--stream"]),
    ("rate", &["rate"]),
    ("tags", &["tags"]),
    ("barrier", &["barrier"]),
    ("abstraction", &["abstraction", "--sizes", "1-4M"]),
    ("ways", &["ways"]),
    ("affinity", &["affinity"]),
    ("histogram-threads", &["histogram", "--threads"]),
    ("histogram-processes", &["histogram"]),
    ("histogram-tcp", &["histogram", "--transport", "tcp"]),
    ("socket-buffers", &["socket-buffers"]),
    ("instructions", &["instructions"]),
];

/// Runs those whose names contain `wanted`. Results of a measurement that fails stay as they were.
pub fn run_all(workspace: &Workspace, wanted: &str) -> Result<()> {
    let measurements: Vec<_> = MEASUREMENTS.iter().filter(|(name, _)| name.contains(wanted)).collect();
    ensure!(!measurements.is_empty(), "no measurement is called `{wanted}`, or has it in its name");
    run(&mut workspace.cargo(MEASURED))?;
    let program = workspace.target().join("release").join("mpi-bench");
    let folder = workspace.root.join("bench").join("results");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, arguments) in &measurements {
        let mut command = Command::new(&program);
        command.args(*arguments).arg("--json").arg(folder.join(format!("{name}.json")));
        let table = run_and_keep(&mut command)?;
        fs::write(folder.join(format!("{name}.txt")), table)?;
    }
    if measurements.iter().any(|(name, _)| *name == "abstraction") {
        crate::beside_c::run_beside(workspace, &folder)?;
    }
    println!("figures in {}", folder.display());
    experiments::draw(workspace)
}
