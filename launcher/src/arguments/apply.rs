//! Has a job do what its options say.

use super::table::Id;
use super::words::{Given, note};
use crate::hosts::{self, Dealing, HostList};
use crate::job_spec::{JobSpec, Section};
use crate::placement::{self, apply_bind, apply_map, apply_rank_by, parse_cpus};
use crate::profile;
use crate::this_machine;
use rwmpi_core::Protocol;
use rwmpi_transport::settings;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What applies to the program of a section. What is left are options of the whole job.
pub(super) fn to_section(section: &mut Section, given: &Given) -> Result<bool, String> {
    match given.id {
        Id::Ranks => section.ranks = given.number(0)?,
        Id::Env => section.environment.push((given.values[0].clone(), given.values[1].clone())),
        Id::EnvNone => section.clean = true,
        Id::EnvList => {
            section.clean = true;
            names(given).for_each(|name| section.environment.extend(inherited(name)));
        }
        Id::EnvExclude => section.removed.extend(names(given).flat_map(begin_so)),
        Id::EnvAppend => section.environment.push(joined(given, |had, more| [had, more])?),
        Id::EnvPrepend => section.environment.push(joined(given, |had, more| [more, had])?),
        Id::Export => section.environment.extend(exported(&given.values[0])),
        Id::WorkingDirectory => section.directory = Some((&given.values[0]).into()),
        Id::Path => section.search = Some(given.values[0].clone()),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Options that concern the whole job count in whichever section they stand; the last wins.
pub(super) fn to_job(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<(), String> {
    match given.id {
        Id::Genv => spec.environment.push((given.values[0].clone(), given.values[1].clone())),
        Id::GenvNone => spec.sections.iter_mut().for_each(|section| section.clean = true),
        Id::GenvList => {
            spec.sections.iter_mut().for_each(|section| section.clean = true);
            names(given).for_each(|name| spec.environment.extend(inherited(name)));
        }
        Id::GenvExclude => {
            spec.sections.iter_mut().for_each(|section| section.removed.extend(names(given).flat_map(begin_so)))
        }
        Id::Timeout => spec.timeout = Some(seconds(given.text()?).map_err(|what| given.refuse(what))?),
        Id::Threads => spec.threads = given.number(0)?,
        Id::Lanes => spec.lanes = Some(given.number(0)?),
        Id::UniverseSize => spec.universe_size = universe_size(given)?,
        Id::Protocol => spec.protocol = Some(protocol(given)?),
        Id::Transport => spec.transport = Some(given.text()?.parse().map_err(|what: String| given.refuse(what))?),
        Id::SegmentDir => spec.segment_directory = Some((&given.values[0]).into()),
        Id::ReportBindings => spec.report_bindings = true,
        Id::Explain => spec.explain = true,
        Id::KeepGoing => spec.keeps_going = true,
        Id::FaultTolerance => spec.keeps_going = tolerates(given)?,
        Id::Watch => spec.live = true,
        Id::Check => spec.environment.push((settings::CHECK.into(), "on".into())),
        Id::NoHangCheck => spec.hang_check = false,
        Id::PrintExitCodes => spec.say_endings = true,
        Id::Profile if given.values.is_empty() => spec.profile = Some(profile::USUAL_PAGE.into()),
        Id::Profile => spec.profile = Some(own_file(given)?),
        Id::Trace if given.values.is_empty() => spec.trace = Some(profile::USUAL_TRACE.into()),
        Id::Trace => spec.trace = Some(own_file(given)?),
        Id::DoNotLaunch => spec.starts_nothing = true,
        Id::Quiet => spec.quiet = true,
        Id::Display => display(spec, given, notes)?,
        Id::RuntimeOptions => runtime_options(spec, given, notes)?,
        _ if to_placement(spec, given, notes)? || to_hosts(spec, given, notes)? => {}
        _ => to_streams(spec, given, notes)?,
    }
    Ok(())
}

/// For how many ranks there is room, if that is said; the words are hydra's.
fn universe_size(given: &Given) -> Result<Option<usize>, String> {
    match given.text()? {
        "SYSTEM" => Ok(None),
        "INFINITE" => Ok(Some(i32::MAX as usize)),
        _ => given.number(1).map(Some),
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether the first of these words is the file that an option before it may name, rather than another option or the
/// program, after which there need not be anything.
pub(super) fn begins_with_a_file(words: &[OsString]) -> bool {
    let [word, _, ..] = words else { return false };
    if word.as_bytes().starts_with(b"-") || word == ":" || is_program(Path::new(word)) {
        return false;
    }
    let in_path = |path: OsString| env::split_paths(&path).any(|folder| is_program(&folder.join(word)));
    word.as_bytes().contains(&b'/') || !env::var_os("PATH").is_some_and(in_path)
}

/// A file that is to be written: not an option or a program, which are there where the file's name was left out.
fn own_file(given: &Given) -> Result<PathBuf, String> {
    let path = PathBuf::from(&given.values[0]);
    if given.values[0].as_bytes().starts_with(b"-") || is_program(&path) {
        return Err(given.refuse("it is to be a file to write to, and this is an option or a program"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(given.refuse("there is no such folder"));
    }
    Ok(path)
}

/// Which cores the ranks have.
fn to_placement(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<bool, String> {
    let refuse = |what: String| given.refuse(what);
    let (wish, dealing) = (&mut spec.wish, &mut spec.dealing);
    match given.id {
        Id::BindTo if given.text()?.contains('=') => {
            note(notes, format!("note: {} {} has no effect: say --bind-to and --cpu-set", given.name, given.text()?));
        }
        Id::BindTo => apply_bind(wish, given.text()?).map_err(refuse)?,
        Id::MapBy => match given.text()?.split_once("file=") {
            Some((_, file)) => wish.ranks = placement::read_rankfile(file).map_err(refuse)?,
            None => {
                for word in apply_map(wish, dealing, given.text()?).map_err(refuse)? {
                    note(notes, format!("note: {word} of {} has no effect: there is no such thing here", given.name));
                }
            }
        },
        // Once everything is known: see `finish`.
        Id::RankBy => {}
        Id::CpuSet => wish.cpus = Some(parse_cpus(given.text()?).map_err(refuse)?),
        Id::CoresPerRank => wish.cores = Some(given.number(1)?),
        Id::HwThreads => wish.threads_are_cores = true,
        Id::RankFile => wish.ranks = placement::read_rankfile(given.text()?).map_err(refuse)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Where the ranks run, and what reaches them there.
fn to_hosts(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<bool, String> {
    let refuse = |what: String| given.refuse(what);
    match given.id {
        Id::Hosts => {
            let HostList(hosts) = hosts::parse_list(given.text()?).map_err(refuse)?;
            spec.hosts.extend(hosts);
        }
        Id::HostFile => {
            let HostList(hosts) = hosts::read_file(given.text()?).map_err(refuse)?;
            spec.hosts.extend(hosts);
        }
        Id::RanksPerHost => spec.dealing.ranks_per_host = Some(given.number(1)?),
        Id::RankMap => spec.dealing.host_of_rank = hosts::parse_rank_map(given.text()?).map_err(refuse)?,
        Id::NoLocal => spec.dealing.no_local = true,
        Id::Interface => spec.interface = Some(given.text()?.to_owned()),
        Id::LaunchAgent => spec.launch_agent = agent(given.text()?).map_err(refuse)?,
        Id::Launcher => match given.text()? {
            "rsh" => spec.launch_agent = vec!["rsh".into()],
            "ssh" => {}
            name => note(
                notes,
                format!(
                    "note: {} {name} has no effect: hosts are reached by ssh, or by the command of --launch-agent",
                    given.name
                ),
            ),
        },
        _ => return Ok(false),
    }
    Ok(true)
}

/// What becomes of input and output.
fn to_streams(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<(), String> {
    let streams = &mut spec.streams;
    match given.id {
        Id::Prefix => streams.prefix = Some(JobSpec::RANK_PREFIX.to_owned()),
        Id::PrefixPattern => streams.prefix = Some(given.text()?.to_owned()),
        Id::Timestamps => streams.timestamps = true,
        Id::Merge => streams.merged = true,
        Id::OutFile => streams.files[0] = Some(given.text()?.to_owned()),
        Id::ErrFile => streams.files[1] = Some(given.text()?.to_owned()),
        Id::OutputDirectory => {
            let (directory, only) = without_copy(given.text()?);
            (streams.directory, streams.only_files) = (Some(directory.into()), only);
        }
        Id::Output => output(spec, given, notes)?,
        Id::Stdin => streams.input = given.text()?.parse().map_err(|what: String| given.refuse(what))?,
        _ => {}
    }
    Ok(())
}

/// Takes `:nocopy` away.
fn without_copy(text: &str) -> (&str, bool) {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    (name, rest.split([':', ',']).any(|word| word.eq_ignore_ascii_case("nocopy")))
}

/// What Open MPI's `--output` says.
fn output(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<(), String> {
    let streams = &mut spec.streams;
    for word in given.text()?.split(',') {
        match word.split_once('=') {
            Some(("dir", directory)) => {
                let (directory, only) = without_copy(directory);
                (streams.directory, streams.only_files) = (Some(directory.into()), only);
            }
            Some(("file", file)) => {
                let (file, _) = without_copy(file);
                streams.files = [Some(format!("{file}.%r.out")), Some(format!("{file}.%r.err"))];
            }
            _ => match word.split(':').next().unwrap_or_default() {
                "tag" | "rank" | "tag-detailed" | "tag-fullname" => {
                    streams.prefix = Some(JobSpec::RANK_PREFIX.to_owned());
                }
                "timestamp" => streams.timestamps = true,
                "merge-stderr-to-stdout" | "merge" => streams.merged = true,
                other => {
                    note(notes, format!("note: {} {other} has no effect: lines are passed on as they are", given.name))
                }
            },
        }
    }
    Ok(())
}

fn display(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<(), String> {
    for word in given.text()?.split(',') {
        match word.split(':').next().unwrap_or_default() {
            "map" | "map-devel" | "allocation" => spec.shows_map = true,
            "bind" | "bindings" => spec.report_bindings = true,
            other => {
                note(notes, format!("note: {} {other} has no effect: say --explain and --report-bindings", given.name));
            }
        }
    }
    Ok(())
}

fn runtime_options(spec: &mut JobSpec, given: &Given, notes: &mut Vec<String>) -> Result<(), String> {
    for word in given.text()?.split(',') {
        match word {
            "donotlaunch" => spec.starts_nothing = true,
            other => {
                note(notes, format!("note: {} {other} has no effect: see mpiexec --help", given.name));
            }
        }
    }
    Ok(())
}

/// What has to wait until all is known.
pub(super) fn finish(spec: &mut JobSpec, given: &[Given], notes: &mut Vec<String>) -> Result<(), String> {
    for given in given.iter().filter(|given| given.id == Id::RankBy) {
        let Some(word) = given.values[0].to_str() else { continue };
        apply_rank_by(&mut spec.wish, &mut spec.dealing, word).map_err(|what| given.refuse(what))?;
    }
    leave_this_machine_out(spec, notes);
    use_hosts_of_file(spec)
}

fn leave_this_machine_out(spec: &mut JobSpec, notes: &mut Vec<String>) {
    if !spec.dealing.no_local {
        return;
    }
    if spec.hosts.iter().all(|host| this_machine::is_meant_by(&host.name)) {
        note(notes, "note: --nolocal has no effect: there is no host but this one".to_owned());
    } else {
        spec.hosts.retain(|host| !this_machine::is_meant_by(&host.name));
    }
}

/// Has ranks run on the hosts that the file of `--rankfile` names.
fn use_hosts_of_file(spec: &mut JobSpec) -> Result<(), String> {
    if spec.wish.ranks.is_empty() {
        return Ok(());
    }
    let mut named = Vec::new();
    let mut host_of_rank = Vec::new();
    for place in &spec.wish.ranks {
        let host = match place.host.strip_prefix("+n").map(str::parse::<usize>) {
            Some(Ok(0)) if spec.hosts.is_empty() => "localhost",
            Some(Ok(number)) => match spec.hosts.get(number) {
                Some(host) => &host.name,
                None => return Err(format!("--rankfile: there is no host {} in the list of hosts", place.host)),
            },
            _ => &place.host,
        };
        let known = named.iter().position(|name| name == host);
        host_of_rank.push(known.unwrap_or(named.len()));
        if known.is_none() {
            named.push(host.to_owned());
        }
    }
    let all_here = spec.hosts.is_empty() && named.iter().all(|name| this_machine::is_meant_by(name));
    spec.hosts = if all_here { Vec::new() } else { named.into_iter().map(hosts::HostSlots::named).collect() };
    spec.dealing = Dealing { host_of_rank, ..Dealing::default() };
    Ok(())
}

/// The names of a list.
fn names(given: &Given) -> impl Iterator<Item = OsString> {
    let names = given.values[0].as_bytes().split(|&byte| byte == b',').filter(|name| !name.is_empty());
    names.map(|name| OsString::from_vec(name.to_vec()))
}

/// A variable of the launcher's own environment, if it has it.
fn inherited(name: OsString) -> Option<(OsString, OsString)> {
    env::var_os(&name).map(|value| (name, value))
}

/// The variables that are meant: of the launcher's own all that begin so, if a star ends the name.
fn begin_so(name: OsString) -> Vec<OsString> {
    match name.as_bytes().strip_suffix(b"*") {
        Some(beginning) => {
            env::vars_os().map(|(name, _)| name).filter(|name| name.as_bytes().starts_with(beginning)).collect()
        }
        None => vec![name],
    }
}

/// `NAME[C] VALUE`: a variable with the launcher's own value and VALUE in the given order, C between them.
fn joined(
    given: &Given,
    order: for<'a> fn(&'a [u8], &'a [u8]) -> [&'a [u8]; 2],
) -> Result<(OsString, OsString), String> {
    let parts = given.text()?.strip_suffix(']').and_then(|name| name.rsplit_once('['));
    let (name, between) =
        parts.ok_or_else(|| given.refuse("it wants a name with what separates values, as PATH[:]"))?;
    let more = given.values[1].as_bytes();
    let value = match env::var_os(name).filter(|had| !had.is_empty()) {
        Some(had) => order(had.as_bytes(), more).join(between.as_bytes()),
        None => more.to_vec(),
    };
    Ok((name.into(), OsString::from_vec(value)))
}

/// `-x NAME` passes the launcher's value on, which every rank inherits anyway; `-x NAME=VALUE` sets it.
fn exported(export: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = export.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(end) => {
            Some((OsStr::from_bytes(&bytes[..end]).to_owned(), OsStr::from_bytes(&bytes[end + 1..]).to_owned()))
        }
        None => inherited(export.to_owned()),
    }
}

/// What Open MPI's `--with-ft` says.
fn tolerates(given: &Given) -> Result<bool, String> {
    match given.text()? {
        "ulfm" | "mpi" | "true" | "yes" | "1" => Ok(true),
        "none" | "false" | "no" | "0" => Ok(false),
        _ => Err(given.refuse("choose ulfm or none")),
    }
}

fn protocol(given: &Given) -> Result<Protocol, String> {
    let known = [Protocol::Auto, Protocol::Sr, Protocol::Nsr];
    let named = known.into_iter().find(|protocol| given.values[0] == protocol.name());
    named.ok_or_else(|| given.refuse("choose auto, sr or nsr"))
}

/// Splits a command into words as a shell would.
fn agent(command: &str) -> Result<Vec<OsString>, String> {
    let words = shlex::split(command).ok_or("a quotation mark is not closed, or nothing follows a backslash")?;
    if words.is_empty() { Err("names no command".to_owned()) } else { Ok(words.into_iter().map(Into::into).collect()) }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| "not a sensible number of seconds".to_owned())?;
    if duration.is_zero() { Err("must be more than 0".to_owned()) } else { Ok(duration) }
}
