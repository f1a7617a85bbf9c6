//! `cargo xtask bench`: measures this machine and keeps the figures.

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// Runs the whole set of mpi-bench; its report goes to `bench/results`.
pub fn run(workspace: &Workspace) -> Result<()> {
    process::run(&mut workspace.cargo(&[
        "run",
        "--release",
        "--bin",
        "mpi-bench",
        "--",
        "all",
        "--output",
        "bench/results",
    ]))
}
