//! The programs in C and Fortran that check themselves: each is a test of its own in each mode, `c/MODE/PROGRAM` or
//! `fortran/ABI/PROGRAM`.
//!
//! Every `tests/c/*.c` and `tests/fortran/*.f90` is such a program. It ends well if all its checks hold at each number
//! of ranks from 1 to 4, or at those that `ranks: 2 3` in its first comment names (a usual run takes a sample of them);
//! `mpiexec: --option` there has it run with that option.

mod c;
mod fortran;

#[path = "../jobs/c_support/mod.rs"]
mod c_support;
#[path = "../jobs/fortran_support/mod.rs"]
mod fortran_support;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Arguments;
use rwmpi_tests::sample::Sample;

fn main() {
    let sample = Sample::from_environment();
    let trials = c::trials(sample).into_iter().chain(fortran::trials(sample)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The programs of a folder, in order: what ends in one of these ways.
fn programs(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    let is_program = |path: &PathBuf| path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one));
    let mut programs: Vec<PathBuf> = paths.filter(is_program).collect();
    programs.sort();
    assert!(!programs.is_empty(), "no programs in {}", folder.display());
    programs
}

/// What the tests of a program are called.
fn name(program: &Path) -> String {
    program.file_stem().expect("a program has a name").to_string_lossy().into_owned()
}

/// What the lines of a program's first comment that begin with `word` say.
fn remarks<'a>(source: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    source.lines().take(20).filter_map(move |line| line.split_once(word)).map(|(_, remark)| remark.trim())
}

/// At how many ranks a program is to be run.
fn ranks(source: &str) -> Vec<u32> {
    let numbers = |words: &str| words.split_whitespace().map_while(|word| word.parse().ok()).collect();
    remarks(source, "ranks: ").next().map_or(vec![1, 2, 3, 4], numbers)
}

/// With which options of mpiexec a program is to be run.
fn options(source: &str) -> Vec<&str> {
    remarks(source, "mpiexec: ")
        .flat_map(|words| words.split_whitespace().take_while(|word| word.starts_with('-')))
        .collect()
}

fn text_of(program: &Path) -> String {
    fs::read_to_string(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}
