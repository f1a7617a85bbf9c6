//! What a process inherits from its launcher: the job's file, its number, and the lifeline.
//!
//! The lifeline is the reading end of a pipe whose writing end only the launcher holds. The kernel closes that end when
//! the launcher dies, however it dies, and then kills this process without any thread of it having to watch.
#![allow(unsafe_code)]

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use rustix::fs::OFlags;

use crate::descriptor::{self, HandedDown, JOB_FD, raised};
use crate::faults;
use crate::job::Job;
use crate::job_error::JobError;
use crate::layout::MOST_LANES;
use crate::mappings;
use crate::node::NodeFabric;

/// The number of this process in the job.
pub const RANK: &str = "RWMPI_RANK";
/// How many processes the job has.
pub const SIZE: &str = "RWMPI_SIZE";
/// The place of this process among those of its node, from 0.
pub const PLACE: &str = "RWMPI_LOCAL_RANK";
/// How many members of the job this process is, a thread each: those with consecutive numbers from [`RANK`] on; absent:
/// one.
pub const THREADS: &str = "RWMPI_THREADS";
/// How many lanes the job is to have; absent: one. For whoever makes the job's file: others find the number there.
pub const LANES: &str = "RWMPI_LANES";
/// The lifeline, as [`crate::handed_down`] says it; may be absent.
pub const LIFELINE_FD: &str = "RWMPI_LIFELINE_FD";
/// The connection to our launcher, likewise; may be absent. It is that of [`crate::pmi::PMI_FD`], of which only the
/// number can be said there.
pub const CONNECTION_FD: &str = "RWMPI_PMI_FD";
/// The file of notes ([`crate::Records`]), likewise; absent: nobody wants any.
pub const RECORDS_FD: &str = "RWMPI_RECORDS_FD";

/// The pipe to which this process reports where a fault of its own has killed it, likewise; may be absent.
pub const FAULTS_FD: &str = "RWMPI_FAULTS_FD";

/// Who has had this process's job started, as [`crate::Parents`] says it; absent: nobody of another job.
pub const PARENTS: &str = "RWMPI_PARENTS";
/// Which of the programs of its job this process runs, from 0; absent: not known.
pub const PROGRAM_NUMBER: &str = "RWMPI_APPNUM";
/// How many processes the launcher takes to have room, those of the job included; absent: not known.
pub const UNIVERSE_SIZE: &str = "RWMPI_UNIVERSE_SIZE";
/// The node of each process, by number, separated by commas; absent: all are on one.
pub const NODES: &str = "RWMPI_NODES";
/// What the user's own agent calls this host, which may be another name for a machine that has several; empty: the
/// machine is what it is. Absent: no agent has reached it.
pub const HOST: &str = "RWMPI_HOST";
/// `tcp`: no shared memory, not even within a node; `auto` or absent: whatever is best for each pair.
pub const TRANSPORT: &str = "RWMPI_TRANSPORT";
/// The address at which this process is to listen for those of other nodes; may be absent.
pub const LISTEN: &str = "RWMPI_LISTEN";

/// `fcntl`: which signal tells of input (`F_SETSIG` in `<fcntl.h>`).
const SET_SIGNAL: libc::c_int = 10;

impl NodeFabric {
    /// Attaches to the job that the launcher describes in the environment; `None` if this process was not started by
    /// one, or by a process of the job. Returns when all peers have attached.
    ///
    /// Takes over the descriptors named there, so it works once in a process.
    ///
    /// # Errors
    /// Says what is wrong with the environment or the job.
    pub fn from_environment() -> Result<Option<NodeFabric>, JobError> {
        if !is_set(JOB_FD) {
            return Ok(None);
        }
        let (job, rank) = (whole_job()?, required(RANK)?);
        if job.is_of_descendants(rank)? {
            return Ok(None);
        }
        if let Some(threads) = several_threads()? {
            return Err(JobError::NotForThreads(threads));
        }
        tie_to_launcher()?;
        NodeFabric::attach(&job, rank).map(Some)
    }
}

/// The job whose file our launcher has handed down.
pub(crate) fn inherited_job() -> Result<Job, JobError> {
    check_first()?;
    let what = "is missing".to_owned();
    let file = take(JOB_FD, OFlags::RDWR)?.ok_or(JobError::Environment { name: JOB_FD, what })?;
    Job::open_for_life(file)
}

/// This process is one of the job: ties its life to the launcher's, and keeps what only a process of the job shall have
/// from its children.
pub(crate) fn tie_to_launcher() -> Result<(), JobError> {
    mappings::mark_as_joined();
    if let Some(lifeline) = take(LIFELINE_FD, OFlags::RDONLY)? {
        arm_lifeline(&lifeline)
            .map_err(|error| JobError::Environment { name: LIFELINE_FD, what: error.to_string() })?;
    }
    report_faults();
    // Whoever needs it takes it again, and hears then what is wrong with it.
    let _ = take(CONNECTION_FD, OFlags::RDWR);
    Ok(())
}

/// Has faults reported to the launcher, if that has asked for it. Only a report would be missing: nothing fails for it.
fn report_faults() {
    if let (Ok(Some(pipe)), Ok(Some(place))) = (take(FAULTS_FD, OFlags::WRONLY), number_of(PLACE)) {
        let _ = faults::report_to(pipe, place);
    }
}

/// As [`inherited_job`], which has to be all of the job.
pub(crate) fn whole_job() -> Result<Job, JobError> {
    let (size, job) = (required(SIZE)?, inherited_job()?);
    if job.peers() != size {
        let what = format!("says {size} processes, but the job has {}", job.peers());
        return Err(JobError::Environment { name: SIZE, what });
    }
    Ok(job)
}

/// What a launcher says is taken from the environment once in a process, whichever library does it.
pub(crate) fn check_first() -> Result<(), JobError> {
    if mappings::has_joined() { Err(JobError::Joined) } else { Ok(()) }
}

/// How many members of the job this process is to be, if it is several.
pub(crate) fn several_threads() -> Result<Option<usize>, JobError> {
    Ok(number_of(THREADS)?.filter(|&threads| threads != 1))
}

/// How many lanes a job is to have that this process makes.
pub(crate) fn lanes() -> Result<usize, JobError> {
    let lanes = number_of(LANES)?.unwrap_or(1);
    if (1..=MOST_LANES).contains(&lanes) {
        return Ok(lanes);
    }
    Err(JobError::Environment { name: LANES, what: format!("a job can have 1 to {MOST_LANES} lanes, not {lanes}") })
}

/// A variable's text, if it is set.
pub(crate) fn text_of(name: &'static str) -> Result<Option<String>, JobError> {
    let Some(text) = env::var_os(name) else { return Ok(None) };
    let text = text.into_string().map_err(|text| (name, format!("{text:?} is not text")));
    text.map(Some).map_err(|(name, what)| JobError::Environment { name, what })
}

pub(crate) fn number_of(name: &'static str) -> Result<Option<usize>, JobError> {
    let Some(text) = text_of(name)? else { return Ok(None) };
    let what = || format!("{text:?} is not a number");
    text.parse().map(Some).map_err(|_| JobError::Environment { name, what: what() })
}

/// The number of this process's node, if it is said.
pub(crate) fn own_node() -> Result<Option<String>, JobError> {
    let (nodes, me) = (text_of(NODES)?, number_of(RANK)?);
    Ok(nodes.zip(me).and_then(|(nodes, me)| nodes.split(',').nth(me).map(str::to_owned)))
}

pub(crate) fn required(name: &'static str) -> Result<usize, JobError> {
    number_of(name)?.ok_or_else(|| JobError::Environment { name, what: "is missing".to_owned() })
}

pub(crate) fn is_set(name: &'static str) -> bool {
    env::var_os(name).is_some()
}

/// Takes over what our launcher has handed down under that name, if it has.
pub(crate) fn take(name: &'static str, flags: OFlags) -> Result<Option<OwnedFd>, JobError> {
    let Some(text) = text_of(name)? else { return Ok(None) };
    let wrong = |what: String| JobError::Environment { name, what };
    let Some(handed_down) = HandedDown::parse(&text) else {
        return Err(wrong(format!("{text:?} is not from the mpiexec of this version")));
    };
    let closed = |error| {
        format!(
            "{text}: the descriptor is not what mpiexec has handed down, and can't be had from it ({error}). What starts the processes of a job \
             must leave it open; what is to be none is started without the variable (`env -u {name}`)"
        )
    };
    handed_down.take(flags).map(Some).map_err(|error| wrong(closed(error)))
}

/// Takes over the connection of which another launcher has said the number.
pub(crate) fn take_connection(name: &'static str, number: usize) -> Result<OwnedFd, JobError> {
    descriptor::take_connection(number).map_err(|what| JobError::Environment { name, what })
}

/// A number for the program that this process runs: `exec` changes it, `fork` does not.
pub(crate) fn program_number() -> u64 {
    // SAFETY: the call has no conditions.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u8; 8];
    if bytes.is_null() {
        return 1;
    }
    // SAFETY: the kernel puts 16 random bytes there, which stay.
    u64::from_ne_bytes(unsafe { bytes.read_unaligned() }) | 1
}

/// Has the kernel kill this process when the writing end of the pipe `lifeline` is closed.
fn arm_lifeline(lifeline: &OwnedFd) -> io::Result<()> {
    // Whom the kernel notifies belongs to the open file, which all processes of the job have inherited: each needs one
    // of its own.
    let own = raised(File::open(format!("/proc/self/fd/{}", lifeline.as_raw_fd()))?.into());
    let fd = own.as_raw_fd();
    let control = |command, argument: libc::c_int| -> io::Result<()> {
        // SAFETY: these commands take a number and touch no memory.
        match unsafe { libc::fcntl(fd, command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    control(libc::F_SETOWN, std::process::id() as libc::c_int)?;
    control(SET_SIGNAL, libc::SIGKILL)?;
    control(libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK)?;
    // It may have been closed before; then nothing will notify us, but the pipe says so now.
    let mut byte = [0_u8];
    match rustix::io::read(&own, &mut byte) {
        Err(rustix::io::Errno::AGAIN) => {}
        _ => return Err(io::Error::other("the launcher is gone")),
    }
    // Open as long as the process lives.
    std::mem::forget(own);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// A child arms its lifeline; then the last writer goes, and the kernel must have killed it.
    #[test]
    fn lifeline_kills() {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        // SAFETY: the child does only what is allowed after `fork` in a process with threads: system calls, and
        // allocation, which the C library keeps usable.
        let child = match unsafe { libc::fork() } {
            0 => {
                drop(writer);
                let armed = arm_lifeline(&reader).is_ok();
                if armed {
                    std::thread::sleep(std::time::Duration::from_secs(20));
                }
                // SAFETY: ends the process.
                unsafe { libc::_exit(if armed { 3 } else { 4 }) }
            }
            child => child,
        };
        drop(reader);
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(writer);
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(std::process::ExitStatus::from_raw(status).signal(), Some(libc::SIGKILL));
    }
}
