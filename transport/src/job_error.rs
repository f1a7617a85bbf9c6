//! Why a process can't set up or join a job, in the words of whoever starts it.

use std::io;

use crate::layout::{MAX_PEERS, MOST_LANES};
use crate::pmi::PmiError;
use crate::pmix::PmixError;
use crate::tcp::TcpError;

/// Why a job could not be set up or joined.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// An impossible number of peers.
    #[error("a job on one node can have 1 to {MAX_PEERS} processes, not {0}")]
    Peers(usize),
    /// An impossible number of lanes, or of peers for so many.
    #[error(
        "a job on one node can have 1 to {MOST_LANES} lanes, and at most {MAX_PEERS} processes times lanes: not {peers} processes with {lanes}"
    )]
    Lanes {
        /// How many lanes.
        lanes: usize,
        /// How many peers.
        peers: usize,
    },
    /// No file to share.
    #[error("cannot create the file that the processes of the job share ({what}): {source}")]
    Create {
        /// Which step failed.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// Something else was found where the job's file should be.
    #[error(
        "the inherited descriptor is not the file of a job of this version of rwmpi: {0}; start all processes with the mpiexec that belongs to the library"
    )]
    NotAJob(&'static str),
    /// The file could not be mapped.
    #[error(
        "cannot map the shared file of the job, {bytes} bytes (is the address space limited, `ulimit -v`?): {source}"
    )]
    Map {
        /// How long it is.
        bytes: usize,
        /// What the system says.
        source: io::Error,
    },
    /// Files may not be as long.
    #[error(
        "the file that the processes of the job share has at least {bytes} bytes, but no file may have more than {limit} here: raise the limit (`ulimit -f`), \
         which costs no disk, as the file lies in memory and is mostly empty"
    )]
    FileLimit {
        /// How long it is.
        bytes: usize,
        /// How long files may be.
        limit: u64,
    },
    /// The number of this process does not fit.
    #[error("process number {me} in a job of {peers}")]
    NoSuchPeer {
        /// The number.
        me: usize,
        /// How many there are.
        peers: usize,
    },
    /// Two processes with one number.
    #[error(
        "process {0} of the job has joined it already: it is another process, to which the same place was given. Start one program of the job \
         for each place, and others without the variables of mpiexec (`env -u RWMPI_JOB_FD`)"
    )]
    Twice(usize),
    /// Two that take what belongs to one process.
    #[error(
        "this process has joined its job already, and can do so once: whatever library did it first is the one to use, as long as the process \
         lives"
    )]
    Joined,
    /// One member where there are to be several.
    #[error(
        "mpiexec --threads: this process is to be {0} members of the job, a thread each; only a program in Rust that begins with rwmpi::run \
         can be that, and this one does not"
    )]
    NotForThreads(usize),
    /// The environment is not as the launcher makes it.
    #[error("environment variable {name}: {what}")]
    Environment {
        /// Its name.
        name: &'static str,
        /// What is wrong.
        what: String,
    },
    /// The launcher did not help the processes to find each other.
    #[error(transparent)]
    Pmi(#[from] PmiError),
    /// Nor did one that speaks PMIx.
    #[error(transparent)]
    Pmix(#[from] PmixError),
    /// No way to other nodes.
    #[error(transparent)]
    Network(#[from] TcpError),
    /// No secret.
    #[error("the system gives no random bytes for the job's secret: {0}")]
    Secret(io::Error),
    /// A process has not told the others what they need.
    #[error(
        "process {peer} has not said how to reach it: are all processes of the job programs of this version of rwmpi?"
    )]
    Silent {
        /// Which.
        peer: usize,
    },
    /// The job ended before it began.
    #[error("the job was aborted while its processes were starting")]
    Aborted,
    /// Processes of another job will not come.
    #[error("the other job has ended before all of its ranks had come")]
    OthersGone,
}
