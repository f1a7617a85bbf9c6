//! The C front end beside `mpi-bench abstraction`: the same exchanges and sums, in a C program that is linked with the
//! library as it has been built. Where it is slower than Rust's raw bytes, the difference is the front end's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rwmpi_abi_table::{Interface, header};

use crate::process::{run, run_and_keep, works};
use crate::workspace::{MEASURED, Workspace};

/// The library as cargo builds it, and as programs look for it.
const LIBRARY: (&str, &str) = ("librwmpi_standard.so", "libmpi_abi.so.1");

/// Measures sizes from 1 B to 4 MB and leaves the table in `folder`; without a C compiler says that it is left out.
pub fn run_beside(workspace: &Workspace, folder: &Path) -> Result<()> {
    let Some(program) = compiled(workspace, "peer")? else {
        println!("left out: the C front end beside it, for there is no C compiler (cc)");
        return Ok(());
    };
    run(&mut workspace.cargo(&["build", "--release", "--package", "rwmpi"]))?;
    let mut job = Command::new(workspace.target().join("release/mpiexec"));
    job.args(["-n", "2", "--bind-to", "core"]).arg(&program).arg("abstraction");
    let table = run_and_keep(job.args((0..=22).map(|power| (1_u32 << power).to_string())))?;
    fs::write(folder.join("abstraction-c.txt"), table).context("cannot keep the table")
}

/// A program of `bench/peers`, linked with the library as it is built for release; `None` if there is no C compiler.
pub fn compiled(workspace: &Workspace, name: &str) -> Result<Option<PathBuf>> {
    if !works(Command::new("cc").arg("--version")) {
        return Ok(None);
    }
    run(&mut workspace.cargo(MEASURED))?;
    let place = workspace.target().join("bench-c");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    fs::write(place.join("mpi.h"), header(Interface::Standard))?;
    let library = place.join(LIBRARY.1);
    if library.is_symlink() {
        fs::remove_file(&library)?;
    }
    symlink(workspace.target().join("release").join(LIBRARY.0), &library)?;
    let program = place.join(name);
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-O2", "-I"]).arg(&place).arg("-o").arg(&program);
    compile.arg(workspace.root.join(format!("bench/peers/{name}.c"))).arg(&library);
    run(compile.arg(format!("-Wl,-rpath,{}", place.display())))?;
    Ok(Some(program))
}
