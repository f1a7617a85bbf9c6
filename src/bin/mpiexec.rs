//! Starts the ranks of an MPI job; see `mpiexec --help`.

fn main() -> std::process::ExitCode {
    rwmpi_launcher::command_line(std::env::args_os().skip(1))
}
