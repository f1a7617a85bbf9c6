//! `mpiexec`'s arguments, in the dialects of the common launchers.
//!
//! Sections are separated by a lone `:`. Within one, options end at the first word that is not an option: the program,
//! whose own arguments are never looked at. Long options may have one dash or two.

use crate::error::exit_code;
use crate::foreign;
use crate::hosts::{self, HostList};
use crate::information;
use crate::job_spec::{Binding, JobSpec, Section, Transport};
use crate::this_machine;
use clap::builder::PossibleValue;
use clap::error::ErrorKind;
use clap::{ArgAction, Command, CommandFactory, FromArgMatches, Parser, ValueEnum};
use rwmpi_core::Protocol;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// What the user asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) spec: JobSpec,
    /// Remarks on options that do nothing.
    pub(crate) notes: Vec<String>,
}

/// Starts the ranks of an MPI job, shows their output and ends them together.
#[derive(Debug, Parser)]
#[command(
    name = "mpiexec",
    version,
    override_usage = "mpiexec [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...",
    after_help = after_help()
)]
struct Options {
    /// Start the program as N ranks [default: 1]
    #[arg(short = 'n', short_alias = 'c', long = "np", alias = "n", value_name = "N")]
    ranks: Option<usize>,
    /// Set an environment variable for this program's ranks
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = ArgAction::Append, allow_hyphen_values = true)]
    env: Vec<OsString>,
    /// Set an environment variable for all ranks
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = ArgAction::Append, allow_hyphen_values = true)]
    genv: Vec<OsString>,
    /// Give this program's ranks none of mpiexec's environment; -genvnone: all ranks
    #[arg(long)]
    envnone: bool,
    #[arg(long, hide = true)]
    genvnone: bool,
    /// Of mpiexec's environment, give this program's ranks only these variables; -genvlist: all ranks
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    envlist: Vec<OsString>,
    #[arg(long, value_delimiter = ',', hide = true)]
    genvlist: Vec<OsString>,
    /// Pass on an environment variable, or set it
    #[arg(short = 'x', value_name = "NAME[=VALUE]", action = ArgAction::Append)]
    export: Vec<OsString>,
    /// Start this program's ranks in DIR
    #[arg(long, alias = "wd", value_name = "DIR")]
    wdir: Option<PathBuf>,
    /// Write the rank before each line of output
    #[arg(short = 'l', long = "prepend-rank", alias = "tag-output")]
    prefix: bool,
    /// End the job after SECONDS, saying what each rank was doing [default: MPIEXEC_TIMEOUT, if it is set]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Tie each rank to cores of its own, or none: core or none [default: core if there are enough]
    #[arg(long, alias = "binding", value_name = "WHAT", value_parser = bind_to)]
    bind_to: Option<BindTo>,
    /// Run T ranks in each process, a thread each: for Rust programs that begin with rwmpi::run [default: 1]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Give the ranks L lanes: for programs whose threads communicate at the same time on different communicators
    /// (MPI_THREAD_MULTIPLE) [default: 1]
    #[arg(long, value_name = "L")]
    lanes: Option<usize>,
    /// Say which cores each rank has
    #[arg(long)]
    report_bindings: bool,
    /// How messages travel [default: auto]
    #[arg(long, value_name = "PROTOCOL")]
    protocol: Option<ProtocolName>,
    /// What carries messages: auto (memory where it can be shared) or tcp [default: auto]
    #[arg(long, value_name = "TRANSPORT")]
    transport: Option<Transport>,
    /// Run on these hosts, with that many ranks each [default: here]
    #[arg(long, aliases = ["host", "H"], short_alias = 'H', value_name = "HOST[:RANKS],...", value_parser = hosts::parse_list, conflicts_with = "hostfile")]
    hosts: Vec<HostList>,
    /// Run on the hosts in FILE: a line each, HOST, HOST:RANKS or HOST slots=RANKS
    #[arg(short = 'f', long, alias = "machinefile", value_name = "FILE", value_parser = hosts::read_file)]
    hostfile: Option<HostList>,
    /// Run N ranks on each host, whatever the list of hosts says
    #[arg(long = "ppn", aliases = ["perhost", "npernode", "grr"], short_alias = 'N', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_host: Option<u32>,
    /// Reach hosts by COMMAND HOST ... rather than by ssh
    #[arg(long, aliases = ["launcher-exec", "bootstrap-exec"], value_name = "COMMAND", value_parser = agent)]
    launch_agent: Option<Agent>,
    /// What reaches hosts: ssh or rsh [default: ssh]
    #[arg(long, alias = "bootstrap", value_name = "NAME", hide = true)]
    launcher: Option<OsString>,
    /// Leave out this machine where hosts are named
    #[arg(long, alias = "skip-launch-node")]
    nolocal: bool,
    /// Connect ranks of different hosts through the network interface of that name or address
    #[arg(long, alias = "iface", value_name = "INTERFACE")]
    interface: Option<String>,
    /// Keep the ranks' shared memory in a file in DIR rather than in anonymous memory
    #[arg(long, value_name = "DIR")]
    segment_dir: Option<PathBuf>,
    /// Say what was decided about cores, binding, waiting and memory, and why
    #[arg(long)]
    explain: bool,
    /// Say how each rank ended
    #[arg(long)]
    print_all_exitcodes: bool,
    /// Say what this build is and has, and start nothing
    #[arg(long)]
    info: bool,
}

#[derive(Clone, Debug)]
enum BindTo {
    Known(Binding),
    /// What another launcher can bind to.
    Foreign(String),
}

fn bind_to(what: &str) -> Result<BindTo, String> {
    const FOREIGN: [&str; 8] = ["hwthread", "l1cache", "l2cache", "l3cache", "numa", "socket", "package", "user"];
    match what.split(':').next().unwrap_or_default() {
        "core" | "rr" => Ok(BindTo::Known(Binding::Core)),
        "none" | "machine" | "board" => Ok(BindTo::Known(Binding::None)),
        first if FOREIGN.contains(&first) => Ok(BindTo::Foreign(what.to_owned())),
        _ => Err("choose core or none".to_owned()),
    }
}

/// A command, in words.
#[derive(Clone, Debug)]
struct Agent(Vec<OsString>);

/// Splits a command into words as a shell would.
fn agent(command: &str) -> Result<Agent, String> {
    let words = shlex::split(command).ok_or("a quotation mark is not closed, or nothing follows a backslash")?;
    if words.is_empty() {
        Err("names no command".to_owned())
    } else {
        Ok(Agent(words.into_iter().map(Into::into).collect()))
    }
}

#[derive(Clone, Copy, Debug)]
struct ProtocolName(Protocol);

impl ValueEnum for ProtocolName {
    fn value_variants<'a>() -> &'a [Self] {
        &[ProtocolName(Protocol::Sr), ProtocolName(Protocol::Nsr), ProtocolName(Protocol::Auto)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            Protocol::Sr => "receivers send requests, senders answer by remote write",
            Protocol::Nsr => "every message goes through the FIFO",
            Protocol::Auto => "whichever pays, message by message",
        };
        Some(PossibleValue::new(self.0.name()).help(help))
    }
}

fn after_help() -> String {
    format!(
        "Long options may be written with one dash.\n\
         Ctrl-\\ (SIGQUIT) shows what each rank is doing.\n\n\
         Exit code: 0 if all ranks succeed; otherwise that of the first rank that fails,\n\
         {base} + n if signal n killed it, or\n\
         \x20 {left}    a rank left without finalizing while others were running\n\
         \x20 {usage}    these arguments make no sense\n\
         \x20 {output_lost}  what the ranks wrote could not be written\n\
         \x20 {host_lost}  a host, or the way to it, was lost\n\
         \x20 {timeout}  the job took longer than --timeout\n\
         \x20 {not_started}  the job could not be started\n\
         \x20 {not_executable}  the program cannot be executed\n\
         \x20 {not_found}  there is no such program\n\
         \x20 {base}+n  mpiexec was told to end by signal n (130: Ctrl-C)",
        left = exit_code::LEFT_EARLY,
        usage = exit_code::USAGE,
        output_lost = exit_code::OUTPUT_LOST,
        host_lost = exit_code::HOST_LOST,
        timeout = exit_code::TIMEOUT,
        not_started = exit_code::NOT_STARTED,
        not_executable = exit_code::NOT_EXECUTABLE,
        not_found = exit_code::NOT_FOUND,
        base = exit_code::SIGNAL_BASE,
    )
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| "not a sensible number of seconds".to_owned())?;
    if duration.is_zero() { Err("must be more than 0".to_owned()) } else { Ok(duration) }
}

/// Turns the arguments after the program's own name into a job. The error is clap's, which knows how to show itself.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Request, clap::Error> {
    let mut command = Options::command();
    command.build();
    let arguments = with_file(arguments).map_err(|what| command.error(ErrorKind::Io, what))?;
    let mut sections = Vec::new();
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for words in arguments.split(|word| word == ":") {
        let (options, program) = split_section(&mut command, words, &mut notes)?;
        if options.info {
            return Err(information::of_build());
        }
        let Some((program, arguments)) = program.split_first() else {
            return Err(usage_error(&mut command, "no program to start"));
        };
        sections.push(section(&options, program, arguments));
        all.push(options);
    }
    if all.iter().any(|options| options.genvnone || !options.genvlist.is_empty()) {
        sections = sections.into_iter().map(|section| section.clean_environment(true)).collect();
    }
    let mut sections = sections.into_iter();
    let first = sections.next().expect("splitting gives at least one section");
    let spec = sections.fold(JobSpec::new(first), JobSpec::section);
    let mut spec = all.iter().fold(spec, |spec, options| apply_global(spec, options, &mut notes));
    if spec.timeout.is_none() {
        spec.timeout = timeout_of_environment().map_err(|what| command.error(ErrorKind::ValueValidation, what))?;
    }
    notes.dedup();
    Ok(Request { spec, notes })
}

/// Replaces `-configfile FILE` at the end by what the file says: a section in each line.
fn with_file(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_option = |word: &OsString| word == "-configfile" || word == "--configfile";
    let Some([option, path]) = arguments.last_chunk().filter(|[option, _]| is_option(option)) else {
        return Ok(arguments);
    };
    let failed = |what: &str| format!("{} {}: {what}", option.display(), path.display());
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error.to_string()))?;
    let mut words: Vec<OsString> = Vec::new();
    // A line that ends with a backslash goes on in the next.
    for line in text.replace("\\\n", " ").lines() {
        let section = shlex::split(line).ok_or_else(|| failed(&format!("a quotation mark is not closed: {line}")))?;
        if !section.is_empty() && !words.is_empty() {
            words.push(":".into());
        }
        words.extend(section.into_iter().map(OsString::from));
    }
    arguments.truncate(arguments.len() - 2);
    arguments.extend(words);
    Ok(arguments)
}

/// What other launchers, too, read the time allowed from; they take 0 and less for no limit.
fn timeout_of_environment() -> Result<Option<Duration>, String> {
    const VARIABLE: &str = "MPIEXEC_TIMEOUT";
    let Some(text) = env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    if text.parse().is_ok_and(|seconds: f64| seconds <= 0.0) {
        return Ok(None);
    }
    seconds(&text).map(Some).map_err(|what| format!("{VARIABLE}={text}: {what}"))
}

/// The ranks of one program.
fn section(options: &Options, program: &OsStr, arguments: &[OsString]) -> Section {
    let mut section = Section::new(program).arguments(arguments).ranks(options.ranks.unwrap_or(1));
    if options.envnone || !options.envlist.is_empty() {
        section = section.clean_environment(true);
    }
    for name in &options.envlist {
        section = exported(section, name);
    }
    for pair in options.env.chunks_exact(2) {
        section = section.environment(&pair[0], &pair[1]);
    }
    for export in &options.export {
        section = exported(section, export);
    }
    match &options.wdir {
        Some(directory) => section.directory(directory),
        None => section,
    }
}

/// Separates a section's options from its program, and understands the options.
fn split_section<'a>(
    command: &mut Command,
    words: &'a [OsString],
    notes: &mut Vec<String>,
) -> Result<(Options, &'a [OsString]), clap::Error> {
    let mut options = vec![OsString::from("mpiexec")];
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            rest = after;
            break;
        }
        if !word.as_bytes().starts_with(b"-") {
            break;
        }
        if let Some(foreign) = foreign::find(word) {
            notes.extend(foreign.note());
            rest = &after[foreign.values.min(after.len())..];
            continue;
        }
        let word = with_two_dashes(command, word);
        let values = after.len().min(values_after(command, &word));
        options.push(word);
        options.extend_from_slice(&after[..values]);
        rest = &after[values..];
    }
    let matches = command.try_get_matches_from_mut(options)?;
    Ok((Options::from_arg_matches(&matches)?, rest))
}

/// `-np` as `--np`: long options may have one dash. What is a short option with its value attached (`-n4`) stays.
fn with_two_dashes(command: &Command, word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    if bytes.len() <= 2 || bytes.starts_with(b"--") {
        return word.to_owned();
    }
    let attached_number = bytes[1] == b'n' && bytes[2..].iter().all(u8::is_ascii_digit);
    let attached_export = bytes[1] == b'x' && bytes.contains(&b'=') && find(command, &bytes[1..]).is_none();
    if attached_number || attached_export {
        return word.to_owned();
    }
    OsString::from_vec([b"-", bytes].concat())
}

/// How many of the words after an option belong to it.
fn values_after(command: &Command, option: &OsStr) -> usize {
    let bytes = option.as_bytes();
    let short_alone = bytes.len() == 2;
    if bytes.contains(&b'=') || (!short_alone && !bytes.starts_with(b"--")) {
        return 0;
    }
    let argument = find(command, bytes.trim_ascii_start().strip_prefix(b"--").unwrap_or(&bytes[1..]));
    argument
        .filter(|argument| argument.get_action().takes_values())
        .map_or(0, |argument| argument.get_num_args().map_or(1, |range| range.min_values()))
}

/// The option of that name, short if it is one letter long.
fn find<'a>(command: &'a Command, name: &[u8]) -> Option<&'a clap::Arg> {
    let name = std::str::from_utf8(name).ok()?;
    command.get_arguments().find(|argument| {
        let long = argument.get_long_and_visible_aliases().into_iter().flatten().any(|long| long == name)
            || argument.get_all_aliases().into_iter().flatten().any(|alias| alias == name);
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        let mut short = argument.get_short().into_iter().chain(argument.get_all_short_aliases().into_iter().flatten());
        long || short.any(|short| letter == Some(short))
    })
}

/// `-x NAME` passes the launcher's value on, which every rank inherits anyway; `-x NAME=VALUE` sets it.
fn exported(section: Section, export: &OsStr) -> Section {
    let bytes = export.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(end) => section.environment(OsStr::from_bytes(&bytes[..end]), OsStr::from_bytes(&bytes[end + 1..])),
        None => match env::var_os(export) {
            Some(value) => section.environment(export, value),
            None => section,
        },
    }
}

/// Options that concern the whole job count in whichever section they stand; the last wins.
fn apply_global(mut spec: JobSpec, options: &Options, notes: &mut Vec<String>) -> JobSpec {
    for name in &options.genvlist {
        spec = env::var_os(name).into_iter().fold(spec, |spec, value| spec.environment(name, value));
    }
    for pair in options.genv.chunks_exact(2) {
        spec = spec.environment(&pair[0], &pair[1]);
    }
    if let Some(timeout) = options.timeout {
        spec = spec.timeout(timeout);
    }
    match &options.bind_to {
        Some(BindTo::Known(binding)) => spec = spec.binding(*binding),
        Some(BindTo::Foreign(what)) => {
            notes.push(foreign::note_on_value("--bind-to", what.as_ref(), "ranks can be tied to a core or none"));
        }
        None => {}
    }
    if let Some(threads) = options.threads {
        spec = spec.threads(threads);
    }
    if let Some(lanes) = options.lanes {
        spec = spec.lanes(lanes);
    }
    if let Some(ProtocolName(protocol)) = options.protocol {
        spec = spec.protocol(protocol);
    }
    if let Some(transport) = options.transport {
        spec = spec.transport(transport);
    }
    if let Some(directory) = &options.segment_dir {
        spec = spec.segment_directory(directory);
    }
    apply_hosts(&mut spec, options, notes);
    spec.interface = options.interface.clone().or(spec.interface);
    spec.prefix |= options.prefix;
    spec.report_bindings |= options.report_bindings;
    spec.explain |= options.explain;
    spec.say_endings |= options.print_all_exitcodes;
    spec
}

/// Where the ranks run, and what reaches them there.
fn apply_hosts(spec: &mut JobSpec, options: &Options, notes: &mut Vec<String>) {
    let lists = options.hosts.iter().chain(&options.hostfile);
    let hosts: Vec<_> = lists.flat_map(|HostList(hosts)| hosts.iter().cloned()).collect();
    if !hosts.is_empty() {
        spec.hosts = hosts;
    }
    if options.nolocal {
        if spec.hosts.iter().all(|host| this_machine::is_meant_by(&host.name)) {
            notes.push("note: --nolocal has no effect: there is no host but this one".to_owned());
        } else {
            spec.hosts.retain(|host| !this_machine::is_meant_by(&host.name));
        }
    }
    if let Some(number) = options.ranks_per_host {
        spec.dealing.ranks_per_host = Some(number as usize);
    }
    match &options.launcher {
        Some(name) if name == "rsh" => spec.launch_agent = vec![name.clone()],
        Some(name) if name != "ssh" => {
            let why = "hosts are reached by ssh, or by the command of --launch-agent";
            notes.push(foreign::note_on_value("--launcher", name, why));
        }
        _ => {}
    }
    if let Some(Agent(words)) = &options.launch_agent {
        spec.launch_agent.clone_from(words);
    }
}

fn usage_error(command: &mut Command, message: &str) -> clap::Error {
    command.error(ErrorKind::MissingRequiredArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn spec(line: &str) -> JobSpec {
        parse(words(line)).unwrap_or_else(|error| panic!("{line}: {error}")).spec
    }

    fn refused(line: &str) -> String {
        parse(words(line)).expect_err(line).to_string()
    }

    #[test]
    fn ranks_in_every_spelling() {
        for line in ["-n 4 a", "-np 4 a", "--np 4 a", "--n 4 a", "-n4 a", "--np=4 a", "-np=4 a", "-n 4 -- a"] {
            assert_eq!(spec(line).sections[0].ranks, 4, "{line}");
        }
        assert_eq!(spec("a").sections[0].ranks, 1);
    }

    #[test]
    fn options_end_at_the_program() {
        let spec = spec("-l a -n 3 --timeout -- x");
        assert!(spec.prefix);
        assert_eq!(spec.timeout, None);
        assert_eq!(spec.sections[0].arguments, words("-n 3 --timeout -- x"));
    }

    #[test]
    fn sections_have_their_own_options_and_share_the_global_ones() {
        let spec = spec("-n 2 -env A -1 -genv B 2 -wdir /tmp a x : -n 3 --timeout 1.5 -x C=3=3 -wd / b");
        assert_eq!(spec.sections[0].environment, [("A".into(), "-1".into())]);
        assert_eq!(spec.sections[0].directory, Some("/tmp".into()));
        assert_eq!(spec.environment, [("B".into(), "2".into())]);
        assert_eq!(spec.sections[1].ranks, 3);
        assert_eq!(spec.sections[1].environment, [("C".into(), "3=3".into())]);
        assert_eq!(spec.sections[1].directory, Some("/".into()));
        assert_eq!(spec.timeout, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn settings_are_understood() {
        let spec = spec(
            "-bind-to none --report-bindings -protocol nsr -transport tcp -lanes 3 -segment-dir /dev/shm -explain -tag-output a",
        );
        assert_eq!(spec.wish.bind, crate::placement::Bind::Free);
        assert_eq!(spec.protocol, Some(Protocol::Nsr));
        assert_eq!(spec.transport, Some(Transport::Tcp));
        assert_eq!(spec.lanes, Some(3));
        assert_eq!(spec.segment_directory, Some("/dev/shm".into()));
        assert!(spec.explain && spec.report_bindings && spec.prefix);
    }

    #[test]
    fn hosts_are_understood() {
        let spec = spec("-hosts a,b:2 -ppn 3 -launch-agent rsh -n 4 a : --interface eth0 b");
        assert_eq!(spec.hosts.len(), 2);
        assert_eq!(spec.dealing.ranks_per_host, Some(3));
        assert_eq!(spec.launch_agent, words("rsh"));
        assert_eq!(spec.interface.as_deref(), Some("eth0"));
        for line in ["-H a:2,b x", "--H a:2,b x", "-host a:2,b x", "--host a:2,b x", "-H a:2 -H b x", "--hosts=a:2,b x"]
        {
            let hosts = self::spec(line).hosts;
            assert_eq!(hosts.iter().map(|host| host.slots).collect::<Vec<_>>(), [Some(2), None], "{line}");
        }
        assert_eq!(self::spec("-N 2 -c 4 x").dealing.ranks_per_host, Some(2));
        assert!(refused("-hosts a,,b x").contains("without a name"));
        assert!(refused("-f /no/such/file x").contains("/no/such/file"));
        assert!(refused("-ppn 0 x").contains('0'));
    }

    #[test]
    fn habits_from_other_launchers_get_a_note() {
        let notes = |line: &str| parse(words(line)).unwrap_or_else(|error| panic!("{line}: {error}")).notes;
        assert_eq!(notes("--oversubscribe -allow-run-as-root -np 2 a").len(), 2);
        assert_eq!(notes("-rmk user -disable-auto-cleanup -launcher fork -bind-to socket -nolocal a").len(), 5);
        assert_eq!(notes("--mca btl self --mca pml ob1 --map-by core a").len(), 2);
        assert!(notes("-genvall -launcher ssh -bind-to core:1 -print-all-exitcodes a").is_empty());
        assert_eq!(spec("-map-by socket -n 3 a -map-by b").sections[0].arguments, words("-map-by b"));
    }

    #[test]
    fn an_environment_can_be_kept_away() {
        let spec = spec("-envnone a : -envlist PATH,NO_SUCH_VARIABLE b : c");
        let clean: Vec<bool> = spec.sections.iter().map(|section| section.clean).collect();
        assert_eq!(clean, [true, true, false]);
        assert_eq!(spec.sections[1].environment, [("PATH".into(), env::var_os("PATH").unwrap())]);
        let spec = self::spec("-genvlist PATH a : b");
        assert!(spec.sections.iter().all(|section| section.clean) && spec.environment.len() == 1);
        assert!(self::spec("a : -genvnone b").sections.iter().all(|section| section.clean));
    }

    #[test]
    fn an_agent_is_a_command_as_a_shell_splits_it() {
        let agent = |text: &str| parse(vec!["--launch-agent".into(), text.into(), "a".into()]);
        let split = |text: &str| agent(text).unwrap().spec.launch_agent;
        assert_eq!(split("ip netns exec"), words("ip netns exec"));
        assert_eq!(split(r#"'/opt/my agent' -o "a b" c\ d"#), ["/opt/my agent", "-o", "a b", "c d"]);
        for nonsense in ["'rsh", " ", "rsh \\"] {
            assert!(agent(nonsense).unwrap_err().to_string().contains("--launch-agent"), "{nonsense}");
        }
        assert_eq!(spec("-launcher rsh a").launch_agent, words("rsh"));
        assert_eq!(spec("-launcher-exec rsh a").launch_agent, words("rsh"));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_a_suggestion() {
        assert!(refused("--protocl sr a").contains("--protocol"));
        assert!(refused("-timout 3 a").contains("--timeout"));
        assert!(refused("--protocol fast a").contains("nsr"));
        assert!(refused("--transport pigeon a").contains("auto or tcp"));
        assert!(refused("-n four a").contains("four"));
        assert!(refused("-n -1 a").contains("-1"));
        assert!(refused("--timeout 0 a").contains("more than 0"));
        assert!(refused("--timeout soon a").contains("seconds"));
        assert!(refused("-env A").contains("env"));
        assert!(["-info", "--info", "-n 2 -info a"].iter().all(|line| refused(line).contains("standard ABI")));
        assert!(refused("-n 2").contains("no program"));
        assert!(refused("a :").contains("no program"));
        assert!(refused(": a").contains("no program"));
    }
}
