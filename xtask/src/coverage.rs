//! `cargo xtask coverage`: the page that says which functions of MPI are supported, made of the table, the bodies and
//! the tests.

use std::fs;

use anyhow::{Context, Result, ensure};
use rwmpi_abi_table::{Bodies, coverage, functions, untested};

use crate::workspace::Workspace;

/// Where the page is.
const PAGE: &str = "docs/mpi-coverage.md";

fn page(workspace: &Workspace) -> Result<String> {
    let bodies = Bodies::find(&workspace.root.join("mpi-abi/src")).context("cannot read mpi-abi/src")?;
    coverage(&functions(), &bodies, &workspace.root.join("tests")).context("cannot read the test programs")
}

/// Writes the page anew.
pub fn write(workspace: &Workspace) -> Result<()> {
    fs::write(workspace.root.join(PAGE), page(workspace)?).with_context(|| format!("cannot write {PAGE}"))
}

/// Whether the page is what it would be if it were written now, and each function has a test.
pub fn check(workspace: &Workspace) -> Result<()> {
    let text = fs::read_to_string(workspace.root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    ensure!(text == page(workspace)?, "{PAGE} is not up to date: run `cargo xtask coverage`");
    let untested = untested(&functions(), &workspace.root.join("tests")).context("cannot read the test programs")?;
    ensure!(untested.is_empty(), "no program of tests/c calls {}", untested.join(", "));
    Ok(())
}
