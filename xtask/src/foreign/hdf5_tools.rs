//! The parallel tool of HDF5, `ph5diff`, which compares two files, compiled by our `mpicc`, under the script with which
//! HDF5 tests it: some two hundred pairs of files, and what must be said of each.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, output};
use super::hdf5::Library;

/// What it is made of, in HDF5's folder `tools`.
const PARTS: [&str; 16] = [
    "src/h5diff/ph5diff_main",
    "src/h5diff/h5diff_common",
    "lib/h5tools",
    "lib/h5tools_dump",
    "lib/h5tools_str",
    "lib/h5tools_utils",
    "lib/h5diff",
    "lib/h5diff_array",
    "lib/h5diff_attr",
    "lib/h5diff_dset",
    "lib/h5diff_util",
    "lib/h5trav",
    "lib/h5tools_filters",
    "lib/h5tools_ref",
    "lib/h5tools_type",
    "lib/io_timer",
];

/// All pairs of files, compared by so many ranks.
pub fn ph5diff(cache: &Cache, ranks: usize) -> Result<()> {
    let library = Library::new(cache)?;
    let tools = library.source.join("tools");
    // The script looks for the tool where HDF5's makefiles would put it.
    let folder = library.scratch.join("tools");
    let (place, tests) = (folder.join("src/h5diff"), folder.join("test/h5diff"));
    for folder in [&place, &tests] {
        fs::create_dir_all(folder)?;
    }
    let mut compiler = library.compiler(cache);
    for folder in ["lib", "src/h5diff"] {
        compiler.arg("-I").arg(tools.join(folder));
    }
    compiler.args(PARTS.map(|part| tools.join(part).with_extension("c")));
    library.link(&mut compiler, &place.join("ph5diff"))?;
    let source = tools.join("test/h5diff");
    let script = fs::read_to_string(source.join("testh5diff.sh.in"))?;
    let source = source.to_str().context("a path is text")?;
    fs::write(tests.join("testh5diff.sh"), script.replace("@srcdir@", source))?;
    let mut shell = Command::new("sh");
    shell.args(["testh5diff.sh", "-p"]).current_dir(&tests).env("LD_LIBRARY_PATH", library.path(cache)?);
    let text = output(shell.env("RUNPARALLEL", cache.mpiexec_text(&ranks.to_string())))?;
    ensure!(text.contains("All ph5diff tests passed."), "it does not say that all is well:\n{text}");
    Ok(())
}
