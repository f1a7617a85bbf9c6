//! PnetCDF, built from source by our `mpicc`, `mpicxx` and `mpifort` as its users do, and its own tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Result, ensure};

use super::cache::{Cache, output};

/// Its tests at several numbers of ranks, those of the group `target` of its makefiles: `check` is one rank, `ptests`
/// 2 to 10.
pub fn pnetcdf(cache: &Cache, target: &str) -> Result<()> {
    let folder = build(cache)?;
    let launcher = format!("TESTMPIRUN={}", cache.mpiexec_text("NP"));
    let text = output(make(cache, &folder)?.args([target, &launcher]))?;
    let failed: Vec<&str> =
        text.lines().filter(|line| line.starts_with("FAIL") || line.contains("---- fail")).collect();
    ensure!(failed.is_empty(), "tests of PnetCDF fail:\n{}", failed.join("\n"));
    let passed = text.lines().filter(|line| line.starts_with("PASS") || line.ends_with(" pass")).count();
    ensure!(passed > 0, "no test has run");
    println!("{passed} of PnetCDF's tests pass");
    Ok(())
}

/// `make` in a folder, with our compilers and `mpiexec` first on the path.
fn make(cache: &Cache, folder: &Path) -> Result<Command> {
    let mut make = Command::new("make");
    make.current_dir(folder).env("PATH", path(cache)?);
    Ok(make)
}

fn path(cache: &Cache) -> Result<String> {
    Ok(format!("{}:{}", cache.prefix().join("bin").display(), env::var("PATH")?))
}

/// Its library and all of its tests.
fn build(cache: &Cache) -> Result<PathBuf> {
    let source = cache.debian_source("pnetcdf", "libpnetcdf-dev", None)?;
    cache.once("pnetcdf", |folder| {
        fs::create_dir_all(folder)?;
        if !source.join("configure").exists() {
            output(Command::new("autoreconf").arg("--install").current_dir(&source))?;
        }
        let mut configure = Command::new(source.join("configure"));
        configure.args(["--disable-dependency-tracking", "--disable-shared"]);
        for (variable, wrapper) in
            [("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpif90")]
        {
            configure.arg(format!("{variable}={}", cache.wrapper(wrapper).display()));
        }
        output(configure.args(["CFLAGS=-O1", "CXXFLAGS=-O1", "FFLAGS=-O1", "FCFLAGS=-O1"]).current_dir(folder))?;
        output(make(cache, folder)?.arg("-j2"))?;
        output(make(cache, folder)?.args(["-j2", "tests"])).map(drop)
    })
}
