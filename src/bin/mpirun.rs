//! Starts the ranks of an MPI job; see `mpirun --help`. The same program as `mpiexec`.

fn main() -> std::process::ExitCode {
    rwmpi_launcher::command_line(std::env::args_os().skip(1))
}
