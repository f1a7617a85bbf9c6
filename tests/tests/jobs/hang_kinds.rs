//! The kinds of hangs that the book shows: each program runs as it stands there, and the report is the one beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

use crate::c_support::{Library, sources};
use crate::launcher_hangs::until_it_is_said;

/// One section of the chapter.
struct Kind {
    title: String,
    /// What stands between `MPI_Init` and `MPI_Finalize`.
    code: String,
    /// What stands between `mpiexec` and the program.
    options: Vec<String>,
    /// What is said, a line each.
    report: Vec<String>,
}

fn block<'a>(section: &'a str, language: &str) -> &'a str {
    let from =
        section.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no {language} in {section}")).1;
    from.split_once("```").expect("a block has an end").0
}

fn kinds() -> Vec<Kind> {
    let chapter = fs::read_to_string(sources().join("../../docs/book/src/hangs.md")).expect("the chapter is there");
    let sections = chapter.split("\n### ").skip(1).map(|section| section.split("\n## ").next().unwrap_or_default());
    let kind = |section: &str| {
        let (title, section) = section.split_once('\n').expect("a section has a title");
        let mut lines = block(section, "text").lines().map(str::to_owned);
        let command = lines.next().expect("the report begins with the command");
        let options = command.strip_prefix("$ mpiexec ").and_then(|rest| rest.strip_suffix(" ./program"));
        let options = options.unwrap_or_else(|| panic!("{title}: {command}")).split(' ').map(str::to_owned).collect();
        Kind { title: title.to_owned(), code: block(section, "c").to_owned(), options, report: lines.collect() }
    };
    sections.map(kind).collect()
}

fn program(code: &str) -> String {
    let code: String = code.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "#include <mpi.h>\n#include <stdlib.h>\n\nint number, array[4000000];\n\n\
         int main(int argc, char **argv)\n{{\n    int rank;\n    MPI_Init(&argc, &argv);\n    \
         MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n{code}    MPI_Finalize();\n    return 0;\n}}\n"
    )
}

/// Without what is another on each machine and in each run: the name of the host, numbers of processes.
fn of_any_machine(line: &str) -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let line = line.replace(&format!(" on {name}"), " on node");
    let Some((before, after)) = line.split_once("(pid ") else { return line };
    format!("{before}(pid 4711{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

/// What is said of a job of that kind, which is run in this folder.
fn said(kind: &Kind, folder: &Path) -> Vec<String> {
    let mut mpiexec = Command::new(binary("mpiexec"));
    mpiexec.current_dir(folder).args(&kind.options).arg("./program");
    until_it_is_said(mpiexec).lines().map(of_any_machine).collect()
}

#[test]
fn reports_are_those_of_the_book() {
    let kinds = kinds();
    assert!(kinds.len() >= 10, "the chapter has {} kinds", kinds.len());
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let jobs: Vec<_> =
            kinds.iter().enumerate().map(|(number, kind)| scope.spawn(move || check(number, kind))).collect();
        jobs.into_iter().filter_map(|job| job.join().expect("it is checked")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with a section of the book.
fn check(number: usize, kind: &Kind) -> Option<String> {
    let library = Library::for_test(Interface::Standard, &format!("hang-kinds-{number}"));
    let source = library.file().with_file_name("program.c");
    fs::write(&source, program(&kind.code)).expect("it can be written");
    let program = library.compile(&source, &[]).unwrap_or_else(|error| panic!("{}: {error}", kind.title));
    let said = said(kind, program.parent().expect("it lies in a folder"));
    let is_said = !kind.report.is_empty() && said.windows(kind.report.len()).any(|lines| lines == kind.report);
    (!is_said).then(|| {
        format!("{}: the book has\n{}\nand this was said:\n{}\n", kind.title, kind.report.join("\n"), said.join("\n"))
    })
}
