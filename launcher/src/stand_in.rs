//! `mpiexec` in two hidden modes, for a process that was started without it and spawns ranks (MPI_Comm_spawn of a
//! singleton): one starts a launcher for it, the other is the launcher's rank that stands in for it.

use crate::output::say;
use rwmpi_transport::singleton::{self, FOR_SINGLETON};
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// The option that chooses the second.
const STAND_IN: &str = "--stand-in";

/// What one of these modes comes to, if the arguments choose one.
pub(crate) fn serve(arguments: &[OsString]) -> Option<ExitCode> {
    let [option] = arguments else { return None };
    let result = match option.to_str()? {
        FOR_SINGLETON => start_launcher().map_err(|error| format!("can't start itself: {error}")),
        STAND_IN => stand_in(),
        _ => return None,
    };
    Some(result.map_or_else(
        |what| {
            say(&what);
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    ))
}

/// Standard input, which is the way to that process, becomes the rank's.
fn start_launcher() -> std::io::Result<()> {
    let own = std::env::current_exe()?;
    Command::new(&own).args(["-n", "1"]).arg(&own).arg(STAND_IN).spawn().map(drop)
}

fn stand_in() -> Result<(), String> {
    match singleton::stand_in()? {
        true => Ok(()),
        false => Err("the process that has spawned ranks ended without MPI_Finalize".to_owned()),
    }
}
