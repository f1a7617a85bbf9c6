//! Starts the ranks of an MPI job; see `mpirun --help`. It becomes the `mpiexec` that lies beside it: the launcher is
//! compiled and kept once.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mpiexec = match std::env::current_exe() {
        Ok(own) => own.with_file_name("mpiexec"),
        Err(error) => return failed(&format!("cannot find where it is installed: {error}")),
    };
    let error = Command::new(&mpiexec).args(std::env::args_os().skip(1)).exec();
    failed(&format!("cannot run {}, which does its work: {error}", mpiexec.display()))
}

fn failed(why: &str) -> ExitCode {
    eprintln!("mpirun: {why}");
    ExitCode::FAILURE
}
