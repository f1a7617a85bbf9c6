//! The book: every chapter is listed, every link and every included program is there, and every example is in it and
//! tested.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn chapters() -> PathBuf {
    root().join("docs/book/src")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the files in a folder that end so.
fn names(folder: &Path, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(end)).collect()
}

/// What stands in `text` between each `before` and the next `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn every_chapter_is_listed() {
    let summary = text(&chapters().join("SUMMARY.md"));
    let listed: BTreeSet<String> = between(&summary, "](", ")").into_iter().map(str::to_string).collect();
    let mut there = names(&chapters(), ".md");
    there.remove("SUMMARY.md");
    assert_eq!(listed, there);
}

#[test]
fn every_link_leads_somewhere() {
    for name in names(&chapters(), ".md") {
        for link in between(&text(&chapters().join(&name)), "](", ")") {
            let file = link.split('#').next().unwrap_or_default();
            let there = link.starts_with("https://") || file.is_empty() || chapters().join(file).exists();
            assert!(there, "{name} links to {link}, which is not there");
        }
    }
}

#[test]
fn what_stands_in_chapters_as_code_is_compiled() {
    let compiled = text(&root().join("src/lib.rs"));
    for name in names(&chapters(), ".md") {
        let chapter = text(&chapters().join(&name));
        let of_its_own = between(&chapter, "```rust", "```").into_iter().any(|block| {
            let (kind, code) = block.split_once('\n').unwrap_or_default();
            kind != ",ignore" && !code.starts_with("{{#include")
        });
        assert_eq!(of_its_own, compiled.contains(&format!("docs/book/src/{name}")), "{name} and src/lib.rs");
    }
}

/// By the rule that the chapters state: an example's lines, from its signature to its end.
fn lines(program: &str, function: &str) -> usize {
    let from = program.split_once(&format!("pub fn {function}(")).unwrap_or_else(|| panic!("there is no {function}")).1;
    let body = from.split_once("\n}").map_or(from, |(body, _)| body);
    let counts = |line: &&str| {
        let left_out = ["//", "use ", "Ok(())"].iter().any(|start| line.starts_with(start));
        !left_out && line.contains(char::is_alphanumeric)
    };
    body.lines().map(str::trim).filter(counts).count()
}

#[test]
fn ported_examples_are_at_most_as_long_as_the_originals() {
    for name in ["mpi4py", "rsmpi"] {
        let program = text(&root().join(format!("examples/{name}.rs")));
        let chapter = text(&chapters().join(format!("{name}.md")));
        let rows: Vec<Vec<&str>> = chapter
            .lines()
            .filter(|line| line.starts_with("| "))
            .skip(1)
            .map(|line| line.split(" | ").collect())
            .collect();
        assert!(rows.len() > 5, "{name} has a table");
        for row in rows {
            let [function, theirs, ours] = row[..] else { panic!("{row:?}") };
            let function = function.trim_start_matches("| ").split(' ').next().unwrap_or_default();
            let [theirs, ours] = [theirs, ours].map(|count| count.trim_end_matches(" |").parse::<usize>().unwrap());
            assert_eq!(lines(&program, function), ours, "{name}: {function}");
            assert!(ours <= theirs, "{name}: {function}");
        }
    }
}

#[test]
fn every_example_is_in_the_book_and_tested() {
    let mut included = BTreeSet::new();
    for name in names(&chapters(), ".md") {
        for include in between(&text(&chapters().join(&name)), "{{#include ", "}}") {
            let (file, anchor) = include.split_once(':').map_or((include, None), |(file, anchor)| (file, Some(anchor)));
            let program = text(&chapters().join(file));
            if let Some(anchor) = anchor {
                let ends = format!("ANCHOR_END: {anchor}\n");
                assert!(
                    program.contains(&format!("ANCHOR: {anchor}\n")) && program.contains(&ends),
                    "{name}: {include}"
                );
            }
            included.extend(file.strip_prefix("../../../examples/").map(str::to_string));
        }
    }
    let examples = names(&root().join("examples"), ".rs");
    assert_eq!(included, examples);
    let tests = text(&root().join("tests/tests/examples.rs"));
    let tested: BTreeSet<String> = between(&tests, "examples/", "\"").into_iter().map(str::to_string).collect();
    assert_eq!(tested, examples);
}
