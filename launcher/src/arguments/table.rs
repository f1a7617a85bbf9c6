//! Every option there is: this launcher's own, and those of MPICH's, Intel's and Open MPI's launchers.
//!
//! What means something here does it; of what means nothing a line says why, and the job runs. Help, the manual page,
//! completions and the book's table are made from this.

/// An option.
#[derive(Debug)]
pub(super) struct Known {
    /// Its names, without dashes; the first is the one that help shows.
    pub(super) names: &'static [&'static str],
    /// What its values are called; one in brackets may be left out, and is given behind an equals sign only.
    pub(super) values: &'static [&'static str],
    /// Whose it is besides ours: M(PICH), I(ntel), O(pen MPI).
    pub(super) peers: &'static str,
    pub(super) what: What,
}

/// What comes of an option.
#[derive(Debug)]
pub(super) enum What {
    /// It does this; and the words for it in the help.
    Does(Id, &'static str),
    /// It is another name for this option with this value, in which `{}` stands for its own.
    Is(&'static str, &'static str),
    /// Nothing, as what it asks for is so anyway.
    SoAnyway(&'static str),
    /// Nothing, and why.
    Nothing(&'static str),
}

/// An option that does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    BindTo,
    Check,
    ConfigFile,
    CoresPerRank,
    CpuSet,
    Describe,
    Display,
    DoNotLaunch,
    Doctor,
    Env,
    EnvAppend,
    EnvExclude,
    EnvList,
    EnvNone,
    EnvPrepend,
    ErrFile,
    Explain,
    Export,
    FaultTolerance,
    Genv,
    GenvExclude,
    GenvList,
    GenvNone,
    Help,
    HelpSettings,
    HostFile,
    Hosts,
    HwThreads,
    Info,
    Interface,
    KeepGoing,
    Lanes,
    LaunchAgent,
    Launcher,
    MapBy,
    Merge,
    NoHangCheck,
    NoLocal,
    OutFile,
    Output,
    OutputDirectory,
    Path,
    Prefix,
    PrefixPattern,
    PrintExitCodes,
    Profile,
    Protocol,
    Quiet,
    RankBy,
    RankFile,
    RankMap,
    Ranks,
    RanksPerHost,
    ReportBindings,
    RuntimeOptions,
    SegmentDir,
    Stdin,
    Threads,
    Timeout,
    Timestamps,
    Trace,
    Transport,
    UniverseSize,
    Version,
    Watch,
    WorkingDirectory,
}

const fn does(
    id: Id,
    names: &'static [&'static str],
    values: &'static [&'static str],
    peers: &'static str,
    help: &'static str,
) -> Known {
    Known { names, values, peers, what: What::Does(id, help) }
}

const fn is(
    names: &'static [&'static str],
    values: &'static [&'static str],
    peers: &'static str,
    option: &'static str,
    value: &'static str,
) -> Known {
    Known { names, values, peers, what: What::Is(option, value) }
}

const fn so_anyway(
    names: &'static [&'static str],
    values: &'static [&'static str],
    peers: &'static str,
    how: &'static str,
) -> Known {
    Known { names, values, peers, what: What::SoAnyway(how) }
}

const fn nothing(
    names: &'static [&'static str],
    values: &'static [&'static str],
    peers: &'static str,
    why: &'static str,
) -> Known {
    Known { names, values, peers, what: What::Nothing(why) }
}

/// All options: those that do something by subject, in the order in which help shows them.
pub(super) const OPTIONS: &[&[Known]] = &[RANKS, ENVIRONMENT, HOSTS, CORES, TEXT, JOB, NAMES, SILENT, WITHOUT_EFFECT];

const RANKS: &[Known] = &[
    does(Id::Ranks, &["np", "n", "c"], &["N"], "MIO", "Start the program as N ranks [default: 1]"),
    does(Id::WorkingDirectory, &["wdir", "wd", "gwdir"], &["DIR"], "MIO", "Start this program's ranks in DIR"),
    does(Id::Path, &["path", "gpath"], &["DIRS"], "MIO", "Look for the program in DIRS, separated by :, before PATH"),
    does(
        Id::ConfigFile,
        &["configfile", "app"],
        &["FILE"],
        "MIO",
        "Read the programs and their options from FILE, a line each; the last of the options",
    ),
    does(
        Id::Threads,
        &["threads"],
        &["T"],
        "",
        "Run T ranks in each process, a thread each: for Rust programs that begin with rwmpi::run [default: 1]",
    ),
    does(
        Id::Lanes,
        &["lanes"],
        &["L"],
        "",
        "Give the ranks L lanes: for programs whose threads communicate at the same time on different communicators (MPI_THREAD_MULTIPLE) [default: 1]",
    ),
    does(
        Id::UniverseSize,
        &["usize"],
        &["N"],
        "MI",
        "Say that there is room for N ranks, those that are spawned included (MPI_UNIVERSE_SIZE) [default: the hosts' slots, or the cores]",
    ),
];

const ENVIRONMENT: &[Known] = &[
    does(Id::Env, &["env"], &["NAME", "VALUE"], "MI", "Set an environment variable for this program's ranks"),
    does(Id::Genv, &["genv"], &["NAME", "VALUE"], "MI", "Set an environment variable for all ranks"),
    does(Id::EnvNone, &["envnone"], &[], "MI", "Give this program's ranks none of mpiexec's environment"),
    does(Id::GenvNone, &["genvnone"], &[], "MI", "Give no rank any of mpiexec's environment"),
    does(
        Id::EnvList,
        &["envlist"],
        &["NAME,..."],
        "MI",
        "Of mpiexec's environment, give this program's ranks only these variables",
    ),
    does(
        Id::GenvList,
        &["genvlist"],
        &["NAME,..."],
        "MI",
        "Of mpiexec's environment, give all ranks only these variables",
    ),
    does(
        Id::EnvExclude,
        &["envexcl", "unset-env"],
        &["NAME,..."],
        "IO",
        "Keep these variables of mpiexec's environment from this program's ranks; NAME* is all that begin so",
    ),
    does(
        Id::GenvExclude,
        &["genvexcl"],
        &["NAME,..."],
        "I",
        "Keep these variables of mpiexec's environment from all ranks",
    ),
    does(Id::Export, &["x", "set-env"], &["NAME[=VALUE]"], "O", "Pass on an environment variable, or set it"),
    does(Id::EnvAppend, &["append-env", "append-envar"], &["NAME[C]", "VALUE"], "O", "Add C and VALUE to a variable"),
    does(Id::EnvPrepend, &["prepend-env", "prepend-envar"], &["NAME[C]", "VALUE"], "O", "Put VALUE and C before it"),
];

const HOSTS: &[Known] = &[
    does(
        Id::Hosts,
        &["hosts", "host", "H", "hostlist"],
        &["HOST[:RANKS],..."],
        "MIO",
        "Run on these hosts, with that many ranks each [default: here]",
    ),
    does(
        Id::HostFile,
        &["hostfile", "f", "machinefile", "machine", "default-hostfile"],
        &["FILE"],
        "MIO",
        "Run on the hosts in FILE: a line each, HOST, HOST:RANKS or HOST slots=RANKS",
    ),
    does(
        Id::RanksPerHost,
        &["ppn", "N", "perhost", "npernode", "grr", "ranks-per-proc"],
        &["N"],
        "MIO",
        "Run N ranks on each host, whatever the list of hosts says",
    ),
    does(Id::RankMap, &["rankmap"], &["H,..."], "M", "Run each rank on the host of that number in the list of hosts"),
    does(Id::NoLocal, &["nolocal", "skip-launch-node"], &[], "MIO", "Leave out this machine where hosts are named"),
    does(
        Id::Interface,
        &["interface", "iface"],
        &["INTERFACE"],
        "MI",
        "Connect ranks of different hosts through the network interface of that name or address",
    ),
    does(
        Id::LaunchAgent,
        &["launch-agent", "launcher-exec", "bootstrap-exec"],
        &["COMMAND"],
        "MIO",
        "Reach hosts by COMMAND HOST ... rather than by ssh",
    ),
    does(Id::Launcher, &["launcher", "bootstrap"], &["NAME"], "MI", "What reaches hosts: ssh or rsh [default: ssh]"),
];

const CORES: &[Known] = &[
    does(
        Id::BindTo,
        &["bind-to", "binding"],
        &["WHAT"],
        "MIO",
        "Tie each rank to cores of its own: none, core, hwthread, l2cache, l3cache, numa or socket, with :N to N of them, or user:LIST,... [default: the cores divided among the ranks, if there are enough]",
    ),
    does(
        Id::MapBy,
        &["map-by", "mapping"],
        &["WHAT"],
        "MO",
        "Deal ranks out to slot (in blocks), node (hosts in turn), or socket, numa, l3cache, l2cache, core of a host in turn; ppr:N:WHAT: N to each; with :PE=N, N cores for each rank; pe-list=CPUS",
    ),
    does(
        Id::RankBy,
        &["rank-by"],
        &["HOW"],
        "O",
        "Number ranks by slot or fill (a host or part after the other), node or span (across them)",
    ),
    does(Id::CpuSet, &["cpu-set", "cpu-list"], &["CPUS"], "O", "Use only these hardware threads, such as 0-3,8"),
    does(Id::CoresPerRank, &["cpus-per-proc", "cpus-per-rank"], &["N"], "O", "Tie each rank to N cores"),
    does(Id::HwThreads, &["use-hwthread-cpus"], &[], "O", "Take each hardware thread for a core"),
    does(
        Id::RankFile,
        &["rankfile", "rf"],
        &["FILE"],
        "O",
        "Run each rank where FILE says: a line each, rank N=HOST slot=CPUS",
    ),
    does(Id::ReportBindings, &["report-bindings", "prot"], &[], "IO", "Say which cores each rank has"),
];

const TEXT: &[Known] = &[
    does(Id::Prefix, &["prepend-rank", "l", "tag-output"], &[], "MIO", "Write the rank before each line of output"),
    does(
        Id::PrefixPattern,
        &["prepend-pattern"],
        &["PATTERN"],
        "MI",
        "Write PATTERN before each line: %r rank, %h host, %p number of the host, %g number of the program",
    ),
    does(
        Id::Timestamps,
        &["timestamp-output", "prepend-timestamp"],
        &[],
        "IO",
        "Write the time (UTC) before each line of output",
    ),
    does(Id::Merge, &["merge-stderr-to-stdout"], &[], "O", "Give ranks one stream for both outputs: standard output"),
    does(
        Id::OutFile,
        &["outfile-pattern", "outfile"],
        &["PATTERN"],
        "MI",
        "Write ranks' standard output to files: %r, %h, %p, %g as above",
    ),
    does(Id::ErrFile, &["errfile-pattern", "errfile"], &["PATTERN"], "MI", "Write ranks' standard error to files"),
    does(
        Id::OutputDirectory,
        &["output-filename", "output-directory"],
        &["DIR[:nocopy]"],
        "O",
        "Write what each rank writes also to DIR/1/rank.N/stdout and stderr; with :nocopy only there",
    ),
    does(
        Id::Output,
        &["output"],
        &["WHAT,..."],
        "O",
        "tag, rank, timestamp, merge-stderr-to-stdout, dir=DIR or file=FILE, with :nocopy",
    ),
    does(
        Id::Stdin,
        &["stdin", "s"],
        &["RANKS"],
        "IO",
        "Which ranks read standard input: all, none, or numbers such as 1,3-4 [default: 0]",
    ),
];

const JOB: &[Known] = &[
    does(
        Id::Timeout,
        &["timeout"],
        &["SECONDS"],
        "O",
        "End the job after SECONDS, saying what each rank was doing [default: MPIEXEC_TIMEOUT, if it is set]",
    ),
    does(
        Id::KeepGoing,
        &["keep-going", "disable-auto-cleanup", "enable-recovery"],
        &[],
        "MIO",
        "Let the job go on when a rank dies: the others hear of it as errors; all on this host",
    ),
    does(Id::FaultTolerance, &["with-ft"], &["MODEL"], "O", "ulfm: as --keep-going; none: not"),
    does(
        Id::Protocol,
        &["protocol"],
        &["PROTOCOL"],
        "",
        "How messages travel: auto (whichever pays), sr (receivers send requests) or nsr (all through the FIFO) [default: auto]",
    ),
    does(
        Id::Transport,
        &["transport"],
        &["TRANSPORT"],
        "",
        "What carries messages: auto (memory where it can be shared) or tcp [default: auto]",
    ),
    does(
        Id::SegmentDir,
        &["segment-dir"],
        &["DIR"],
        "",
        "Keep the ranks' shared memory in a file in DIR rather than in anonymous memory",
    ),
    does(
        Id::Explain,
        &["explain", "verbose", "v"],
        &[],
        "MIO",
        "Say what was decided about cores, binding, waiting and memory, and why",
    ),
    does(
        Id::Watch,
        &["watch"],
        &[],
        "",
        "Show a table of the ranks while they run: what each does, for whom it waits, who holds others up",
    ),
    does(
        Id::Check,
        &["check"],
        &[],
        "",
        "Compare the collectives of the ranks (root, operation, length), and name what is left at the end",
    ),
    does(
        Id::NoHangCheck,
        &["no-hang-check"],
        &[],
        "",
        "Do not say so when all ranks wait for what can't come any more",
    ),
    does(
        Id::Profile,
        &["profile"],
        &["[=FILE]"],
        "MI",
        "Say at the end where the ranks' time went and who waited for whom; FILE is a page with all of it [default: rwmpi-profile.html], and numbers are beside it",
    ),
    does(
        Id::Trace,
        &["trace"],
        &["[FILE]"],
        "I",
        "Write what each rank did when, with arrows from sends to receives, as a trace that Perfetto opens [default: rwmpi-trace.json]",
    ),
    does(
        Id::Display,
        &["display"],
        &["WHAT,..."],
        "O",
        "Show the map (ranks of each host), the allocation, or the bindings",
    ),
    does(Id::PrintExitCodes, &["print-all-exitcodes"], &[], "MI", "Say how each rank ended"),
    does(Id::DoNotLaunch, &["do-not-launch"], &[], "O", "Find and check everything, and start nothing"),
    does(
        Id::RuntimeOptions,
        &["runtime-options"],
        &["WHAT,..."],
        "O",
        "donotlaunch as above; nothing else has an effect",
    ),
    does(Id::Quiet, &["quiet", "q"], &[], "O", "Say nothing about options and settings without effect"),
    does(Id::Info, &["info"], &[], "MI", "Say what this build is and has, and start nothing"),
    does(
        Id::Doctor,
        &["doctor"],
        &[],
        "",
        "Examine this machine, and the hosts of --hosts: what matters to jobs, and what to do about it; start nothing",
    ),
    does(
        Id::HelpSettings,
        &["help-settings"],
        &[],
        "",
        "List the environment variables that mean something, and start nothing",
    ),
    does(Id::Help, &["help", "h"], &[], "MIO", "Show this text"),
    does(Id::Version, &["version", "V"], &[], "MIO", "Show the version"),
    does(Id::Describe, &["describe"], &["FORMAT"], "", ""),
];

/// Options that are others with a certain value.
const NAMES: &[Known] = &[
    is(&["display-map", "print-rank-map", "display-devel-map"], &[], "IO", "display", "map"),
    is(&["display-allocation", "display-devel-allocation"], &[], "O", "display", "allocation"),
    is(&["bynode"], &[], "O", "map-by", "node"),
    is(&["byslot"], &[], "O", "map-by", "slot"),
    is(&["bycore"], &[], "O", "map-by", "core"),
    is(&["bysocket"], &[], "O", "map-by", "socket"),
    is(&["rr"], &[], "I", "ppn", "1"),
    is(&["pernode"], &[], "O", "ppn", "1"),
    is(&["ppr"], &["N:WHAT"], "O", "map-by", "ppr:{}"),
    is(&["npersocket"], &["N"], "O", "map-by", "ppr:{}:socket"),
    is(&["bind-to-core"], &[], "O", "bind-to", "core"),
    is(&["bind-to-socket"], &[], "O", "bind-to", "socket"),
    is(&["bind-to-none"], &[], "O", "bind-to", "none"),
];

const SILENT: &[Known] = &[
    so_anyway(&["genvall", "envall"], &[], "MI", "the environment goes along"),
    so_anyway(&["enable-auto-cleanup", "disable-recovery"], &[], "MIO", "a rank that fails ends the job"),
    so_anyway(&["abort-on-non-zero-status"], &[], "O", "a rank that fails ends the job"),
    so_anyway(&["noprefix"], &[], "O", "installations are found by their programs"),
    so_anyway(&["ordered-output"], &[], "I", "lines of ranks never mix"),
    so_anyway(&["report-state-on-timeout", "get-stack-traces"], &[], "O", "what each rank was doing is said"),
    so_anyway(&["stream-buffering"], &["0..2"], "O", "lines are passed on whole"),
];

const BUILT_OTHERWISE: &str = "it is about how another launcher works inside";
const GPUS: &str = "processors for graphics are not dealt out";
const HOSTS_ARE_NAMED: &str = "hosts are those of --hosts or --hostfile";
const NO_FILES: &str = "programs are at the same path on all hosts";
const NO_DEBUGGER: &str = "start the ranks under one, `mpiexec -n 2 gdb -batch -ex run PROGRAM`, or attach to them: Ctrl-\\ shows their numbers";
const NO_PROFILER: &str = "that profiler is not part of this launcher; --profile and --trace are, and programs that intercept MPI (PMPI) work under it";
const RECOVERY: &str = "ranks are not started again; with --keep-going the others go on";

const WITHOUT_EFFECT: &[Known] = &[
    nothing(&["oversubscribe"], &[], "O", "there is no limit on ranks per core"),
    nothing(&["nooversubscribe"], &[], "O", "there is no limit on ranks per core; --explain says how many there are"),
    nothing(&["allow-run-as-root"], &[], "O", "root may run jobs"),
    nothing(&["continuous"], &[], "O", RECOVERY),
    nothing(&["max-restarts"], &["N"], "O", RECOVERY),
    nothing(&["order-nodes"], &["ORDER"], "M", "hosts are taken in the order in which they are named"),
    nothing(&["hosts-group"], &["GROUPS"], "I", HOSTS_ARE_NAMED),
    nothing(&["add-host", "add-hostfile"], &["HOSTS"], "O", HOSTS_ARE_NAMED),
    nothing(&["rmk"], &["NAME"], "MI", HOSTS_ARE_NAMED),
    nothing(&["membind"], &["POLICY"], "M", "memory is where the rank that first touches it runs"),
    nothing(&["cpu-bind"], &["HOW"], "I", "say --bind-to and --cpu-set"),
    nothing(&["topolib", "demux", "nameserver", "localhost", "memory-alloc-kinds"], &["VALUE"], "MI", BUILT_OTHERWISE),
    nothing(
        &[
            "personality",
            "am",
            "prefix",
            "app-prefix",
            "pmix-prefix",
            "app-pmix-prefix",
            "max-vm-size",
            "ompi-server",
            "dvm-uri",
            "session",
        ],
        &["VALUE"],
        "O",
        BUILT_OTHERWISE,
    ),
    nothing(
        &["mca", "gmca", "omca", "gomca", "prtemca", "gprtemca", "pmixmca", "gpmixmca"],
        &["NAME", "VALUE"],
        "O",
        BUILT_OTHERWISE,
    ),
    nothing(&["pmi-port", "hybrid-hosts", "enable-x", "disable-x"], &[], "MI", BUILT_OTHERWISE),
    nothing(&["enable-hostname-propagation", "disable-hostname-propagation"], &[], "MI", BUILT_OTHERWISE),
    nothing(
        &["pmi-connect", "branch-count", "tmpdir", "bootstrap-exec-args", "use-app-topology"],
        &["VALUE"],
        "I",
        BUILT_OTHERWISE,
    ),
    nothing(&["pmi-aggregate", "pmi-noaggregate", "prefork", "noconf", "ilp64"], &[], "I", BUILT_OTHERWISE),
    nothing(
        &[
            "no-app-prefix",
            "set-sid",
            "test-suicide",
            "report-child-jobs-separately",
            "do-not-resolve",
            "dvm",
            "daemonize",
            "system-server",
            "no-ready-msg",
            "leave-session-attached",
            "enable-instant-on-support",
        ],
        &[],
        "O",
        BUILT_OTHERWISE,
    ),
    nothing(
        &["debug-devel", "debug-daemons", "debug-daemons-file", "debug-verbose", "show-progress", "hetero-nodes"],
        &[],
        "O",
        "say --explain",
    ),
    nothing(
        &[
            "report-pid",
            "report-uri",
            "forward-signals",
            "spawn-timeout",
            "keepalive",
            "exec-agent",
            "launch-agent-args",
        ],
        &["VALUE"],
        "O",
        BUILT_OTHERWISE,
    ),
    nothing(&["singleton", "pset", "initial-errhandler", "gpu-support"], &["VALUE"], "O", BUILT_OTHERWISE),
    nothing(&["tune"], &["FILE"], "IO", "lengths from which other ways pay are those of RWMPI_TUNING"),
    nothing(&["gpus-per-proc", "gpu-subdevs-per-proc"], &["N"], "M", GPUS),
    nothing(&["umask", "gumask"], &["MASK"], "I", "files are made as mpiexec's umask says"),
    nothing(
        &["arch", "soft", "file"],
        &["VALUE"],
        "MIO",
        "hosts are taken as they are, and as many ranks started as -n says",
    ),
    nothing(&["preload-files"], &["FILES"], "O", NO_FILES),
    nothing(&["preload-binary", "set-cwd-to-session-dir"], &[], "O", NO_FILES),
    nothing(&["gtool", "gtoolfile", "gdb-args", "gdba"], &["TOOLS"], "I", NO_DEBUGGER),
    nothing(&["gdb", "tv", "debug", "stop-on-exec", "stop-in-init", "stop-in-app"], &[], "IO", NO_DEBUGGER),
    nothing(&["xterm"], &["RANKS"], "O", NO_DEBUGGER),
    nothing(&["aps", "mps", "check-mpi", "trace-collectives", "trace-imbalance"], &[], "I", NO_PROFILER),
    nothing(&["silent-abort"], &[], "I", "why a job has ended is always said"),
    nothing(
        &["xml", "parsable", "parseable", "display-topo", "display-comm", "display-comm-init", "display-comm-finalize"],
        &[],
        "O",
        "say --explain and --report-bindings",
    ),
];
