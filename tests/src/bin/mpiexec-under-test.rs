//! `mpiexec` once more, as a binary of this package, so that cargo builds it for the tests here and tells them where it
//! is.

fn main() -> std::process::ExitCode {
    rwmpi_launcher::command_line(std::env::args_os().skip(1))
}
