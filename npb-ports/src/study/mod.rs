//! To come.

use std::ffi::OsString;
use std::process::ExitCode;

/// `npb study …`; `arguments` are those after the word `study`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let _ = arguments;
    todo!()
}
