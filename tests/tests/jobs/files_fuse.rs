//! Programs with files on a file system that does little a call, is interrupted, has no locks or no room: a real one,
//! which the kernel asks (FUSE).

use std::ffi::OsStr;
use std::path::Path;

use rustix::io::Errno;
use rwmpi_abi_table::Interface;

use crate::c_support::{Library, sources, text};
use crate::fuse_support::{Faults, Mounted};

const RANKS: u32 = 2;

/// Runs a program on the file system.
fn run(library: &Library, mounted: &Mounted, source: &Path, ranks: u32, words: &[&str]) {
    let program = library.compile(source, &[]).unwrap();
    let command: Vec<&OsStr> = [program.as_os_str()].into_iter().chain(words.iter().map(OsStr::new)).collect();
    let output = library.run(ranks, &command, &[("TMPDIR", mounted.folder.as_os_str())]);
    assert!(output.status.success(), "{} {words:?} with {ranks} ranks: {}", program.display(), text(&output));
}

fn refusals() -> std::path::PathBuf {
    sources().join("tools/file_refusals.c")
}

/// Runs some of the programs that run elsewhere, too, with their words: how many rounds they make, since each block of
/// theirs is a call here, which takes some 30 microseconds.
fn run_all(mounted: &Mounted, programs: &[(&str, &[&str])]) {
    let library = Library::new(Interface::Standard);
    for (name, words) in programs {
        run(&library, mounted, &sources().join(name), RANKS, words);
    }
}

#[test]
fn short_and_interrupted_calls_lose_nothing() {
    let Some(mounted) = Mounted::new("short", Faults { is_short: true, ..Faults::default() }) else { return };
    let programs: [(&str, &[&str]); 7] = [
        ("file_atomic.c", &["1"]),
        ("file_collective.c", &[]),
        ("file_open.c", &[]),
        ("file_pointers.c", &[]),
        ("file_random.c", &["15"]),
        ("file_representations.c", &[]),
        ("file_views.c", &[]),
    ];
    run_all(&mounted, &programs);
}

/// It makes calls of its own and wants them to be whole.
#[test]
fn a_file_system_without_faults_is_like_others() {
    let Some(mounted) = Mounted::new("whole", Faults::default()) else { return };
    run_all(&mounted, &[("file_nonblocking.c", &[])]);
}

#[test]
fn where_there_are_no_locks_only_what_needs_them_is_refused() {
    for (name, error) in [("unlocked", Errno::NOLCK), ("unsupported", Errno::NOSYS)] {
        let Some(mounted) = Mounted::new(name, Faults { locks: Some(error), ..Faults::default() }) else { return };
        run(&Library::new(Interface::Standard), &mounted, &refusals(), 3, &["locks"]);
    }
}

#[test]
fn who_finds_no_room_knows_what_was_written() {
    /// `BYTES` in the program.
    const BYTES: usize = 48_000;
    let library = Library::new(Interface::Standard);
    for is_short in [false, true] {
        for ranks in [1, 3] {
            let room = (ranks - 1) * BYTES + BYTES / 3;
            let faults = Faults { is_short, room: Some(room), ..Faults::default() };
            let Some(mounted) = Mounted::new(&format!("full-{is_short}-{ranks}"), faults) else { return };
            run(&library, &mounted, &refusals(), ranks as u32, &["room", &room.to_string()]);
        }
    }
}

#[test]
fn what_is_lost_after_it_was_taken_is_told_at_the_end() {
    let Some(mounted) = Mounted::new("late", Faults { is_late: true, ..Faults::default() }) else { return };
    run(&Library::new(Interface::Standard), &mounted, &refusals(), 3, &["late"]);
}
