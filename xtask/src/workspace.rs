//! Where things are: the source tree, its packages, cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, MetadataCommand};

/// The benchmarks.
pub const BENCHMARKS: &[&str] = &["npb", "mpi-bench"];
/// The launcher under its names, and what it has done by another program.
pub const LAUNCHER: &[&str] = &["mpiexec", "mpirun", "rwmpi-console"];
/// What tells cargo to build launcher and libraries, and nothing else.
pub const ONLY_LAUNCHER: &[&str] = &[
    "--bins",
    "--lib",
    "--package=rwmpi",
    "--package=rwmpi-console",
    "--package=rwmpi-standard",
    "--package=rwmpi-mpich",
    "--package=rwmpi-heap-preload",
    "--package=rwmpi-fortran-standard",
    "--package=rwmpi-fortran-mpich",
    "--package=rwmpi-wrappers",
];
/// What tells cargo to build programs and libraries, and nothing else.
pub const ONLY_PROGRAMS: &[&str] = &[
    "--bins",
    "--lib",
    "--package=rwmpi",
    "--package=rwmpi-console",
    "--package=npb",
    "--package=mpi-bench",
    "--package=rwmpi-standard",
    "--package=rwmpi-mpich",
    "--package=rwmpi-heap-preload",
    "--package=rwmpi-fortran-standard",
    "--package=rwmpi-fortran-mpich",
    "--package=rwmpi-wrappers",
];
/// What tells cargo to build the benchmarks, and the library for those in C. Built apart they would differ in features,
/// and all beneath them would be compiled twice.
pub const MEASURED: &[&str] = &["build", "--quiet", "--release", "--package=mpi-bench", "--package=rwmpi-standard"];

/// The project as cargo sees it.
pub struct Workspace {
    /// The folder with the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Its packages, without those of others.
    pub metadata: Metadata,
}

impl Workspace {
    /// The workspace that this program was built from.
    pub fn find() -> Result<Self> {
        let own_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let metadata = MetadataCommand::new()
            .manifest_path(own_folder.join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cargo metadata failed; is the source tree where it was when xtask was built?")?;
        Ok(Workspace { root: metadata.workspace_root.clone().into_std_path_buf(), metadata })
    }

    /// Where cargo puts what it builds.
    pub fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// A cargo command in the root of the workspace.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// Every file that git tracks or would track, relative to the root, sorted.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let output = Command::new("git")
            .current_dir(&self.root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .context("cannot run git, which tells what belongs to the source tree")?;
        ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
        let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        let mut files: Vec<PathBuf> = names.split_terminator('\0').map(PathBuf::from).collect();
        // A deleted file is listed until the deletion is committed; one in conflict is listed twice.
        files.retain(|file| self.root.join(file).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }
}
