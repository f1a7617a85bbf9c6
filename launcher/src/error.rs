//! Why a job did not start, and the exit codes of the launcher's own.

use rwmpi_transport::JobError;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Exit codes that the launcher gives of its own accord; all others come from a rank.
pub mod exit_code {
    /// A rank left without finalizing, or before joining the others.
    pub const LEFT_EARLY: u8 = 1;
    /// The arguments make no sense.
    pub const USAGE: u8 = 2;
    /// What the ranks wrote could not be written.
    pub const OUTPUT_LOST: u8 = 122;
    /// A host of the job was lost.
    pub const HOST_LOST: u8 = 123;
    /// The job ran longer than allowed.
    pub const TIMEOUT: u8 = 124;
    /// The job could not be started: a directory, shared memory or a system resource was missing.
    pub const NOT_STARTED: u8 = 125;
    /// The program is there but cannot be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// There is no such program.
    pub const NOT_FOUND: u8 = 127;
    /// Added to the number of the signal that ended the first rank to die, or the launcher.
    pub const SIGNAL_BASE: u8 = 128;
}

/// Most ranks of a job, on all of its hosts.
pub(crate) const MOST_RANKS: usize = 1 << 20;

/// Why a job did not start. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A section asks for no ranks at all.
    #[error("a job needs at least one rank, but {} is to be started as 0 ranks: give -n a larger number", .0.display())]
    NoRanks(OsString),
    /// More ranks than a job can have.
    #[error("a job can have at most {MOST_RANKS} ranks: give -n a smaller number")]
    TooManyRanks,
    /// Ranks that are threads of a process, where that cannot be.
    #[error("--threads: ranks that are threads of a process need memory in common with all others: {0}")]
    Threads(&'static str),
    /// A job that goes on when a rank dies, where that cannot be.
    #[error(
        "--keep-going: a job that goes on when ranks die has all its ranks on one host, in processes of their own: {0}"
    )]
    KeepGoing(&'static str),
    /// A number of lanes that the job cannot have.
    #[error("{by}: {what}")]
    Lanes {
        /// The option or variable that asks for it.
        by: &'static str,
        /// Why not.
        what: String,
    },
    /// The file of values by which ranks choose their ways can't be read, or has mistakes.
    #[error("{0}")]
    Tuning(String),
    /// There is no such program.
    #[error("cannot find the program {}: {hint}", .program.display())]
    NotFound {
        /// As the user named it.
        program: OsString,
        /// Where was looked, and what to do.
        hint: String,
    },
    /// The program is there but cannot be executed.
    #[error("cannot execute {}: {reason}", .program.display())]
    NotExecutable {
        /// As the user named it.
        program: OsString,
        /// Why not, and what to do.
        reason: String,
    },
    /// The working directory cannot be used.
    #[error("cannot use {} as working directory: {source}", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that ranks' output is to go to can't be made.
    #[error("cannot write {}: {source}", .path.display())]
    OutputFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No memory for the ranks to share.
    #[error("{source}{hint}")]
    SharedMemory {
        /// What went wrong.
        source: JobError,
        /// What to do, or nothing.
        hint: String,
    },
    /// A rank could not be started though its program is fine.
    #[error("cannot start rank {rank} ({}): {source}{hint}", .program.display())]
    Start {
        /// Which rank.
        rank: usize,
        /// Its program.
        program: OsString,
        /// What the system said.
        source: io::Error,
        /// What to do, or nothing.
        hint: &'static str,
    },
    /// The agent that reaches a host could not be run.
    #[error("cannot reach host {host}: {}: {source}{hint}", .agent.display())]
    Agent {
        /// The host.
        host: String,
        /// The program.
        agent: OsString,
        /// What the system said.
        source: io::Error,
        /// What to do, or nothing.
        hint: &'static str,
    },
    /// The host has no such network interface.
    #[error("there is no network interface with the name or address {0} (--interface)")]
    Interface(String),
    /// The system refused something else.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl LaunchError {
    /// The exit code that belongs to the error.
    pub fn exit_code(&self) -> u8 {
        match self {
            LaunchError::NoRanks(_)
            | LaunchError::TooManyRanks
            | LaunchError::Threads(_)
            | LaunchError::KeepGoing(_)
            | LaunchError::Lanes { .. }
            | LaunchError::Tuning(_) => exit_code::USAGE,
            LaunchError::NotFound { .. } => exit_code::NOT_FOUND,
            LaunchError::NotExecutable { .. } => exit_code::NOT_EXECUTABLE,
            LaunchError::Directory { .. }
            | LaunchError::OutputFile { .. }
            | LaunchError::SharedMemory { .. }
            | LaunchError::Start { .. }
            | LaunchError::Agent { .. }
            | LaunchError::Interface(_)
            | LaunchError::System { .. } => exit_code::NOT_STARTED,
        }
    }

    /// What to do about a process that could not be started.
    pub(crate) fn hint(source: &io::Error) -> &'static str {
        match source.raw_os_error() {
            Some(libc::EAGAIN) => "; the limit on processes (ulimit -u, or the container's) is reached",
            Some(libc::EMFILE) => "; the limit on open files (ulimit -Hn) is reached",
            _ => "",
        }
    }

    /// For `map_err`: the system refused `doing`.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> LaunchError {
        move |error| LaunchError::System { doing, source: error.into() }
    }
}
