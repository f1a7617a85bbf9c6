//! `mpi-bench compare`: the same on other MPI libraries. Ours is built and installed for that, and theirs are
//! installed, by `cargo xtask compare`, which this starts in the sources that this program was built from.

use crate::arguments::Compare;
use anyhow::{Context, Result, ensure};
use std::process::Command;

const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

pub fn run(options: &Compare) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["xtask", "compare"]).args(&options.arguments).current_dir(SOURCES);
    let status = command
        .status()
        .with_context(|| format!("cannot start cargo in {SOURCES}: to compare needs cargo and rwmpi's sources"))?;
    ensure!(status.success(), "cargo xtask compare: {status}");
    Ok(())
}
