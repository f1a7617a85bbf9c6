//! mpi4py's own test suite, all modules of it.
//!
//! A test that skips itself for another reason than [`MAY_BE_MISSING`] fails the run: MPICH skips none of them.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output_with};

/// What a test may lack and so skip itself: processors and packages that are not for every machine, another number of
/// ranks, and recovery after failures, which the standard does not have.
const MAY_BE_MISSING: [&str; 6] =
    ["cupy", "numba", "mpi-world-size<2", "mpi-world-size>1", "comm.size==1", "mpi-comm_revoke"];
/// The version whose source has the tests.
pub const MPI4PY: &str = "mpi4py==4.1.2";
/// Flags for a compiler that is to make its one long C file: with the debug information that Python asks for, some
/// versions of gcc take over 20 GB of memory.
pub const WITHOUT_DEBUG_INFORMATION: &str = "-g0";
/// What its tests use besides.
const PACKAGES: [&str; 4] = ["numpy", "cffi", "dill", "pyyaml"];

/// Python with what is named.
fn packages() -> Vec<&'static str> {
    [&[MPI4PY][..], &PACKAGES[..]].concat()
}

/// Python with mpi4py for the ABI of MPICH.
pub fn python(cache: &Cache) -> Result<PathBuf> {
    cache.python("mpi4py", &packages(), |_| ())
}

/// Its tests at so many ranks.
pub fn mpi4py(cache: &Cache, interface: &'static str, ranks: usize) -> Result<()> {
    let tests = cache.python_source(MPI4PY)?.join("test/main.py");
    let folder = match interface {
        "MPICH ABI" => python(cache)?,
        _ => {
            let compiler = format!("{} -abi=standard", cache.wrapper("mpicc").display());
            let packages = [vec!["--no-binary", "mpi4py"], packages()].concat();
            cache.python("mpi4py-standard", &packages, |pip| {
                pip.env("MPICC", &compiler).env("CFLAGS", WITHOUT_DEBUG_INFORMATION);
            })?
        }
    };
    let mut command = cache.mpiexec(ranks);
    command.arg(folder.join("bin/python")).arg(tests).arg("-v");
    if interface == "MPICH ABI" {
        command.env("MPI4PY_MPIABI", "mpich").env("MPI4PY_LIBMPI", cache.prefix().join("lib/libmpi.so.12"));
    }
    let text = output_with(&mut command, "\nOK")?;
    let skipped = text.split("skipped '").skip(1).filter_map(|rest| rest.split('\'').next());
    let unexpected: Vec<&str> = skipped.filter(|reason| !MAY_BE_MISSING.contains(reason)).collect();
    ensure!(unexpected.is_empty(), "tests were skipped because of {unexpected:?}");
    let counted = text.lines().find(|line| line.starts_with("Ran ")).context("the tests were not counted")?;
    println!("{counted}");
    Ok(())
}
