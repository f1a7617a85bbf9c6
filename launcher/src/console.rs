//! The program `rwmpi-console`, which does what takes more than a launcher has: it draws tables in a terminal and reads
//! what compilers leave for debuggers.
//!
//! It is a program of its own, as what it is made of would otherwise come with the library to each program in Rust: of
//! packages that only some programs of a library need, cargo knows nothing.

use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "rwmpi-console";

/// Has it do that; `None` if it is neither beside this program nor where programs are looked for.
pub(crate) fn command(what: &str) -> Option<Command> {
    let mut command = Command::new(path()?);
    command.arg(what);
    Some(command)
}

/// Where it is.
fn path() -> Option<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    // A program that starts itself as a job lies elsewhere.
    let searched = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(std::env::split_paths(&searched)).map(|folder| folder.join(NAME)).find(|path| path.is_file())
}
