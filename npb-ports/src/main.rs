//! The `npb` command: see [`npb::command_line`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    npb::command_line::main()
}
