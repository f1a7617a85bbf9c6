//! Rules for one Rust file at a time.

use super::policy;
use super::source::{Located, SourceFile, words_of};
use super::{Findings, Violation};

/// All of them.
pub fn check(file: &SourceFile, found: &mut Findings) {
    module_documentation(file, found);
    length(file, found);
    width_of_comments(file, found);
    unsafe_code(file, found);
    atomics(file, found);
    transport_words(file, found);
    launcher_borrows_little(file, found);
}

fn module_documentation(file: &SourceFile, found: &mut Findings) {
    if !file.text.trim_start().starts_with("//!") {
        found.add(file.name(), 1, "begin the file with `//!` lines that say why it exists and what always holds in it");
    }
}

fn length(file: &SourceFile, found: &mut Findings) {
    let lines = file.text.lines().count();
    if lines > policy::FILE_LINES_MAX {
        let most = policy::FILE_LINES_MAX;
        found.add(
            file.name(),
            most,
            format!("{lines} lines, at most {most}: move one of its ideas to a file of its own"),
        );
    }
}

/// The formatter wraps code, and leaves comments alone.
fn width_of_comments(file: &SourceFile, found: &mut Findings) {
    let most = policy::COMMENT_WIDTH_MAX;
    let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > most;
    for (number, _) in file.text.lines().enumerate().filter(|(_, line)| is_wide(line)) {
        found.add(file.name(), number + 1, format!("a comment beyond column {most}: wrap it"));
    }
}

/// That an opted-in file is on the list, and that no other has unsafe code under a parent's permission.
fn unsafe_code(file: &SourceFile, found: &mut Findings) {
    let opted_in = file.text.lines().position(|line| line.starts_with("#![allow(") && line.contains("unsafe_code"));
    let first_use = file.words.iter().find(|word| word.text == "unsafe");
    let listed = policy::UNSAFE_FILES.contains(&file.name());
    // Generated code is no file of the source tree: its permission stands where it is included.
    let includes = opted_in.is_some() && file.text.contains("\ninclude!(");
    match (opted_in, first_use) {
        (Some(line), _) if !listed => found.add(
            file.name(),
            line + 1,
            "unsafe code only in the files that xtask/src/tidy/policy.rs lists: use what those offer, or argue for the list",
        ),
        (None, Some(word)) => found.add(
            file.name(),
            word.line,
            "unsafe code without `#![allow(unsafe_code)]` at the top of this very file: move it to a file that has it",
        ),
        (_, None) if listed && !includes => found.add(
            file.name(),
            1,
            "has no unsafe code any more: take it off the list in xtask/src/tidy/policy.rs",
        ),
        _ => {}
    }
}

fn atomics(file: &SourceFile, found: &mut Findings) {
    if policy::ATOMICS_FILES.contains(&file.name()) || !is_shipped(file) {
        return;
    }
    let of_std = |path: &&Located| {
        let path = path.text.trim_start_matches("std::").trim_start_matches("core::");
        path.starts_with("sync::atomic")
    };
    if let Some(path) = file.paths.iter().find(of_std) {
        let text =
            format!("`{}`: take atomics from the transport's `primitive` module, so that loom sees them", path.text);
        found.add(file.name(), path.line, text);
    }
}

/// Whether the file is part of a library or program, not of its tests.
fn is_shipped(file: &SourceFile) -> bool {
    file.path.components().any(|part| part.as_os_str() == "src") && !file.path.starts_with("tests")
}

fn transport_words(file: &SourceFile, found: &mut Findings) {
    if !file.path.starts_with("transport") {
        return;
    }
    for place in file.words.iter().chain(&file.docs) {
        for word in words_of(&place.text) {
            let excused = policy::MPI_WORD_EXCEPTIONS.contains(&(file.name(), word.as_str()));
            if policy::MPI_WORDS.contains(&word.as_str()) && !excused {
                let text =
                    format!("`{word}` is a word of MPI: the transport knows peers and bytes, say it in its terms");
                found.add(file.name(), place.line, text);
            }
        }
    }
}

fn launcher_borrows_little(file: &SourceFile, found: &mut Findings) {
    if !file.path.starts_with("launcher/src") {
        return;
    }
    for path in &file.paths {
        let Some(item) = path.text.strip_prefix("rwmpi_core") else { continue };
        let item = item.trim_start_matches("::").split("::").next().unwrap_or_default();
        // The bare name of the crate stands at the head of braces, whose items follow on their own.
        if !item.is_empty() && !policy::LAUNCHER_MAY_USE_OF_CORE.contains(&item) {
            let allowed = policy::LAUNCHER_MAY_USE_OF_CORE.join(", ");
            let text = format!("`{}`: the launcher knows no MPI, of rwmpi_core only {allowed} is for it", path.text);
            found.add(file.name(), path.line, text);
        }
    }
}

/// Files that a list names but that are not there.
pub fn stale_lists(files: &[SourceFile], found: &mut Findings) {
    let excused = policy::MPI_WORD_EXCEPTIONS.iter().map(|(file, _)| file);
    for name in policy::UNSAFE_FILES.iter().chain(policy::ATOMICS_FILES).chain(excused) {
        if !files.iter().any(|file| file.name() == *name) {
            found.push(Violation {
                file: "xtask/src/tidy/policy.rs".to_string(),
                line: 1,
                text: format!("lists {name}, which is not there: take it off"),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut found = Findings::default();
        check(&SourceFile::parse(path, text.to_string()).unwrap(), &mut found);
        found.lines()
    }

    #[track_caller]
    fn assert_one(path: &str, text: &str, expected_start: &str) {
        let found = findings(path, text);
        assert!(found.len() == 1 && found[0].starts_with(expected_start), "{found:?}");
    }

    #[test]
    fn sound_code_passes() {
        assert!(findings("mpi-core/src/a.rs", "//! Why.\nuse std::sync::Arc;\n/// A rank.\nfn rank() {}\n").is_empty());
        assert!(findings(policy::UNSAFE_FILES[0], "//! Why.\n#![allow(unsafe_code)]\nunsafe fn f() {}\n").is_empty());
    }

    #[test]
    fn module_documentation_is_missed() {
        assert_one("mpi-core/src/a.rs", "// Why.\nfn f() {}\n", "mpi-core/src/a.rs:1: begin the file");
    }

    #[test]
    fn long_files_are_found() {
        let text = format!("//! Why.\n{}", "\n".repeat(policy::FILE_LINES_MAX));
        assert_one("mpi-core/src/a.rs", &text, "mpi-core/src/a.rs:600: 601 lines");
        let text = format!("//! Why.\n{}", "\n".repeat(policy::FILE_LINES_MAX - 1));
        assert!(findings("mpi-core/src/a.rs", &text).is_empty());
    }

    #[test]
    fn wide_comments_are_found() {
        let text = format!("//! Why.\nfn f() {{\n    // {}\n}}\n", "é".repeat(114));
        assert_one("mpi-core/src/a.rs", &text, "mpi-core/src/a.rs:3: a comment beyond column 120");
        assert!(findings("mpi-core/src/a.rs", &text.replacen('é', "", 1)).is_empty());
    }

    #[test]
    fn unsafe_code_stays_where_it_is_expected() {
        let unlisted = "//! Why.\n#![allow(unsafe_code)]\nunsafe fn f() {}\n";
        assert_one("mpi-core/src/a.rs", unlisted, "mpi-core/src/a.rs:2: unsafe code only in the files");
        let inherited = "//! Why.\nfn f() {\n    unsafe { g() }\n}\n";
        assert_one("mpi-core/src/a.rs", inherited, "mpi-core/src/a.rs:3: unsafe code without");
        assert_one(
            policy::UNSAFE_FILES[0],
            "//! Why.\n",
            &format!("{}:1: has no unsafe code any more", policy::UNSAFE_FILES[0]),
        );
        assert!(findings("mpi-core/src/a.rs", "//! No unsafe here.\n#![forbid(unsafe_code)]\n").is_empty());
    }

    #[test]
    fn atomics_of_the_standard_library_are_found_in_any_spelling() {
        for text in [
            "//! Why.\nuse std::sync::atomic::AtomicU32;",
            "//! Why.\nuse core::{cell::Cell, sync::{atomic}};",
            "//! Why.\nfn f() { sync::atomic::fence(o) }",
        ] {
            assert_one("transport/src/a.rs", text, "transport/src/a.rs:2: ");
        }
        assert!(findings("transport/src/a.rs", "//! Why.\nuse crate::primitive::atomic::AtomicU32;").is_empty());
        assert!(findings("transport/tests/a.rs", "//! Why.\nuse std::sync::atomic::AtomicU32;").is_empty());
    }

    #[test]
    fn the_transport_has_no_words_of_mpi() {
        assert_one("transport/src/a.rs", "//! Why.\nfn my_rank() {}", "transport/src/a.rs:2: `rank`");
        assert_one("transport/src/a.rs", "//! Why.\nstruct TagSet;", "transport/src/a.rs:2: `tag`");
        assert_one("transport/src/a.rs", "//! Peers of a communicator.", "transport/src/a.rs:1: `communicator`");
        assert!(findings("transport/src/a.rs", "//! Why.\nconst V: &str = \"RWMPI_RANK\"; // of the rank").is_empty());
    }

    #[test]
    fn the_launcher_borrows_little_of_core() {
        let text = "//! Why.\nuse rwmpi_core::{describe_activity, Communicator};";
        assert_one("launcher/src/a.rs", text, "launcher/src/a.rs:2: `rwmpi_core::Communicator`");
        assert_one("launcher/src/a.rs", "//! Why.\nuse rwmpi_core::*;", "launcher/src/a.rs:2: `rwmpi_core::*`");
    }

    #[test]
    fn lists_name_only_files_that_exist() {
        let mut found = Findings::default();
        stale_lists(&[], &mut found);
        assert!(found.lines().iter().any(|line| line.contains("lists transport/src/span.rs")), "{:?}", found.lines());
    }
}
