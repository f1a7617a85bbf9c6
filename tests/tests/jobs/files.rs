//! What becomes of a job with files when a rank dies: one report, and nothing left behind but the program's own file.

use std::fs;
use std::path::Path;

use rwmpi_abi_table::Interface;

use crate::c_support::{Library, sources};
use crate::launcher_support::mpiexec;

/// Kills `victim` of three ranks in the middle of a collective write.
fn killed_while_writing(library: &Library, options: &[&str], victim: &str, way: &str) {
    let program = library.compile(&sources().join("tools/file_killed.c"), &[]).unwrap();
    let case = [options.concat(), victim.to_owned(), way.to_owned()].join("-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("file-killed{case}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("data");
    let words = [program.as_os_str(), file.as_os_str(), victim.as_ref(), way.as_ref()];
    let job = mpiexec(["-n", "3"].iter().chain(options).map(AsRef::as_ref).chain(words));
    let finished = job.command(|command| _ = command.env("TMPDIR", &folder)).run();
    finished.assert_report(137, &[&format!("rank {victim} (pid "), "SIGKILL"]);
    fs::remove_file(file).expect("it was created");
    fs::remove_dir(&folder).expect("nothing else is there");
}

#[test]
fn a_rank_that_dies_in_a_collective_write_ends_the_job() {
    let library = Library::new(Interface::Standard);
    for options in [&[][..], &["--transport", "tcp"]] {
        // The first rank writes for all, or each writes its own part.
        killed_while_writing(&library, options, "0", "together");
        killed_while_writing(&library, options, "0", "apart");
        killed_while_writing(&library, options, "2", "apart");
    }
}
