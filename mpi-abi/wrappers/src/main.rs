//! `mpicc`, `mpicxx`, `mpifort`, `mpif77`, `mpif90`: one program that does as the name says by which it was called, or
//! which `--called-as=` gives as the first argument: scripts have the other names where there can be no links.
//!
//! It runs the user's compiler with this MPI's headers and libraries, which it finds beside itself: in `../include` and
//! `../lib` of the folder that it lies in, so an installation can be moved. What it understands itself is what MPICH's
//! wrappers do, since build systems know those; all else is the compiler's.
#![forbid(unsafe_code)]

mod command;
mod modules;
mod options;

use std::env;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use command::{Language, Layout};
use options::Request;

const CALLED_AS: &str = "--called-as=";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output, all of it.
fn print(text: &str) -> Result<ExitCode, String> {
    let mut output = io::stdout();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map(|()| ExitCode::SUCCESS).map_err(|error| format!("cannot write to standard output: {error}"))
}

fn run() -> Result<ExitCode, String> {
    let mut arguments = env::args().peekable();
    let called = PathBuf::from(arguments.next().unwrap_or_default());
    let given = arguments.next_if(|first| first.starts_with(CALLED_AS));
    let name = match &given {
        Some(given) => given[CALLED_AS.len()..].to_owned(),
        None => called.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let language = Language::of_wrapper(&name).ok_or_else(|| {
        format!(
            "{name}: call this program as mpicc, mpicxx, mpifort, mpif77 or mpif90; it is installed under these names"
        )
    })?;
    let own = env::current_exe().map_err(|error| format!("{name}: cannot find where it is installed: {error}"))?;
    let layout = Layout::around(&own).ok_or_else(|| format!("{name}: {} lies in no `bin` folder", own.display()))?;
    let options = options::parse(language, arguments).map_err(|what| format!("{name}: {what}"))?;
    if let Request::Help = options.request {
        return print(&options::help(&name, language)).map_err(|what| format!("{name}: {what}"));
    }
    let overridden =
        language.overrides().iter().find_map(|variable| env::var(variable).ok().filter(|it| !it.is_empty()));
    let line = command::line(language, &layout, &options, overridden).map_err(|what| format!("{name}: {what}"))?;
    if let Request::Show = options.request {
        return print(&format!("{}\n", command::shown(&line))).map_err(|what| format!("{name}: {what}"));
    }
    if options.echo {
        eprintln!("{}", command::shown(&line));
    }
    let error = Command::new(&line[0]).args(&line[1..]).exec();
    Err(format!("{name}: cannot run the compiler `{}`: {error}", line[0]))
}
