//! The programs in Fortran with which MPICH tests itself: what its configure script and its makefiles would make of
//! templates before they are compiled.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache::{Cache, output};

/// How programs of a chapter are compiled.
pub struct Fortran {
    /// The end of sources' names.
    pub extension: &'static str,
    /// What all programs of it have in common.
    utilities: &'static str,
}

impl Fortran {
    /// That of a chapter; `None`: its programs are in C.
    pub fn of(chapter: &str) -> Option<Fortran> {
        let has = |folder: &str| chapter.split('/').any(|part| part == folder);
        if has("f77") {
            Some(Fortran { extension: "f", utilities: "mtest_f77.f" })
        } else if has("f08") {
            Some(Fortran { extension: "f90", utilities: "mtest_f08.f90" })
        } else {
            None
        }
    }

    /// Makes a program of sources in Fortran and objects of what is in C. `folder`: where what they include lies.
    pub fn compile(&self, cache: &Cache, suite: &Path, folder: &Path, program: &Path, files: &[PathBuf]) -> Result<()> {
        let mut compiler = Command::new(cache.wrapper("mpifort"));
        compiler.args(["-abi=mpich", "-w", "-O1", "-g", "-fallow-argument-mismatch", "-I"]).arg(folder);
        compiler.arg(suite.join("util").join(self.utilities)).args(files);
        // It writes modules into the folder where it runs.
        compiler.current_dir(program.parent().context("a program lies in a folder")?);
        output(compiler.arg("-o").arg(program)).map(drop)
    }
}

/// Types that templates leave open.
const TYPES: [(&str, &str); 2] =
    [("@F77_MPI_ADDRESS@", "integer (kind=MPI_ADDRESS_KIND)"), ("@F77_MPI_OFFSET@", "integer (kind=MPI_OFFSET_KIND)")];

/// Makes what programs in a folder of the suite include, and those programs that exist as one template for all.
pub fn fill_templates(suite: &Path, folder: &Path, scratch: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.to_string_lossy().ends_with(".h.in") {
            continue;
        }
        let text = TYPES.iter().fold(fs::read_to_string(&path)?, |text, (open, datatype)| text.replace(open, datatype));
        fs::write(path.with_extension(""), text)?;
    }
    let [definitions, template] = ["ioharness.defn", "ioharness.tlt"].map(|name| folder.join(name));
    if !definitions.exists() {
        return Ok(());
    }
    let script = fs::read_to_string(suite.join("maint/testmerge.in"))?;
    // Its first line says where perl would be.
    let (_, script) = script.split_once('\n').context("the script has lines")?;
    let path = scratch.join("testmerge");
    fs::write(&path, script)?;
    let mut common = OsString::from("-defn=");
    common.push(suite.join("maint/common.defn"));
    output(Command::new("perl").arg(path).arg(common).args([definitions, template]).current_dir(folder)).map(drop)
}
