//! `rwmpi-console`: what `mpiexec` has done by a program of its own, as it takes more than a library for ranks should
//! bring along: names for places in programs, and a live table of a job.
//!
//! Nobody calls it but `mpiexec`, which speaks with it over its standard input and output.
#![forbid(unsafe_code)]

mod session;
mod snapshot;
mod symbols;
mod table;

use std::io::{self, BufReader};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("symbols") => symbols::answer(io::stdin().lock(), io::stdout().lock()),
        Some("watch") => session::run(BufReader::new(io::stdin()), io::stdout()),
        Some("--version") => {
            println!("rwmpi-console {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        _ => {
            eprintln!("rwmpi-console is for mpiexec, which starts it where it needs it: mpiexec --watch");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rwmpi-console: {error}");
            ExitCode::FAILURE
        }
    }
}
