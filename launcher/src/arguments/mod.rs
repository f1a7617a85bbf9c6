//! `mpiexec`'s arguments, in the dialects of the common launchers.
//!
//! Sections are separated by a lone `:`. Within one, options end at the first word that is not an option: the program,
//! whose own arguments are never looked at. Long options may have one dash or two. What options there are says `table`.

mod apply;
mod help;
mod table;
#[cfg(test)]
mod tests;
mod words;

use crate::doctor;
use crate::information;
use crate::job_spec::{JobSpec, Section};
use std::env;
use std::ffi::OsString;
use std::time::Duration;
use table::Id;

/// What the user asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) spec: JobSpec,
    /// Remarks on options that do nothing.
    pub(crate) notes: Vec<String>,
}

/// What comes of arguments that make sense.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A job.
    Job(Box<Request>),
    /// A text, to be shown on standard output.
    Text(String),
}

/// The options that name a file with programs.
const FILE_OPTIONS: [&str; 4] = ["-configfile", "--configfile", "-app", "--app"];

/// Turns the arguments after the program's own name into a job; or says what is wrong with them.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Asked, String> {
    let arguments = with_file(arguments)?;
    let (mut sections, mut all, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for words in arguments.split(|word| word == ":") {
        let (given, program) = words::split(words, &mut notes)?;
        if let Some(text) = given.iter().find_map(text_of) {
            return text.map(Asked::Text);
        }
        if given.iter().any(|given| given.id == Id::Doctor) {
            return examination(&given, &mut notes).map(Asked::Text);
        }
        let Some((program, arguments)) = program.split_first() else {
            return Err("there is no program to start".to_owned());
        };
        let mut section = Section::new(program).arguments(arguments);
        for given in given {
            if !apply::to_section(&mut section, &given)? {
                all.push(given);
            }
        }
        sections.push(section);
    }
    let mut sections = sections.into_iter();
    let first = sections.next().ok_or("there is no program to start")?;
    let mut spec = sections.fold(JobSpec::new(first), JobSpec::section);
    for given in &all {
        apply::to_job(&mut spec, given, &mut notes)?;
    }
    apply::finish(&mut spec, &all, &mut notes)?;
    if spec.timeout.is_none() {
        spec.timeout = timeout_of_environment()?;
    }
    if spec.quiet {
        notes.clear();
    }
    Ok(Asked::Job(Box::new(Request { spec, notes })))
}

/// What `--doctor` says, of the hosts too that are among the options.
fn examination(given: &[words::Given], notes: &mut Vec<String>) -> Result<String, String> {
    let mut spec = JobSpec::new(Section::new(""));
    given.iter().try_for_each(|given| apply::to_job(&mut spec, given, notes))?;
    Ok(doctor::examine(&spec.hosts, &spec.launch_agent))
}

/// The text that an option asks for instead of a job.
fn text_of(given: &words::Given) -> Option<Result<String, String>> {
    Some(match given.id {
        Id::Help => Ok(help::text()),
        Id::HelpSettings => Ok(help::settings()),
        Id::Version => Ok(format!("mpiexec of rwmpi {}\n", env!("CARGO_PKG_VERSION"))),
        Id::Info => Ok(information::of_build()),
        Id::Describe => help::description(given),
        Id::ConfigFile => Err(format!("'{}' and its file are the last of the options", given.name)),
        _ => return None,
    })
}

/// Replaces `-configfile FILE` at the end by what the file says: a section in each line.
fn with_file(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_option = |word: &OsString| FILE_OPTIONS.iter().any(|option| word == *option);
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
    apply::seconds(&text).map(Some).map_err(|what| format!("{VARIABLE}={text}: {what}"))
}
