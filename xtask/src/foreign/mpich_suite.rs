//! The programs with which MPICH tests itself, chapter by chapter, from the source that Debian has of it: compiled by
//! our `mpicc`, run as its lists say, each of which must report no errors.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result, bail, ensure};

use super::cache::{Cache, output, output_with};

/// The folders of MPICH's suite.
pub const CHAPTERS: [&str; 9] =
    ["rma", "errors/rma", "threads/rma", "io", "errors/io", "spawn", "errors/spawn", "part", "mpi_t"];

/// Programs that are no judges of this library, and why.
const LEFT_OUT: [(&str, &str); 4] = [
    ("qmpi_test", "QMPI is MPICH's own interface for tools"),
    ("multipart", "looks at MPI_ERROR of statuses of MPI_Waitall, which sets it only with MPI_ERR_IN_STATUS"),
    ("connect_timeout_no_accept", "sets by variables of MPICH's how long a port is waited for"),
    ("nonblocking_pready", "sends elements of MPI_DATATYPE_NULL, if none"),
];

/// Room for so many ranks: children that have none left skip what they should do.
const UNIVERSE: &str = "64";

/// What MPICH's configure script would find out.
const CONFIGURATION: [&str; 33] = [
    "HAVE_STDARG_H",
    "HAVE_STDIO_H",
    "HAVE_STDLIB_H",
    "HAVE_STRING_H",
    "HAVE_STDINT_H",
    "HAVE_INTTYPES_H",
    "HAVE_UNISTD_H",
    "HAVE_SYS_TIME_H",
    "HAVE_SYS_RESOURCE_H",
    "HAVE_LONG_DOUBLE",
    "HAVE_LONG_LONG",
    "HAVE_LONG_LONG_INT",
    "HAVE_MPI_WIN_CREATE",
    "HAVE_MPI_INIT_THREAD",
    "HAVE_USLEEP",
    "HAVE_GETRUSAGE",
    "HAVE_FLOAT__COMPLEX",
    "HAVE_DOUBLE__COMPLEX",
    "HAVE_LONG_DOUBLE__COMPLEX",
    "HAVE__BOOL",
    "HAVE_INT8_T",
    "HAVE_INT16_T",
    "HAVE_INT32_T",
    "HAVE_INT64_T",
    "HAVE_UINT8_T",
    "HAVE_UINT16_T",
    "HAVE_UINT32_T",
    "HAVE_UINT64_T",
    "USE_LONG_DOUBLE_COMPLEX",
    "THREAD_PACKAGE_NONE",
    "THREAD_PACKAGE_NAME 2",
    "THREAD_PACKAGE_POSIX 2",
    "THREAD_PACKAGE_INVALID 0",
];

/// A line of a list: a program, with so many ranks.
#[derive(Debug, PartialEq)]
struct Line<'a> {
    program: &'a str,
    ranks: usize,
    arguments: Vec<&'a str>,
    variables: Vec<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    /// `None`: it is a comment, or only for those who ask for it.
    fn of(line: &'a str) -> Option<Line<'a>> {
        let mut words = line.split_whitespace();
        let program = words.next().filter(|word| !word.starts_with(['#', '@']))?;
        let mut line = Line { program, ranks: words.next()?.parse().ok()?, arguments: vec![], variables: vec![] };
        for word in words {
            match word.split_once('=') {
                Some(("arg", argument)) => line.arguments.push(argument),
                Some(("env", variable)) => line.variables.extend(variable.split_once('=')),
                _ => {}
            }
        }
        Some(line)
    }
}

/// What a makefile says of each program: `name_KEY = words`.
fn of_makefile<'a>(makefile: &'a str, key: &str) -> HashMap<&'a str, Vec<&'a str>> {
    let lines = makefile.lines().filter_map(|line| line.split_once('='));
    let named = lines.filter_map(|(name, words)| Some((name.trim().strip_suffix(key)?, words)));
    named.map(|(name, words)| (name, words.split_whitespace().collect())).collect()
}

/// MPICH's suite, unpacked, with what its programs have in common compiled.
struct Suite<'a> {
    cache: &'a Cache,
    folder: PathBuf,
    programs: PathBuf,
}

impl<'a> Suite<'a> {
    fn new(cache: &'a Cache) -> Result<Suite<'a>> {
        let folder = cache.debian_source("mpich", "mpich")?.join("test/mpi");
        let suite = Suite { cache, programs: cache.scratch("mpich-suite")?, folder };
        let mut text = "#pragma once\n".to_owned();
        for name in CONFIGURATION {
            text += &format!("#define {name}{}\n", if name.contains(' ') { "" } else { " 1" });
        }
        fs::write(suite.folder.join("include/mpitestconf.h"), &text)?;
        fs::write(suite.folder.join("dtpools/dtpoolsconf.h"), &text)?;
        Ok(suite)
    }

    /// Compiles sources.
    fn compile(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<()> {
        let mut compiler = Command::new(self.cache.wrapper("mpicc"));
        compiler.args(["-abi=mpich", "-w", "-O1", "-g", "-include", "mpitestconf.h"]);
        for folder in ["include", "dtpools/include", "util", "rma"] {
            compiler.arg("-I").arg(self.folder.join(folder));
        }
        output(compiler.args(arguments)).map(drop)
    }

    /// What all programs are linked with.
    fn common(&self) -> Result<Vec<PathBuf>> {
        let utilities = ["mtest.c", "mtest_common.c", "dtypes.c", "mtest_thread.c"];
        let mut sources: Vec<PathBuf> = utilities.iter().map(|name| self.folder.join("util").join(name)).collect();
        for entry in fs::read_dir(self.folder.join("dtpools/src"))? {
            sources.extend(Some(entry?.path()).filter(|path| path.extension().is_some_and(|end| end == "c")));
        }
        sources.sort();
        let object = |source: &PathBuf| -> Result<PathBuf> {
            let name = source.file_stem().context("a source has a name")?;
            let object = self.programs.join(name).with_extension("o");
            self.compile([OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), object.as_os_str()])?;
            Ok(object)
        };
        sources.iter().map(object).collect()
    }

    /// Runs a program where it lies: some spawn themselves by their names.
    fn run(&self, program: &Path, line: &Line<'_>) -> Result<()> {
        let folder = program.parent().context("a program lies in a folder")?;
        let mut command = self.cache.mpiexec(line.ranks);
        command.args(["--usize", UNIVERSE]);
        command.arg(program).args(&line.arguments).envs(line.variables.iter().copied()).current_dir(folder);
        output_with(&mut command, "No Errors").map(drop)
    }
}

/// Runs all programs of a chapter.
pub fn mpich_suite(cache: &Cache, chapter: &str) -> Result<()> {
    let suite = Suite::new(cache)?;
    let common = suite.common()?;
    let folder = suite.folder.join(chapter);
    let makefile = fs::read_to_string(folder.join("Makefile.am"))?;
    let (sources, flags) = (of_makefile(&makefile, "_SOURCES"), of_makefile(&makefile, "_CPPFLAGS"));
    let list = ["testlist.in", "testlist"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
    let list = list.with_context(|| format!("{} has no list", folder.display()))?;
    let programs = suite.programs.join(chapter);
    fs::create_dir_all(&programs)?;
    let (mut failures, mut passed) = (Vec::new(), 0);
    for line in list.lines().filter_map(Line::of) {
        if LEFT_OUT.iter().any(|(name, _)| *name == line.program) {
            continue;
        }
        let program = programs.join(line.program);
        let own = format!("{}.c", line.program);
        let names = sources.get(line.program).cloned().unwrap_or_else(|| vec![own.as_str()]);
        let sources = names.iter().filter(|name| name.ends_with(".c")).map(|name| folder.join(name).into_os_string());
        let flags = flags.get(line.program).into_iter().flatten().filter(|flag| flag.starts_with("-D"));
        let arguments = flags.map(|flag| flag.into()).chain(sources).chain(common.iter().map(|object| object.into()));
        let arguments = arguments.chain(["-o".into(), program.clone().into_os_string()]);
        let outcome =
            suite.compile(arguments.chain(iter::once("-lm".into()))).and_then(|()| suite.run(&program, &line));
        match outcome {
            Ok(()) => passed += 1,
            Err(error) => failures.push(format!("{} with {} ranks: {error:#}", line.program, line.ranks)),
        }
    }
    println!("{passed} of MPICH's programs pass in {chapter}");
    ensure!(passed > 0, "no program of {chapter} has run");
    if !failures.is_empty() {
        bail!("{} of MPICH's programs fail in {chapter}:\n{}", failures.len(), failures.join("\n"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_list_are_understood() {
        let line = Line::of("large 2 arg=-n arg=5 env=DEBUG=all timeLimit=300").expect("it is a program");
        assert_eq!((line.program, line.ranks, line.arguments), ("large", 2, vec!["-n", "5"]));
        assert_eq!(line.variables, [("DEBUG", "all")]);
        for other in ["", "# large 2", "@largetest@large 4", "large"] {
            assert_eq!(Line::of(other), None, "{other}");
        }
    }

    #[test]
    fn makefiles_say_what_programs_are_made_of() {
        let makefile = "noinst_PROGRAMS = a b\na_SOURCES = b.c\na_CPPFLAGS  = -DUSE_WIN $(AM_CPPFLAGS)\n";
        assert_eq!(of_makefile(makefile, "_SOURCES")["a"], ["b.c"]);
        assert_eq!(of_makefile(makefile, "_CPPFLAGS")["a"], ["-DUSE_WIN", "$(AM_CPPFLAGS)"]);
    }
}
