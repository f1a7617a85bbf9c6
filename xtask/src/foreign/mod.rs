//! `cargo xtask foreign`: programs that others compiled or wrote, on our libraries, started by our `mpiexec`.
//!
//! They are installed by package name into `target/foreign`, once; our own build goes there too, laid out as for users.
//! Nothing of them is changed: they find our library by `LD_LIBRARY_PATH` as they would find another MPI of their ABI.

mod abi_neutral;
mod adios;
mod cache;
mod failed_images;
mod files;
mod hdf5;
mod hdf5_tools;
pub mod lammps;
mod mpi4py;
mod mpich_fortran;
mod mpich_suite;
mod one_sided;
mod pnetcdf;
mod programs;
mod rsmpi;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::install;
use crate::workspace::Workspace;
pub use cache::Cache;

type Check = Box<dyn Fn(&Cache) -> Result<()>>;

/// One run of a foreign program.
pub struct Case {
    /// What the table calls it.
    name: String,
    check: Check,
}

impl Case {
    fn new(name: impl Into<String>, check: impl Fn(&Cache) -> Result<()> + 'static) -> Self {
        Case { name: name.into(), check: Box::new(check) }
    }
}

/// Runs the programs whose names contain `wanted`, and prints a table of what passed. `transport`: what `mpiexec` is
/// told of it.
pub fn run(workspace: &Workspace, wanted: &str, transport: Option<String>) -> Result<()> {
    let cache = Cache::new(workspace.target().join("foreign"), transport)?;
    install::run(workspace, &cache.prefix(), install::Profile::Dev, install::Programs::Launcher)?;
    let mut lines = Vec::new();
    let mut failed = 0;
    let is_wanted = |case: &Case| case.name.to_lowercase().contains(&wanted.to_lowercase());
    for case in programs::all().into_iter().filter(is_wanted) {
        let began = Instant::now();
        let result = (case.check)(&cache);
        let seconds = began.elapsed().as_secs_f64();
        failed += usize::from(result.is_err());
        let verdict = match result {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        println!("{}: {verdict}", case.name);
        let verdict = verdict.lines().next().unwrap_or_default().to_owned();
        lines.push(format!("{:32} {seconds:7.1} s  {verdict}", case.name));
    }
    if lines.is_empty() {
        bail!("no program's name contains {wanted:?}");
    }
    println!("\n{}", lines.join("\n"));
    println!("\n{} passed, {failed} failed", lines.len() - failed);
    if failed > 0 {
        bail!("{failed} foreign programs fail");
    }
    Ok(())
}
