//! One program on the standard ABI, compiled once with our wrapper and once with MPICH's, under both libraries and both
//! launchers, which speak the same protocol (PMI).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::cache::{Cache, output};

const PROGRAM: &str = include_str!("abi_neutral.c");
const RANKS: usize = 3;

/// An MPI with the standard ABI.
struct Installation {
    prefix: PathBuf,
    compiler: &'static str,
}

/// Every compiler, library and launcher together.
pub fn abi_neutral(cache: &Cache) -> Result<()> {
    let mpich = cache.python("mpich", &["mpich"], |_| ())?;
    let installations = [
        Installation { prefix: cache.prefix(), compiler: "mpicc" },
        Installation { prefix: mpich, compiler: "mpicc_abi" },
    ];
    let folder = cache.scratch("abi-neutral")?;
    let source = folder.join("program.c");
    fs::write(&source, PROGRAM)?;
    for built_by in &installations {
        let program = folder.join(built_by.compiler);
        let mut compiler = Command::new(built_by.prefix.join("bin").join(built_by.compiler));
        output(compiler.args(["-O1", "-Wall"]).arg(&source).arg("-o").arg(&program))?;
        for library in &installations {
            check(&mut Command::new(&program), &library.prefix, 1)?;
            for launcher in &installations {
                let mut job = Command::new(launcher.prefix.join("bin/mpiexec"));
                check(job.args(["-n", &RANKS.to_string()]).arg(&program), &library.prefix, RANKS)?;
            }
        }
    }
    Ok(())
}

/// Runs it with a library: one job of so many ranks has to find all well.
fn check(command: &mut Command, library: &Path, ranks: usize) -> Result<()> {
    let text = output(command.env("LD_LIBRARY_PATH", library.join("lib")))?;
    let wanted = format!("all is well on {ranks} of {ranks}");
    ensure!(text.matches(&wanted).count() == 1, "not once {wanted:?}:\n{text}");
    Ok(())
}
