//! `cargo xtask install`: programs, C libraries and headers, built for release, where a user wants them.
//!
//! ```text
//! DIR/bin/{mpiexec,mpirun,npb,mpi-bench}
//! DIR/lib/{libmpi_abi.so.1,libmpi.so.12,libmpich.so.12}     what programs are bound to when they start
//! DIR/lib/{libmpi_abi.so,libmpi.so}                         what they are linked with
//! DIR/include/mpi.h                                         the standard ABI's
//! DIR/include/mpich/mpi.h                                   the MPICH ABI's
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use rwmpi_abi_table::{Interface, header};

use crate::process;
use crate::workspace::{LIBRARIES, ONLY_PROGRAMS, PROGRAMS, Workspace};

/// Builds everything and puts it under `prefix`.
pub fn run(workspace: &Workspace, prefix: &Path) -> Result<()> {
    process::run(workspace.cargo(&["build", "--release"]).args(ONLY_PROGRAMS))?;
    let built = workspace.target().join("release");
    for program in PROGRAMS {
        copy(&built.join(program), &prefix.join("bin").join(program))?;
    }
    for (library, known_as) in LIBRARIES {
        copy(&built.join(library), &prefix.join("lib").join(known_as))?;
    }
    for (link, library) in [("libmpi_abi.so", "libmpi_abi.so.1"), ("libmpi.so", "libmpi.so.12")] {
        put(&prefix.join("lib").join(link), |fresh| symlink(library, fresh))?;
    }
    for (place, interface) in [("include/mpi.h", Interface::Standard), ("include/mpich/mpi.h", Interface::Mpich)] {
        put(&prefix.join(place), |fresh| fs::write(fresh, header(interface)))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    put(to, |fresh| fs::copy(from, fresh).map(drop))
}

/// Has `place` made under another name first: what is running can be replaced but not written to.
fn put(place: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    let folder = place.parent().context("a place in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = place.file_name().context("a file")?.to_string_lossy();
    let fresh = folder.join(format!(".{name}.new"));
    // Left by an installation that was interrupted.
    let _ = fs::remove_file(&fresh);
    make(&fresh)
        .and_then(|()| fs::rename(&fresh, place))
        .with_context(|| format!("cannot write {}", place.display()))?;
    println!("{}", place.display());
    Ok(())
}
