//! The programs with which MPICH tests itself, chapter by chapter, from the source that Debian has of it: compiled by
//! our `mpicc`, run as its lists say, each of which must report no errors.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::cache::{Cache, output};
use super::mpich_fortran::{Fortran, fill_templates};

/// The folders of MPICH's suite. Three are left out, whose one program is no judge: `errors/f08/io` has types that no
/// `mpi_f08` has, `f08/init` knows no version of MPI beyond 4, and `errors/attr` expects errors of a window at the
/// handler of the world communicator.
pub const CHAPTERS: [&str; 34] = [
    "rma",
    "errors/rma",
    "threads/rma",
    "io",
    "errors/io",
    "f77/io",
    "f08/io",
    "errors/f77/io",
    "spawn",
    "errors/spawn",
    "part",
    "mpi_t",
    "init",
    "ft",
    "f08/attr",
    "f08/coll",
    "f08/comm",
    "f08/datatype",
    "f08/ext",
    "f08/info",
    "f08/misc",
    "f08/profile",
    "f08/pt2pt",
    "f08/rma",
    "f08/spawn",
    "f08/subarray",
    "f08/timer",
    "f08/topo",
    "errors/coll",
    "errors/comm",
    "errors/datatype",
    "errors/group",
    "errors/pt2pt",
    "errors/topo",
];

/// Programs that are no judges of this library, and why.
const LEFT_OUT: [(&str, &str); 28] = [
    ("gather", "has a rank die, and another gather more than its buffer has room for"),
    ("revoke_shrink", FAILED),
    ("agree", FAILED),
    ("bcast", FAILED),
    ("timeout", "hangs on purpose, to see whether it is ended"),
    ("qmpi_test", "QMPI is MPICH's own interface for tools"),
    ("multipart", "looks at MPI_ERROR of statuses of MPI_Waitall, which sets it only with MPI_ERR_IN_STATUS"),
    ("connect_timeout_no_accept", "sets by variables of MPICH's how long a port is waited for"),
    ("nonblocking_pready", "sends elements of MPI_DATATYPE_NULL, if none"),
    ("noalias", REPEATED),
    ("nb_noalias", REPEATED),
    ("noalias2", REPEATED),
    ("noalias3", REPEATED),
    ("reduceop", UNDETECTED),
    ("ireduceop", UNDETECTED),
    ("scatterlength", UNDETECTED),
    ("iscatterlength", UNDETECTED),
    ("allgatherlength", UNDETECTED),
    ("iallgatherlength", UNDETECTED),
    ("too_many_comms", UNLIMITED),
    ("too_many_comms2", UNLIMITED),
    ("too_many_comms3", UNLIMITED),
    ("too_many_icomms", UNLIMITED),
    ("too_many_icomms2", UNLIMITED),
    ("comm_create_nullarg", FATAL),
    ("comm_create_group_nullarg", FATAL),
    ("comm_split_nullarg", FATAL),
    ("comm_split_type_nullarg", FATAL),
];

const FAILED: &str = "looks at the result of a reduction that has failed";
const REPEATED: &str = "has a rank alone make a call that must fail, or repeat it; here a failed call has taken part";
const UNDETECTED: &str =
    "wants operations or lengths to be compared, which MPICH does not do either (its list says so)";
const UNLIMITED: &str = "wants communicators to run out, which they do not";
const FATAL: &str = "errs with a communicator that is a copy from before errors were to be returned";

/// Room for so many ranks: children that have none left skip what they should do.
const UNIVERSE: &str = "64";

/// What MPICH's configure script would find out.
const CONFIGURATION: [&str; 34] = [
    "F77_NAME_LOWER_USCORE",
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
    options: Vec<&'a str>,
    ending: Ending,
}

/// What has to come of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// It ends well and reports no errors.
    Well,
    /// It ends with an error.
    Error,
    /// A rank dies, and the others report no errors.
    WellButOne,
}

impl Ending {
    fn of(word: &str) -> Ending {
        match word {
            "TestStatus" | "TestErrFatal" => Ending::Error,
            "TestStatusNoErrors" => Ending::WellButOne,
            _ => Ending::Well,
        }
    }
}

impl<'a> Line<'a> {
    /// `None`: it is a comment, or only for those who ask for it.
    fn of(line: &'a str) -> Option<Line<'a>> {
        let mut words = line.split_whitespace();
        let program = words.next().filter(|word| !word.starts_with(['#', '@']))?;
        let ranks = words.next()?.parse().ok()?;
        let mut line =
            Line { program, ranks, arguments: vec![], variables: vec![], options: vec![], ending: Ending::Well };
        for word in words {
            match word.split_once('=') {
                Some(("arg", argument)) => line.arguments.push(argument),
                Some(("mpiexecarg", option)) => line.options.push(option),
                Some(("resultTest", word)) => line.ending = Ending::of(word),
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
        let folder = cache.debian_source("mpich", "mpich", None)?.join("test/mpi");
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
        command.args(["--usize", UNIVERSE]).args(&line.options);
        command.arg(program).args(&line.arguments).envs(line.variables.iter().copied()).current_dir(folder);
        if line.ending == Ending::Well {
            let text = output(&mut command)?;
            ensure!(reports_none(&text), "it does not report that there are no errors:\n{text}");
            return Ok(());
        }
        let result = output(&mut command);
        match (line.ending, &result) {
            (Ending::Error, Ok(_)) => bail!("it should end with an error"),
            (Ending::Error, Err(_)) => Ok(()),
            (_, Ok(text)) if reports_none(text) => Ok(()),
            (_, Err(error)) if reports_none(&format!("{error:#}")) => Ok(()),
            _ => result.and_then(|text| bail!("it does not report that there are no errors:\n{text}")),
        }
    }
}

/// Whether a program says that it has found no errors.
fn reports_none(text: &str) -> bool {
    text.lines().any(|line| line.trim().eq_ignore_ascii_case("no errors"))
}

/// A folder of the suite: its programs, and what they are made of.
struct Chapter<'a> {
    suite: &'a Suite<'a>,
    folder: PathBuf,
    programs: PathBuf,
    makefile: String,
    fortran: Option<Fortran>,
    /// What programs in C are linked with.
    common: Vec<PathBuf>,
}

impl<'a> Chapter<'a> {
    fn new(suite: &'a Suite<'a>, name: &str) -> Result<Chapter<'a>> {
        let (folder, programs) = (suite.folder.join(name), suite.programs.join(name));
        fs::create_dir_all(&programs)?;
        let fortran = Fortran::of(name);
        if fortran.is_some() {
            fill_templates(&suite.folder, &folder, &suite.programs)?;
        }
        let makefile = fs::read_to_string(folder.join("Makefile.am"))?;
        Ok(Chapter { suite, folder, programs, makefile, fortran, common: suite.common()? })
    }

    /// The sources of a program.
    fn sources(&self, program: &str) -> Vec<PathBuf> {
        let extension = self.fortran.as_ref().map_or("c", |fortran| fortran.extension);
        let own = format!("{program}.{extension}");
        let named = of_makefile(&self.makefile, "_SOURCES");
        let names = named.get(program).cloned().unwrap_or_else(|| vec![own.as_str()]);
        let sources = names.iter().filter(|name| name.ends_with(".c") || name.ends_with(extension));
        sources.map(|name| self.source(name)).collect()
    }

    /// Where a source lies: the makefiles of Fortran 2008 take what is in C from those of Fortran 90.
    fn source(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        let older = PathBuf::from(path.to_string_lossy().replace("/f08/", "/f90/"));
        if is_in_c(&path) && older.exists() { older } else { path }
    }

    fn compile(&self, name: &str) -> Result<PathBuf> {
        let (program, sources) = (self.programs.join(name), self.sources(name));
        let (in_c, others): (Vec<PathBuf>, Vec<PathBuf>) = sources.into_iter().partition(|source| is_in_c(source));
        let Some(fortran) = self.fortran.as_ref().filter(|_| !others.is_empty()) else {
            let flags = of_makefile(&self.makefile, "_CPPFLAGS");
            let flags = flags.get(name).into_iter().flatten().filter(|flag| flag.starts_with("-D")).map(OsStr::new);
            let files = in_c.iter().chain(&self.common).map(|path| path.as_os_str());
            let ends = [OsStr::new("-o"), program.as_os_str(), OsStr::new("-lm")];
            self.suite.compile(flags.chain(files).chain(ends))?;
            return Ok(program);
        };
        let mut files = others;
        for source in in_c {
            let object = program.with_extension("c.o");
            self.suite.compile([OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), object.as_os_str()])?;
            files.push(object);
        }
        fortran.compile(self.suite.cache, &self.suite.folder, &self.folder, &program, &files)?;
        Ok(program)
    }
}

fn is_in_c(source: &Path) -> bool {
    source.extension().is_some_and(|end| end == "c")
}

/// Runs all programs of a chapter.
pub fn mpich_suite(cache: &Cache, chapter: &str) -> Result<()> {
    let suite = Suite::new(cache)?;
    let chapter = Chapter::new(&suite, chapter)?;
    let list = ["testlist.in", "testlist"].iter().find_map(|name| fs::read_to_string(chapter.folder.join(name)).ok());
    let list = list.with_context(|| format!("{} has no list", chapter.folder.display()))?;
    let (mut failures, mut passed) = (Vec::new(), 0);
    for line in list.lines().filter_map(Line::of) {
        if LEFT_OUT.iter().any(|(name, _)| *name == line.program) {
            continue;
        }
        match chapter.compile(line.program).and_then(|program| suite.run(&program, &line)) {
            Ok(()) => passed += 1,
            Err(error) => failures.push(format!("{} with {} ranks: {error:#}", line.program, line.ranks)),
        }
    }
    println!("{passed} of MPICH's programs pass in {}", chapter.folder.display());
    if !failures.is_empty() {
        bail!("{} of MPICH's programs fail:\n{}", failures.len(), failures.join("\n"));
    }
    ensure!(passed > 0, "no program has run");
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
        let line = Line::of("die 4 mpiexecarg=-x resultTest=TestStatusNoErrors").expect("it is a program");
        assert_eq!((line.options, line.ending), (vec!["-x"], Ending::WellButOne));
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
