//! The parallel tests of HDF5 (its folder `testpar`), compiled by our `mpicc`, on the library that Debian compiled for
//! MPICH.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output, output_with};
use super::one_sided::{library_path, machine_folder};

/// Its tests: how many ranks they want at least, and what they say at their end if all is well.
///
/// Left out: `t_cache`, which hangs, and `t_cache_image`, which fails, both at the same places with MPICH 5.0;
/// `t_pflush1`, which ends without MPI_Finalize on purpose, and `t_pflush2`, which reads what that has left.
/// `t_prestart` reads what `t_pshutdown` has left.
const TESTS: [(&str, usize, &str); 9] = [
    ("t_mpi", 2, "MPI tests finished with no errors"),
    ("t_bigio", 1, "Read Testing Dataset4"),
    ("testphdf5", 1, "PHDF5 tests finished with no errors"),
    ("t_pread", 3, "tests finished with no failures"),
    ("t_shapesame", 1, "Shape Same tests finished with no errors"),
    ("t_filters_parallel", 1, "All Parallel Filters tests passed"),
    ("t_pshutdown", 1, "PASSED"),
    ("t_prestart", 1, "PASSED"),
    ("t_init_term", 1, "PASSED"),
];

/// What `testphdf5` is made of, besides what all are.
const PARTS: [&str; 11] = [
    "t_dset",
    "t_file",
    "t_file_image",
    "t_mdset",
    "t_ph5basic",
    "t_coll_chunk",
    "t_span_tree",
    "t_chunk_alloc",
    "t_filter_read",
    "t_prop",
    "t_coll_md_read",
];

/// What HDF5 is needed to compile for it, and to run.
const PACKAGES: [&str; 5] = ["libhdf5-mpich-dev", "libhdf5-mpich-103-1", "libaec-dev", "libsz2", "libaec0"];

/// Debian's library, and HDF5's source.
pub struct Library {
    pub source: PathBuf,
    packages: Vec<PathBuf>,
    /// A folder for what is made of it.
    pub scratch: PathBuf,
}

impl Library {
    pub fn new(cache: &Cache) -> Result<Library> {
        let source = cache.debian_source("hdf5", PACKAGES[0], None)?;
        let packages = PACKAGES.iter().map(|package| cache.debian(package)).collect::<Result<Vec<_>>>()?;
        let scratch = cache.scratch("hdf5-tests")?;
        // What HDF5's configure script would make.
        let text = format!("static const char *config_srcdir = {:?};\n", source.join("test"));
        fs::write(scratch.join("H5srcdir_str.h"), text)?;
        Ok(Library { source, packages, scratch })
    }

    /// A compiler that knows where its headers are.
    pub fn compiler(&self, cache: &Cache) -> Command {
        let mut compiler = Command::new(cache.wrapper("mpicc"));
        compiler.args(["-abi=mpich", "-w", "-O1", "-g"]);
        let headers = [self.packages[0].join("usr/include/hdf5/mpich"), self.packages[2].join("usr/include")];
        for folder in headers.iter().chain([&self.source.join("src"), &self.scratch]) {
            compiler.arg("-I").arg(folder);
        }
        compiler
    }

    /// Has the compiler make a program.
    pub fn link(&self, compiler: &mut Command, program: &Path) -> Result<()> {
        let library = file_with(&machine_folder(&self.packages[1]), "libhdf5_mpich.so.")?;
        compiler.arg(library).arg("-Wl,--allow-shlib-undefined").arg("-lm").arg("-o").arg(program);
        output(compiler).map(drop)
    }

    /// Where programs find it, and ours.
    pub fn path(&self, cache: &Cache) -> Result<String> {
        let folders: Vec<PathBuf> = self.packages.iter().map(|package| machine_folder(package)).collect();
        library_path(cache, &folders.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    }

    /// Compiles a test.
    fn compile(&self, cache: &Cache, test: &str) -> Result<PathBuf> {
        let program = self.scratch.join(test);
        let mut compiler = self.compiler(cache);
        for folder in ["test", "testpar"] {
            compiler.arg("-I").arg(self.source.join(folder));
        }
        let parts = PARTS.iter().filter(|_| test == "testphdf5").copied();
        for name in parts.chain([test]) {
            compiler.arg(self.source.join("testpar").join(name).with_extension("c"));
        }
        for name in ["h5test.c", "testframe.c"] {
            compiler.arg(self.source.join("test").join(name));
        }
        self.link(&mut compiler, &program)?;
        Ok(program)
    }
}

/// All tests with so many ranks.
pub fn hdf5(cache: &Cache, ranks: usize) -> Result<()> {
    let library = Library::new(cache)?;
    let libraries = library.path(cache)?;
    let mut failures = Vec::new();
    for (test, ranks_min, wanted) in TESTS {
        let program = library.compile(cache, test)?;
        let mut command = cache.mpiexec(ranks);
        command.arg(&program).current_dir(&library.scratch).env("LD_LIBRARY_PATH", &libraries);
        if ranks < ranks_min {
            continue;
        }
        if let Err(error) = output_with(&mut command, wanted) {
            failures.push(format!("{test}: {error:#}"));
        }
    }
    ensure!(failures.is_empty(), "{} of HDF5's tests fail:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}

/// The file in a folder whose name begins so.
fn file_with(folder: &Path, start: &str) -> Result<PathBuf> {
    let paths = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths = paths.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    paths.next().with_context(|| format!("there is no {start} in {}", folder.display()))
}
