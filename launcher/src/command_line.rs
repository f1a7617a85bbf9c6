//! The program `mpiexec`: arguments in, exit code out.

use crate::arguments::{self, Asked, Request};
use crate::daemon;
use crate::dispositions;
use crate::error::{LaunchError, exit_code};
use crate::job_spec::Outcome;
use crate::output::{LostOutput, say};
use crate::stand_in;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Does what the arguments (without the program's own name) ask for, and says so on standard output and standard error.
pub fn command_line(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    dispositions::prepare_launcher();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments == [daemon::OPTION] {
        return daemon::serve();
    }
    if let Some(code) = stand_in::serve(&arguments) {
        return code;
    }
    match arguments::parse(arguments) {
        Ok(Asked::Job(request)) => {
            let Request { spec, notes } = *request;
            for note in notes {
                say(&note);
            }
            finish(
                spec.forward_signals(true)
                    .describe_activity(rwmpi_core::describe_activity)
                    .describe_wait(rwmpi_core::describe_wait)
                    .run(),
            )
            .into()
        }
        Ok(Asked::Text(text)) => show(&text),
        Err(what) => {
            say(&format!("{what}\nmpiexec --help shows what there is"));
            ExitCode::from(exit_code::USAGE)
        }
    }
}

/// Writes a text that was asked for.
fn show(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let lost = LostOutput::of_stdout(&error);
            say(&lost.to_string());
            lost.exit_code().into()
        }
    }
}

/// Shows what went wrong, if anything, and gives the exit code.
pub(crate) fn finish(result: Result<Outcome, LaunchError>) -> u8 {
    match result {
        Ok(outcome) => {
            if let Some(report) = outcome.report {
                say(&report);
            }
            outcome.exit_code
        }
        Err(error) => {
            say(&error.to_string());
            error.exit_code()
        }
    }
}
