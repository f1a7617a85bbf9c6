//! Programs to be spawned, as Rust programs and front ends put them together.

use std::path::Path;

use rwmpi_transport::spawning;

use crate::spawn_hints;
use crate::{Communicator, Info, Result, Universe};

/// A program that is started as further ranks while the job runs (MPI_Comm_spawn, MPI-5.0 section 11.8).
///
/// The new ranks are a job of their own, with a world of their own; the ranks that have started them see them as the
/// other side of an intercommunicator, and are seen by [`Universe::parents`]. They are watched over by the same
/// `mpiexec`, which spawning needs: neither ranks that are threads nor ranks without a launcher can spawn.
///
/// ```no_run
/// # fn main() -> rwmpi_core::Result<()> {
/// # use rwmpi_core as rwmpi;
/// use rwmpi::Command;
/// let universe = rwmpi::init()?;
/// let world = universe.world();
/// let worker = Command::new("./worker").arguments(["--quiet"]).ranks(4).directory("/tmp").environment("LEVEL", "3");
/// let workers = worker.hint("soft", "1:4").spawn(&universe, world, 0)?;
/// if world.rank() == 0 {
///     workers.send(&[42_u64], 3, 0)?;
/// }
/// workers.disconnect()?;
/// universe.finalize()
/// # }
/// ```
#[doc(alias = "MPI_Comm_spawn")]
#[derive(Clone, Debug)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    ranks: usize,
    info: Info,
    environment: Vec<(String, String)>,
}

impl Command {
    /// A program as one rank. A name without a slash is looked up in `PATH`.
    pub fn new(program: impl Into<String>) -> Self {
        let (arguments, environment) = (Vec::new(), Vec::new());
        Command { program: program.into(), arguments, ranks: 1, info: Info::new(), environment }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// As how many ranks it is started.
    #[must_use]
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// The working directory of these ranks; without it, that of the rank that has them started.
    #[must_use]
    pub fn directory(self, directory: impl AsRef<Path>) -> Self {
        let directory = directory.as_ref().to_string_lossy().into_owned();
        self.hint("wdir", &directory)
    }

    /// Sets an environment variable for these ranks.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets a hint, as the book lists them: `path`, `soft`, `file`, `host`. What can't be one is left out.
    #[must_use]
    pub fn hint(mut self, key: &str, value: &str) -> Self {
        // A hint is not more than that.
        let _ = self.info.set(key, value);
        self
    }

    /// Takes these hints, and no others.
    #[doc(hidden)]
    #[must_use]
    pub fn hints(self, info: Info) -> Self {
        Command { info, ..self }
    }

    /// As how many ranks it is started, if all will do.
    pub(crate) fn asked(&self) -> usize {
        self.ranks
    }

    /// Starts it, and gives the intercommunicator of the callers and the new ranks. Collective over `over`; what is
    /// started is `root`'s to say.
    ///
    /// # Errors
    /// On all ranks alike: there is no such root; the program can't be started.
    pub fn spawn(self, universe: &Universe, over: &Communicator, root: usize) -> Result<Communicator> {
        universe.spawn(over, root, Ok(vec![self]), &mut Vec::new())
    }

    /// As the launcher is told. Without a hint the working directory is that of the root.
    pub(crate) fn told(self) -> Result<spawning::Command> {
        let info = spawn_hints::with_file(&self.info)?;
        let processes = spawn_hints::ranks(&info, self.ranks)?;
        let is_told = |key: &str| !spawn_hints::OWN.contains(&key);
        let told = info.iter().filter(|(key, _)| is_told(key));
        let mut hints: Vec<(String, String)> = told.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if let (None, Ok(here)) = (info.get("wdir")?, std::env::current_dir()) {
            hints.push(("wdir".to_owned(), here.to_string_lossy().into_owned()));
        }
        let set = self.environment.into_iter().map(|(name, value)| ("env".to_owned(), format!("{name}={value}")));
        hints.extend(set);
        Ok(spawning::Command { program: self.program, arguments: self.arguments, processes, hints })
    }
}
