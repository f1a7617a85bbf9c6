//! Gives the ranks' programs their large memory in the job's file: by the library `librwmpi_heap.so`, which replaces
//! their `malloc`.
//!
//! The library finds out for itself whether it is of use. It is put behind what the user preloads, so that an allocator
//! or a sanitizer among that comes first, as it has to.

use crate::environment::Environment;
use crate::plan::PlannedSection;
use rwmpi_transport::Job;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The library.
const LIBRARY: &str = "librwmpi_heap.so";
/// `off` switches it off.
const SWITCH: &str = rwmpi_transport::settings::SHARED_HEAP;
const PRELOAD: &str = "LD_PRELOAD";
/// Where the address sanitizer reads its settings.
const SANITIZER: &str = "ASAN_OPTIONS";
/// Without it the sanitizer refuses to run with any library loaded before it. Ours leaves all memory to it.
const NOT_FIRST: &str = "verify_asan_link_order=0";

/// What to set for the ranks of a section.
pub(crate) fn variables(section: &PlannedSection) -> Vec<(&'static str, OsString)> {
    match library() {
        Some(library) if !is_off(&section.environment) && !section.is_container() => {
            variables_for(library, &section.environment)
        }
        _ => Vec::new(),
    }
}

fn variables_for(library: PathBuf, environment: &Environment) -> Vec<(&'static str, OsString)> {
    let join = |first: Option<OsString>, next: OsString| match first {
        Some(mut list) if !list.is_empty() => {
            list.push(":");
            list.push(next);
            list
        }
        _ => next,
    };
    vec![
        (PRELOAD, join(environment.get(PRELOAD), library.into())),
        (SANITIZER, join(environment.get(SANITIZER), NOT_FIRST.into())),
    ]
}

fn is_off(environment: &Environment) -> bool {
    environment.get(SWITCH).is_some_and(|value| value == "off")
}

/// The library where it is installed, or beside the program where that was built. The loader would take a space or
/// colon in its path for the end of it.
pub(crate) fn library() -> Option<PathBuf> {
    library_near(&env::current_exe().ok()?)
}

fn library_near(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    let places = [folder.parent()?.join("lib").join(LIBRARY), folder.join(LIBRARY)];
    let usable = |path: &PathBuf| path.is_file() && !path.to_string_lossy().contains([' ', ':']);
    places.into_iter().find(usable)
}

/// What becomes of the programs' large memory, and why.
pub(crate) fn explain(job: &Job, section: &PlannedSection) -> String {
    if is_off(&section.environment) {
        return private(format!("{SWITCH} is off"));
    }
    if section.is_container() {
        return private(format!("{} starts programs where this library may not be", section.name.display()));
    }
    explain_with(library(), job)
}

fn private(reason: String) -> String {
    format!("malloc: large blocks are private memory: {reason}")
}

fn explain_with(library: Option<PathBuf>, job: &Job) -> String {
    if library.is_none() {
        return private(format!("there is no {LIBRARY} beside the launcher or in its lib folder"));
    }
    match job.check_arenas() {
        Ok(()) => format!(
            "malloc: large blocks are shared memory, and so are a program's static arrays ({SWITCH}=off makes them private)"
        ),
        Err(reason) => private(reason.to_string()),
    }
}

/// What became of it.
pub(crate) fn result(job: &Job) -> Vec<String> {
    let uses: Vec<_> = (0..job.peers()).map(|peer| job.arena_use(peer)).collect();
    let used = uses.iter().filter(|arena| arena.used).count();
    let most = uses.iter().map(|arena| arena.most_bytes).max().unwrap_or(0);
    let [shared, kernel] = job.copied();
    let mut lines = vec![
        format!(
            "malloc: {used} of {} ranks had large blocks in shared memory, at most {} each",
            uses.len(),
            mega(most)
        ),
        format!("copied: {} through shared memory, {} by the kernel", mega(shared), mega(kernel)),
    ];
    let full: Vec<String> =
        uses.iter().enumerate().filter(|(_, arena)| arena.exhausted).map(|(rank, _)| rank.to_string()).collect();
    if !full.is_empty() {
        lines.push(format!(
            "malloc: blocks for which the shared memory had no room were private: rank {}",
            full.join(", ")
        ));
    }
    lines
}

fn mega(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_private_without_the_library_or_when_switched_off() {
        assert_eq!(library_near(Path::new("/nowhere/bin/mpiexec")), None);
        let job = Job::create(1, None).unwrap();
        assert!(explain_with(None, &job).contains(LIBRARY));
        assert!(is_off(&Environment { set: vec![(SWITCH.into(), "off".into())], ..Environment::default() }));
    }

    #[test]
    fn the_result_counts_ranks_and_bytes() {
        let lines = result(&Job::create(3, None).unwrap());
        assert_eq!(lines[0], "malloc: 0 of 3 ranks had large blocks in shared memory, at most 0.0 MB each");
        assert_eq!(lines[1], "copied: 0.0 MB through shared memory, 0.0 MB by the kernel");
        assert_eq!(lines.len(), 2);
    }
}
