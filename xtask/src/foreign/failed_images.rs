//! OpenCoarrays' programs in which an image fails and the others go on, with its library built for that, as Debian's is
//! not.
//!
//! Its library repairs itself in error handlers, which shrink a communicator, free a window and make another one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::cache::{Cache, output};

/// The version whose source Debian still has.
const VERSION: &str = "2.10.2+ds";
const IMAGES: usize = 4;
/// So many programs are there.
const PROGRAMS: usize = 9;
const PASSED: &str = "Test passed";
/// Each program has to pass once in so many runs. The library shrinks whichever communicator an image has met the
/// failure on, and some programs ask for an image's status while it ends: one run in a hundred goes wrong.
const ATTEMPTS: usize = 5;

/// The library flushes a window without a lock and detaches from a window that is not dynamic, and looks at the result
/// of neither: its windows have to return errors.
const RETURNING: &str = r#"
#include <mpi.h>
static inline int create_returning(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window)
{
    int error = MPI_Win_create(base, size, unit, info, comm, window);
    return error ? error : MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
}
#define MPI_Win_create create_returning
"#;

/// Builds the library and its programs, and runs them.
pub fn failed_images(cache: &Cache) -> Result<()> {
    let source = cache.debian_source("open-coarrays", "libcaf-mpich-3", Some(VERSION))?;
    let folder = cache.scratch("failed-images")?;
    let library = library(cache, &source.join("src/runtime-libraries"), &folder)?;
    let mut ran = 0;
    for entry in fs::read_dir(source.join("src/tests/unit/fail_images"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "f90") {
            let program = folder.join(path.file_stem().context("a program has a name")?);
            let mut compiler = Command::new(cache.wrapper("mpifort"));
            compiler.args(["-abi=mpich", "-fcoarray=lib"]).arg(&path).args(&library).arg("-o").arg(&program);
            output(&mut compiler)?;
            passes(cache, &program)?;
            ran += 1;
        }
    }
    ensure!(ran == PROGRAMS, "there are {ran} programs instead of {PROGRAMS}");
    Ok(())
}

/// Compiles the library for images that fail.
fn library(cache: &Cache, sources: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let header = folder.join("returning.h");
    fs::write(&header, RETURNING)?;
    let mut objects = Vec::new();
    for name in ["mpi/mpi_caf", "common/caf_auxiliary"] {
        let object = folder.join(Path::new(name).with_extension("o").file_name().context("a file has a name")?);
        let mut compiler = Command::new(cache.wrapper("mpicc"));
        compiler.args(["-abi=mpich", "-w", "-O1", "-c", "-include"]).arg(&header);
        compiler.args(["-DUSE_FAILED_IMAGES", "-DPREFIX_NAME=_gfortran_caf_", "-DGCC_GE_7", "-DGCC_GE_8"]);
        output(compiler.arg(sources.join(name).with_extension("c")).arg("-o").arg(&object))?;
        objects.push(object);
    }
    Ok(objects)
}

fn passes(cache: &Cache, program: &Path) -> Result<()> {
    let mut said = String::new();
    for _ in 0..ATTEMPTS {
        let mut job = cache.mpiexec(IMAGES);
        // The last time limit counts.
        match output(job.args(["--timeout", "20", "--keep-going"]).arg(program)) {
            Ok(text) if text.contains(PASSED) => return Ok(()),
            Ok(text) => said = text,
            Err(error) => said = format!("{error:#}"),
        }
    }
    bail!("{} has not passed in {ATTEMPTS} runs:\n{said}", program.display())
}
