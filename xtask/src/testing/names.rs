//! Which test programs can have a test of a given name, told from the sources: only these are built.
//!
//! A test is named by modules, functions and files; so a program without a file, or text in a test's file, that
//! contains the words has no such test. That another one has them is no promise: the runner then finds nothing in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Package, Target, TargetKind};
use strsim::normalized_damerau_levenshtein;

use crate::workspace::Workspace;

/// Test programs whose tests come from other folders, too.
const FURTHER_FOLDERS: &[(&str, &str)] = &[
    ("suites", "tests/src/suites"),
    ("fabric", "tests/src/conformance"),
    ("programs", "tests/c"),
    ("programs", "tests/fortran"),
];
/// Names that are so alike are offered.
const ALIKE_MIN: f64 = 0.6;
const OFFERED_MAX: usize = 5;

/// What cargo has to build for tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// A package's unit tests: its name, and whether it has a library and programs.
    Units { package: String, library: bool, programs: bool },
    /// A package's test program, whose name no other package's has.
    Test { package: String, name: String },
}

impl Program {
    /// What the runner puts before the names of its tests, and the expression by which it knows the program.
    pub fn shown(&self) -> (String, String) {
        match self {
            Program::Units { package, .. } => (package.clone(), format!("package(={package})")),
            Program::Test { package, name } => (format!("{package}::{name}"), format!("binary(={name})")),
        }
    }
}

/// A test program, and the texts in which its tests' names are.
struct Source {
    program: Program,
    texts: String,
}

/// The words of which a test's name must have each.
pub fn words(names: &[String]) -> Result<Vec<String>> {
    let words: Vec<String> = names.iter().flat_map(|name| name.split_whitespace()).map(str::to_owned).collect();
    for word in &words {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_:/-.".contains(c);
        ensure!(
            word.chars().all(plain),
            "no test's name contains '{word}': they are of letters, digits, _, -, :: and /"
        );
    }
    Ok(words)
}

/// The programs that may have a test whose name contains all these words.
pub fn programs(workspace: &Workspace, words: &[String]) -> Result<Vec<Program>> {
    let sources = sources(workspace)?;
    let found: Vec<Program> =
        sources.iter().filter(|source| may_have(&source.texts, words)).map(|source| source.program.clone()).collect();
    if found.is_empty() {
        bail!("{}", nothing(&sources, words));
    }
    Ok(found)
}

fn may_have(texts: &str, words: &[String]) -> bool {
    words.iter().flat_map(|word| word.split([':', '/'])).all(|piece| texts.contains(piece))
}

/// That there is no such test, and which are called nearly so.
fn nothing(sources: &[Source], words: &[String]) -> String {
    let wanted = words.join(" ");
    let names: BTreeSet<&str> = sources.iter().flat_map(|source| source.texts.split_whitespace()).collect();
    let likeness = |name: &str| normalized_damerau_levenshtein(name, &wanted);
    let mut alike: Vec<&str> = names.into_iter().filter(|name| likeness(name) >= ALIKE_MIN).collect();
    alike.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    alike.truncate(OFFERED_MAX);
    let offer = if alike.is_empty() { String::new() } else { format!("; there is {}", alike.join(", ")) };
    format!("no test has '{wanted}' in its name{offer}")
}

fn sources(workspace: &Workspace) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for package in &workspace.metadata.packages {
        sources.extend(units(package)?);
        for target in package.targets.iter().filter(|target| target.is_test()) {
            sources.push(test(workspace, package, target)?);
        }
    }
    Ok(sources)
}

/// A package's unit tests, if it has any.
fn units(package: &Package) -> Result<Option<Source>> {
    let tested = |target: &&Target| target.test && !target.is_test() && !target.is_bench() && !target.is_custom_build();
    let targets: Vec<&Target> = package.targets.iter().filter(tested).filter(|target| !target.is_example()).collect();
    let mut texts = format!("{}\n", package.name);
    let mut any = false;
    for folder in targets.iter().filter_map(|target| target.src_path.parent()).collect::<BTreeSet<_>>() {
        for file in files(folder.as_std_path())? {
            let text = read(&file)?;
            any |= has_tests(&text);
            texts += &names_in(&file, &text);
        }
    }
    let programs = targets.iter().any(|target| target.is_bin());
    let library = targets.iter().any(|target| is_library(target));
    let program = Program::Units { package: package.name.to_string(), library, programs };
    Ok(any.then_some(Source { program, texts }))
}

fn is_library(target: &Target) -> bool {
    use TargetKind::{CDyLib, DyLib, Lib, ProcMacro, RLib, StaticLib};
    target.kind.iter().any(|kind| matches!(kind, CDyLib | DyLib | Lib | ProcMacro | RLib | StaticLib))
}

fn has_tests(text: &str) -> bool {
    text.contains("#[test]") || text.contains("#[rwmpi::test") || text.contains("proptest!")
}

/// The names of modules and functions that a test may be called by.
fn names_in(file: &Path, text: &str) -> String {
    let mut names = module_names(file);
    for function in text.split("fn ").skip(1) {
        let end = function.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(function.len());
        names += &format!("{}\n", &function[..end]);
    }
    names
}

/// The file's name, and that of its folder, which may be a module's.
fn module_names(file: &Path) -> String {
    let parent = file.parent().and_then(Path::file_name).unwrap_or_default();
    format!("{}\n{}\n", file.file_stem().unwrap_or_default().display(), parent.display())
}

/// A test program: all that its own files say, as names may be made from texts, and of what is in other folders the
/// names.
fn test(workspace: &Workspace, package: &Package, target: &Target) -> Result<Source> {
    let main = target.src_path.as_std_path();
    let own = match main.file_name() {
        Some(name) if name == "main.rs" => files(main.parent().context("a file is in a folder")?)?,
        _ => vec![main.to_path_buf()],
    };
    let mut texts = format!("{}\n{}\n", package.name, target.name);
    for file in own {
        texts += &module_names(&file);
        texts += &read(&file)?;
    }
    for (_, folder) in FURTHER_FOLDERS.iter().filter(|(name, _)| *name == target.name) {
        for file in files(&workspace.root.join(folder))? {
            let is_rust = file.extension().is_some_and(|ending| ending == "rs");
            texts += &if is_rust { names_in(&file, &read(&file)?) } else { module_names(&file) };
        }
    }
    let program = Program::Test { package: package.name.to_string(), name: target.name.clone() };
    Ok(Source { program, texts })
}

/// All files below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A source file. What is no text has no names.
fn read(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Result<Vec<Program>> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        programs(&Workspace::find()?, &words(&names)?)
    }

    fn test(name: &str) -> Program {
        Program::Test { package: "rwmpi-tests".to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_check_a_program_and_a_case_are_in_their_programs() {
        for (name, program) in [
            ("processes_over_tcp/auto/alltoall_transposes", "suites"),
            ("c/standard/point_to_point_found", "programs"),
            ("fortran/mpich/topologies", "programs"),
            ("cluster_blocks/a_claim_has_one_winner", "fabric"),
            ("launcher_output::", "jobs"),
        ] {
            assert_eq!(found(&[name]).unwrap(), [test(program)], "{name}");
        }
    }

    #[test]
    fn a_unit_test_needs_its_package_only() {
        let units = found(&["agrees_with_a_plain_list"]).unwrap();
        let package = "rwmpi-protocol".to_owned();
        assert_eq!(units, [Program::Units { package, library: true, programs: false }]);
    }

    #[test]
    fn all_words_count() {
        assert!(found(&["suites", "alltoall_transposes"]).unwrap().contains(&test("suites")));
        assert!(found(&["fabric alltoall_transposes"]).is_err());
    }

    #[test]
    fn what_is_nowhere_is_said_and_what_is_meant_is_offered() {
        // In two parts, or this file would have it.
        let error = found(&[concat!("alltoall_transp", "oces")]).unwrap_err().to_string();
        assert!(error.starts_with("no test has 'alltoall_transp"), "{error}");
        assert!(error.contains("alltoall_transposes"), "{error}");
        assert!(found(&["a(b)"]).unwrap_err().to_string().contains("letters"));
    }
}
