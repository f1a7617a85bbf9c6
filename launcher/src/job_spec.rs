//! What the caller wants: programs, ranks and how to treat them; and what came of it.

use crate::environment::value_in;
use crate::hosts::{Dealing, HostSlots};
use crate::placement::{Binding, Wish};
use crate::redirect::Redirection;
use rwmpi_core::Protocol;
use rwmpi_core::Wait;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One program of a job, started as several ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Section {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) ranks: usize,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the launcher's own environment is kept from these ranks.
    pub(crate) clean: bool,
    /// Variables of the launcher's own environment that are kept from these ranks.
    pub(crate) removed: Vec<OsString>,
    /// Where the program is looked for before `PATH`.
    pub(crate) search: Option<OsString>,
    pub(crate) directory: Option<PathBuf>,
}

impl Section {
    /// `program` as one rank. A name without a slash is looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Section {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            ranks: 1,
            environment: Vec::new(),
            clean: false,
            removed: Vec::new(),
            search: None,
            directory: None,
        }
    }

    /// Adds arguments of the program.
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// How many ranks run the program.
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// Sets an environment variable for these ranks. Later settings win; all win over [`JobSpec::environment`].
    pub fn environment(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Keeps the launcher's own environment from these ranks: they have what is set for them, and no more.
    pub fn clean_environment(mut self, clean: bool) -> Self {
        self.clean = clean;
        self
    }

    /// The working directory of these ranks; without it, the launcher's.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }
}

/// What carries messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// Memory where it can be shared, TCP elsewhere.
    Auto,
    /// TCP everywhere, for comparison and for finding faults.
    Tcp,
}

impl Transport {
    /// What carries messages in the job of this process: as its launcher was told.
    pub fn of_job() -> Self {
        let set = std::env::var(rwmpi_transport::TRANSPORT);
        set.ok().and_then(|name| name.parse().ok()).unwrap_or(Transport::Auto)
    }

    /// Its name: `auto` or `tcp`.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Auto => "auto",
            Transport::Tcp => "tcp",
        }
    }
}

impl std::str::FromStr for Transport {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Transport::Auto, Transport::Tcp]
            .into_iter()
            .find(|transport| transport.name() == name)
            .ok_or_else(|| format!("there is no transport {name:?}: choose auto or tcp"))
    }
}

/// Where the ranks' output goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// To the launcher's own standard output and standard error, in whole lines. Rank 0 reads the launcher's standard
    /// input.
    #[default]
    Forward,
    /// Into the [`Outcome`]: rank 0's standard output and every rank's standard error; the other ranks' standard output
    /// is dropped. Nobody reads standard input.
    Capture,
}

/// Describes a job. Built step by step, then [run](JobSpec::run).
///
/// ```no_run
/// use rwmpi_launcher::{JobSpec, Output, Section};
/// let outcome = JobSpec::new(Section::new("./heat").ranks(4)).output(Output::Capture).run()?;
/// assert_eq!(outcome.exit_code, 0, "{:?}", outcome.report);
/// # Ok::<(), rwmpi_launcher::LaunchError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobSpec {
    pub(crate) sections: Vec<Section>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What ranks can ask the launcher for (PMI-1), as keys and values: it is not for every process of the user's to
    /// see.
    pub(crate) left_for_ranks: Vec<(String, String)>,
    /// What the launcher's own environment is on other hosts, for ranks that inherit it.
    pub(crate) carried: Vec<(OsString, OsString)>,
    #[serde(with = "protocol_name")]
    pub(crate) protocol: Option<Protocol>,
    pub(crate) transport: Option<Transport>,
    /// What is asked for about cores.
    pub(crate) wish: Wish,
    /// Ranks in each process.
    pub(crate) threads: usize,
    pub(crate) lanes: Option<usize>,
    /// For how many ranks there is room, if the user says so.
    pub(crate) universe_size: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    /// What becomes of the ranks' streams.
    pub(crate) streams: Redirection,
    pub(crate) output: Output,
    pub(crate) segment_directory: Option<PathBuf>,
    // Whoever watches the job describes; the daemons of the hosts do not.
    #[serde(skip, default = "no_activity")]
    pub(crate) describe_activity: fn(&[u64; 8]) -> Option<String>,
    #[serde(skip, default = "no_wait")]
    pub(crate) describe_wait: fn(&[u64; 8]) -> Option<Wait>,
    pub(crate) forward_signals: bool,
    pub(crate) report_bindings: bool,
    pub(crate) explain: bool,
    /// Whether to say so if the ranks hang.
    pub(crate) hang_check: bool,
    /// Whether the job goes on when a rank dies.
    pub(crate) keeps_going: bool,
    /// Whether to show a live table of the ranks, for which they take notes.
    pub(crate) live: bool,
    /// Whether to say how each rank ended.
    pub(crate) say_endings: bool,
    /// Whether to say which ranks each host has.
    pub(crate) shows_map: bool,
    /// Whether only to find and check everything.
    pub(crate) starts_nothing: bool,
    /// Whether nothing is said of what has no effect.
    pub(crate) quiet: bool,
    /// Where the ranks run; empty: here.
    pub(crate) hosts: Vec<HostSlots>,
    pub(crate) dealing: Dealing,
    /// The command that runs another on a host; empty: ssh.
    pub(crate) launch_agent: Vec<OsString>,
    /// Name or address of the network interface that the ranks are to use between hosts.
    pub(crate) interface: Option<String>,
    /// The page that a profile becomes, and the file of a trace, if these are wanted.
    pub(crate) profile: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
}

fn no_activity() -> fn(&[u64; 8]) -> Option<String> {
    |_| None
}

fn no_wait() -> fn(&[u64; 8]) -> Option<Wait> {
    |_| None
}

/// A protocol as its name.
mod protocol_name {
    use rwmpi_core::Protocol;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(protocol: &Option<Protocol>, serializer: S) -> Result<S::Ok, S::Error> {
        protocol.map(Protocol::name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Protocol>, D::Error> {
        let name: Option<String> = Option::deserialize(deserializer)?;
        name.map(|name| name.parse().map_err(serde::de::Error::custom)).transpose()
    }
}

impl JobSpec {
    /// What stands before each line of output where it is to say of which rank it is.
    pub(crate) const RANK_PREFIX: &str = "[%r] ";

    /// A job of one program.
    pub fn new(section: Section) -> Self {
        JobSpec {
            sections: vec![section],
            environment: Vec::new(),
            left_for_ranks: Vec::new(),
            carried: Vec::new(),
            protocol: None,
            transport: None,
            wish: Wish::default(),
            threads: 1,
            lanes: None,
            universe_size: None,
            timeout: None,
            streams: Redirection::default(),
            output: Output::Forward,
            segment_directory: None,
            describe_activity: no_activity(),
            describe_wait: no_wait(),
            forward_signals: false,
            report_bindings: false,
            explain: false,
            hang_check: true,
            keeps_going: false,
            live: false,
            say_endings: false,
            shows_map: false,
            starts_nothing: false,
            quiet: false,
            hosts: Vec::new(),
            dealing: Dealing::default(),
            launch_agent: Vec::new(),
            interface: None,
            profile: None,
            trace: None,
        }
    }

    /// Adds a program; its ranks follow those there already.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Sets an environment variable for all ranks.
    pub fn environment(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// How messages travel; without it, what `RWMPI_PROTOCOL` says, or the library's default.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// What carries messages; without it, what `RWMPI_TRANSPORT` says, or [`Transport::Auto`].
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Whether each rank is tied to cores of its own.
    pub fn binding(mut self, binding: Binding) -> Self {
        self.wish.bind = binding.into();
        self
    }

    /// Starts so many ranks in each process, a thread each: for programs in Rust that begin with `rwmpi::run`, on one
    /// host. The last process of a section has fewer if they do not come out even.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Gives the ranks so many lanes, 1 to 8: for programs whose threads communicate at the same time on different
    /// communicators. Without it, what `RWMPI_LANES` says, or one. There is one only between hosts and over TCP, and
    /// where ranks are threads.
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = Some(lanes);
        self
    }

    /// Says for how many ranks there is room, those that the job spawns included (MPI_UNIVERSE_SIZE). Without it, as
    /// many as the hosts have slots, or this machine cores.
    pub fn universe_size(mut self, ranks: usize) -> Self {
        self.universe_size = Some(ranks);
        self
    }

    /// Ends the job after that long, with a report of what each rank was doing.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Writes `[rank] ` before each line of output.
    pub fn prefix(mut self, prefix: bool) -> Self {
        self.streams.prefix = prefix.then(|| Self::RANK_PREFIX.to_owned());
        self
    }

    /// Where the ranks' output goes.
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Where the file lies that the ranks share (it has no name once they run); without it, in anonymous memory.
    pub fn segment_directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.segment_directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Puts into words what a rank's page says about its present or last call; `None`: it made none.
    pub fn describe_activity(mut self, describe: fn(&[u64; 8]) -> Option<String>) -> Self {
        self.describe_activity = describe;
        self
    }

    /// Reads out of a rank's page what it waits for; `None`: it does not wait.
    pub fn describe_wait(mut self, describe: fn(&[u64; 8]) -> Option<Wait>) -> Self {
        self.describe_wait = describe;
        self
    }

    /// Passes signals that reach this process (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT) on to the
    /// ranks, and says on SIGQUIT what each rank is doing. Once done, those signals stay without effect on this
    /// process: for programs that are a launcher and little else.
    pub fn forward_signals(mut self, forward: bool) -> Self {
        self.forward_signals = forward;
        self
    }

    /// Says on standard error which cores each rank has.
    pub fn report_bindings(mut self, report: bool) -> Self {
        self.report_bindings = report;
        self
    }

    /// Says on standard error what was decided, and why.
    pub fn explain(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// Whether to say so on standard error if all ranks wait for what can't come any more, where that can be proved. It
    /// is said unless this is turned off.
    pub fn hang_check(mut self, check: bool) -> Self {
        self.hang_check = check;
        self
    }

    /// Whether the job goes on when a rank dies: the others' operations with it fail, and the report at the end says
    /// who has died. All ranks have to run on this host.
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keeps_going = keep_going;
        self
    }

    /// Whether messages go over TCP even within a host.
    pub(crate) fn is_over_tcp(&self) -> bool {
        let asked_for_tcp = || self.setting(rwmpi_transport::TRANSPORT).is_some_and(|name| name == "tcp");
        self.transport.map_or_else(asked_for_tcp, |transport| transport == Transport::Tcp)
    }

    /// What the environment says of a setting of the whole job, on whichever host.
    pub(crate) fn setting(&self, name: &str) -> Option<OsString> {
        let set = value_in(&self.environment, name).or_else(|| value_in(&self.carried, name));
        set.or_else(|| std::env::var_os(name))
    }

    /// For each rank, the number of its section.
    pub(crate) fn section_of(&self) -> Vec<usize> {
        let sections = self.sections.iter().enumerate();
        sections.flat_map(|(number, section)| std::iter::repeat_n(number, section.ranks)).collect()
    }
}

/// What came of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// 0 if all went well; otherwise that of the first rank to fail (128 + signal if a signal killed it), or one of
    /// [`crate::exit_code`].
    pub exit_code: u8,
    /// What went wrong, in whole lines, to be shown to the user; `None` if nothing did.
    pub report: Option<String>,
    /// Rank 0's standard output, if captured.
    pub stdout: String,
    /// All ranks' standard error, if captured, in whole lines.
    pub stderr: String,
    /// From the start of the first rank to the end of the last.
    pub wall: Duration,
}
