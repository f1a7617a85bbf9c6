//! Starts the processes of a job so that none can outlive it.
//!
//! Every rank has a process group of its own. Three things end it with the launcher, whatever happens to the launcher:
//! 1. the launcher kills the groups before it returns, or when it unwinds;
//! 2. the kernel kills the rank itself when the launcher's thread dies (`PR_SET_PDEATHSIG`);
//! 3. the kernel kills the rank's whole group, children of wrapper scripts included, when the last write end of the
//!    lifeline closes. The lifeline is a pipe that only the launcher can write to. Each rank inherits two descriptors
//!    of its read end: one of its own, the *guard*, armed here for the group (`O_ASYNC`, with SIGKILL as its signal),
//!    and the launcher's, named in `RWMPI_LIFELINE_FD`, for a rank that wants to arm itself in case it leaves the
//!    group. Arming is a property of the open file, not of the descriptor, which is why each guard is opened anew.
//!
//! A rank that has ended is left unreaped until the job is over: so its number, and that of its group, cannot be given
//! to a stranger while we may still send signals to it.
#![allow(unsafe_code)]

use crate::dispositions;
use crate::ending::EndNotice;
use crate::error::LaunchError;
use crate::group::Group;
use crate::job_spec::{JobSpec, Output};
use crate::local_variables;
use crate::plan::{Plan, PlannedSection};
use crate::profile::Notes;
use crate::redirect::Redirection;
use crate::shared_heap;
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use rustix::thread::CpuSet;
use rwmpi_transport::pmi::{PMI_FD, PMI_NUMBER, PMI_SIZE};
use rwmpi_transport::{
    CONNECTION_FD, FAULTS_FD, JOB_FD, Job, LIFELINE_FD, NODES, PARENTS, PLACE, PROGRAM_NUMBER, RANK, RECORDS_FD, SIZE,
    THREADS, UNIVERSE_SIZE, handed_down, raised,
};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Descriptors that a rank costs the launcher: three pipes, two files, what tells of its end, and a connection.
const DESCRIPTORS_PER_RANK: u64 = 7;
/// An agent's standard streams, and what tells of its end (and one more, lest the arithmetic be too exact).
const DESCRIPTORS_PER_AGENT: u64 = 5;
/// Descriptors that the launcher needs for itself, claimed cores included.
const DESCRIPTORS_SPARE: u64 = 512;

/// A process of the job, or one that reaches another host. Dropping it kills its group and reaps it.
pub(crate) struct JobProcess {
    child: Child,
    pid: Pid,
    /// Readable once the process has ended.
    pub(crate) end: EndNotice,
    group: Group,
}

/// The ends of a new rank's pipes that belong to the launcher.
pub(crate) struct RankPipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<OwnedFd>,
    /// `None`: it is the same as standard output.
    pub(crate) stderr: Option<OwnedFd>,
}

/// The ends of an agent's pipes that belong to the launcher.
pub(crate) struct AgentPipes {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// What the launcher gives those ranks to read that read standard input; the others read nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankInputKind {
    /// End of file at once.
    Nothing,
    /// The launcher's own standard input, which it then does not touch.
    Inherited,
    /// What the launcher passes on.
    Piped,
}

/// Starts the ranks of one job.
pub(crate) struct Spawner<'a> {
    plan: &'a Plan,
    job: &'a Job,
    notes: Option<&'a Notes>,
    output: Output,
    streams: &'a Redirection,
    input: RankInputKind,
    lifeline: Lifeline,
    /// To which ranks report their faults, if they are to.
    faults: Option<OwnedFd>,
    launcher: Pid,
    /// The limit on open files before it was raised: the ranks get it back.
    file_limit: Rlimit,
}

/// The write end must live as long as the job; closing it kills every rank.
pub(crate) struct Lifeline {
    _write: OwnedFd,
    read: OwnedFd,
}

impl<'a> Spawner<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        (job, notes): (&'a Job, Option<&'a Notes>),
        spec: &'a JobSpec,
        input: RankInputKind,
        faults: Option<BorrowedFd<'_>>,
    ) -> Result<Self, LaunchError> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(LaunchError::system("create the lifeline of the ranks"))?;
        let file_limit = raise_file_limit(plan.ranks.len() as u64 * DESCRIPTORS_PER_RANK);
        let lifeline = Lifeline { _write: write, read: raised(read) };
        let faults = faults.map(|pipe| pipe.try_clone_to_owned().map(raised)).transpose();
        let faults = faults.map_err(LaunchError::system("pass on the pipe for faults of the ranks"))?;
        let (output, streams, launcher) = (spec.output, &spec.streams, rustix::process::getpid());
        Ok(Spawner { plan, job, notes, output, streams, input, lifeline, faults, launcher, file_limit })
    }

    /// What must be kept for as long as the job runs.
    pub(crate) fn into_lifeline(self) -> Lifeline {
        self.lifeline
    }

    /// Starts that process of those of this host, which talks to the launcher over `pmi`; it runs its program when this
    /// returns.
    pub(crate) fn start(&self, process: usize, pmi: OwnedFd) -> Result<(JobProcess, RankPipes), LaunchError> {
        let places = self.plan.processes[process].clone();
        let place = places.start;
        let section = self.plan.section(place);
        let (rank, size) = (self.plan.ranks[place], self.plan.nodes.len());
        let failed = |source: io::Error| start_error(rank, section, source);
        // Where wrapper scripts do not use numbers: the ranks have these under the numbers that they have here.
        let (guard, pmi) = (raised(self.lifeline.guard()?), raised(pmi));
        let group = Group::new().map_err(failed)?;
        let lifeline = self.lifeline.read.as_fd();
        let said = |descriptor: BorrowedFd<'_>| handed_down(descriptor).map_err(failed);
        let mut command = Command::new(&section.program);
        if section.environment.clean {
            command.env_clear();
        }
        section.environment.removed.iter().for_each(|name| _ = command.env_remove(name));
        // Those of a rank that this launcher may be a child of are not the parents of these.
        command.env_remove(PARENTS);
        // Where it is a rank's child itself; a job may say that its ranks are on several nodes, though they are not.
        command.env_remove(NODES).env_remove(RECORDS_FD);
        let both = self.redirect_outputs(&mut command, rank).map_err(failed)?;
        command
            .arg0(&section.name)
            .args(&section.arguments)
            .envs(section.environment.set.iter().map(|(name, value)| (name, value)))
            .envs(shared_heap::variables(section))
            .env(RANK, rank.to_string())
            .env(SIZE, size.to_string())
            .env(PLACE, place.to_string())
            .env(PROGRAM_NUMBER, section.number.to_string())
            .env(UNIVERSE_SIZE, self.plan.universe_size.to_string())
            .env(JOB_FD, said(self.job.as_fd())?)
            .env(LIFELINE_FD, said(lifeline)?)
            .stdin(match self.input {
                RankInputKind::Inherited if self.streams.input.contain(rank) => Stdio::inherit(),
                RankInputKind::Piped if self.streams.input.contain(rank) => Stdio::piped(),
                _ => Stdio::null(),
            })
            .process_group(group.number());
        self.introduce(&mut command, &places, pmi.as_fd(), said(pmi.as_fd())?);
        command.env_remove(FAULTS_FD);
        if let Some(faults) = &self.faults {
            command.env(FAULTS_FD, said(faults.as_fd())?);
        }
        if self.plan.nodes.iter().any(|&node| node != self.plan.nodes[0]) {
            let nodes: Vec<String> = self.plan.nodes.iter().map(usize::to_string).collect();
            command.env(NODES, nodes.join(","));
        }
        if let Some(directory) = &section.directory {
            command.current_dir(directory);
        }
        if let Some(notes) = self.notes {
            command.env(RECORDS_FD, said(notes.as_fd())?);
        }
        let child_setup = self.child_setup(places, &group, guard.as_fd(), pmi.as_fd());
        // SAFETY: between fork and exec, `apply` only makes system calls on values it owns: no allocation, no lock.
        unsafe { command.pre_exec(move || child_setup.apply()) };
        let mut child = command.spawn().map_err(failed)?;
        let pipes = RankPipes {
            stdin: child.stdin.take(),
            stdout: both.or_else(|| child.stdout.take().map(OwnedFd::from)),
            stderr: child.stderr.take().map(OwnedFd::from),
        };
        JobProcess::adopt(child, group).map(|process| (process, pipes)).map_err(failed)
    }

    /// What the process of these places does before its program.
    fn child_setup(
        &self,
        places: std::ops::Range<usize>,
        group: &Group,
        guard: BorrowedFd<'_>,
        pmi: BorrowedFd<'_>,
    ) -> ChildSetup {
        let inherited = [self.job.as_fd(), self.lifeline.read.as_fd(), guard, pmi].into_iter();
        let inherited =
            inherited.chain(self.faults.as_ref().map(AsFd::as_fd)).chain(self.notes.map(|notes| notes.as_fd()));
        ChildSetup {
            launcher: self.launcher,
            group: group.number(),
            guard: guard.as_raw_fd(),
            inherited: inherited.map(|descriptor| descriptor.as_raw_fd()).collect(),
            cpus: self.plan.placement.cpus[places]
                .iter()
                .map(Option::as_deref)
                .collect::<Option<Vec<_>>>()
                .map(|all| cpu_set(&all.concat())),
            file_limit: self.file_limit,
        }
    }
}

impl Spawner<'_> {
    /// Tells a process who it is in the job, and over which connection it speaks with us. `connection`: how that is
    /// said to programs of ours.
    fn introduce(&self, command: &mut Command, places: &Range<usize>, pmi: BorrowedFd<'_>, connection: String) {
        // The launcher may be a rank's child itself: what that one was told is not for these.
        for name in [THREADS, CONNECTION_FD, PMI_NUMBER, PMI_SIZE, PMI_FD] {
            command.env_remove(name);
        }
        let threads = places.len();
        if threads > 1 {
            command.env(THREADS, threads.to_string());
        } else {
            command.env(CONNECTION_FD, connection);
            // Others' libraries know only processes.
            command.envs(local_variables::of(self.plan, places.start));
            command.env(PMI_FD, pmi.as_raw_fd().to_string());
        }
    }

    /// Has the process write to pipes; the reading end of the one, if both its outputs are one.
    fn redirect_outputs(&self, command: &mut Command, rank: usize) -> io::Result<Option<OwnedFd>> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.output == Output::Capture && rank != 0 {
            command.stdout(Stdio::null());
        } else if self.streams.merged {
            let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            command.stdout(write.try_clone()?).stderr(write);
            return Ok(Some(read));
        }
        Ok(None)
    }
}

impl Lifeline {
    /// An open file of its own for the read end.
    fn guard(&self) -> Result<OwnedFd, LaunchError> {
        let path = format!("/proc/self/fd/{}", self.read.as_raw_fd());
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(LaunchError::system("open the lifeline of a rank through /proc"))
    }
}

impl JobProcess {
    fn adopt(mut child: Child, group: Group) -> io::Result<JobProcess> {
        let pid = Pid::from_child(&child);
        match EndNotice::of(pid) {
            Ok(end) => Ok(JobProcess { child, pid, end, group }),
            Err(error) => {
                group.signal(pid, Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// How the process ended, if it has; leaves it unreaped.
    pub(crate) fn ended(&self) -> io::Result<Option<WaitIdStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(rustix::process::waitid(WaitId::Pid(self.pid), options)?)
    }

    /// Sends `signal` to the process and its descendants, as far as they stayed in its group, or in the one that it
    /// leads now.
    pub(crate) fn signal(&self, signal: Signal) {
        self.group.signal(self.pid, signal);
    }
}

impl Drop for JobProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.end.wait();
        let _ = self.child.wait();
    }
}

/// Makes room for so many agents at once; returns the limit on open files before, which they get back.
pub(crate) fn make_room_for_agents(agents: usize) -> Rlimit {
    raise_file_limit(agents as u64 * DESCRIPTORS_PER_AGENT)
}

/// Starts a process that has a group of its own and dies with this one; it is an agent, which reaches another host.
pub(crate) fn start_agent(mut command: Command, file_limit: Rlimit) -> io::Result<(JobProcess, AgentPipes)> {
    let launcher = rustix::process::getpid();
    let group = Group::new()?;
    let tie = move || {
        dispositions::prepare_program();
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        match rustix::process::getppid() == Some(launcher) {
            true => Ok(rustix::process::setrlimit(Resource::Nofile, file_limit)?),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(group.number());
    // SAFETY: between fork and exec, `tie` only makes system calls on values it owns: no allocation, no lock.
    unsafe { command.pre_exec(tie) };
    let mut child = command.spawn()?;
    let pipes = AgentPipes {
        stdin: child.stdin.take().expect("standard input was asked to be a pipe").into(),
        stdout: child.stdout.take().expect("standard output was asked to be a pipe").into(),
        stderr: child.stderr.take().expect("standard error was asked to be a pipe").into(),
    };
    JobProcess::adopt(child, group).map(|process| (process, pipes))
}

/// What the new process does to itself before it becomes the program.
struct ChildSetup {
    launcher: Pid,
    group: i32,
    guard: RawFd,
    inherited: Vec<RawFd>,
    cpus: Option<CpuSet>,
    file_limit: Rlimit,
}

impl ChildSetup {
    fn apply(&self) -> io::Result<()> {
        dispositions::prepare_program();
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        arm(self.guard, self.group)?;
        // The launcher may have died before the two lines above took effect.
        if rustix::process::getppid() != Some(self.launcher) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for &descriptor in &self.inherited {
            // SAFETY: the parent keeps these open across the fork, so they are open here.
            let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
            rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
        }
        if let Some(cpus) = &self.cpus {
            // A core can go offline between the plan and now: then run unbound.
            let _ = rustix::thread::sched_setaffinity(None, cpus);
        }
        Ok(rustix::process::setrlimit(Resource::Nofile, self.file_limit)?)
    }
}

/// Has the kernel kill the process group when the pipe behind `guard` loses its last writer.
fn arm(guard: RawFd, group: i32) -> io::Result<()> {
    for (command, argument) in [(libc::F_SETOWN, -group), (F_SETSIG, libc::SIGKILL), (libc::F_SETFL, libc::O_ASYNC)] {
        // SAFETY: these commands take an integer and touch no memory of ours.
        if unsafe { libc::fcntl(guard, command, argument) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Linux's number for "which signal instead of SIGIO"; the `libc` crate has no name for it.
const F_SETSIG: i32 = 10;

fn cpu_set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    set
}

/// Makes room for so many descriptors, as far as the hard limit allows; returns the limit before.
fn raise_file_limit(descriptors: u64) -> Rlimit {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let needed = descriptors + DESCRIPTORS_SPARE;
    if limit.current.is_some_and(|current| current < needed) {
        let current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        // Without it, starting the rank or agent that finds no descriptor fails, and says so.
        let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
    limit
}

fn start_error(rank: usize, section: &PlannedSection, source: io::Error) -> LaunchError {
    let program = section.name.clone();
    match source.raw_os_error() {
        Some(libc::ENOENT) => LaunchError::NotExecutable {
            program,
            reason: "it is there, but the interpreter or loader that it names is not".to_owned(),
        },
        Some(libc::ENOEXEC) => {
            LaunchError::NotExecutable { program, reason: "it is no program for this machine".to_owned() }
        }
        Some(libc::EACCES | libc::ETXTBSY | libc::ELIBBAD) => {
            LaunchError::NotExecutable { program, reason: source.to_string() }
        }
        _ => {
            let hint = LaunchError::hint(&source);
            LaunchError::Start { rank, program, source, hint }
        }
    }
}
