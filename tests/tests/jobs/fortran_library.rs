//! The Fortran libraries as a whole: what they export, how they end a job, and what tools see of them. What the
//! procedures do, the programs of `tests/fortran` check (`tests/tests/programs`). Without gfortran there is nothing to
//! test, and the tests say so.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fortran_support::{Libraries, has_compiler, sources, text};
use rwmpi_abi_table::{Interface, fortran_module_2008, functions};

/// Whether the file is a program.
fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "f90" || extension == "f")
}

#[test]
fn every_procedure_of_the_first_standard_is_called() {
    let mut sources_of_all = String::new();
    for folder in [sources(), sources().join("tools")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if is_program(&path) {
                sources_of_all += &fs::read_to_string(path).unwrap().to_lowercase();
            }
        }
    }
    for function in functions().iter().filter(|one| one.since == "1.0") {
        assert!(sources_of_all.contains(&format!("{}(", function.name.to_lowercase())), "no call of {}", function.name);
    }
}

#[test]
fn a_program_can_end_its_job() {
    for interface in [Interface::Standard, Interface::Mpich] {
        if !has_compiler() {
            return;
        }
        let libraries = Libraries::new(interface);
        let program = libraries.compile(&sources().join("tools/abort.f90"), &[]).unwrap();
        let output = libraries.run(2, &[program.as_os_str()], &[]);
        let said = text(&output);
        assert!(
            output.status.code() == Some(7) && said.contains("aborted the job with code 7"),
            "{interface:?}: {said}"
        );
    }
}

/// What the library exports.
fn exported(interface: Interface) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(Libraries::new(interface).file()).output();
    let list = String::from_utf8_lossy(&output.expect("there is nm").stdout).into_owned();
    list.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect()
}

#[test]
fn every_procedure_of_the_first_standard_has_every_name() {
    if !has_compiler() {
        return;
    }
    for interface in [Interface::Standard, Interface::Mpich] {
        let exported = exported(interface);
        for function in functions().iter().filter(|one| one.since == "1.0") {
            let name = function.name.to_lowercase();
            for name in [format!("{name}_"), format!("{name}__"), name.clone(), name.to_uppercase()] {
                let twin = if name.starts_with('M') { format!("P{name}") } else { format!("p{name}") };
                assert!(exported.contains(&name), "{interface:?}: {name} is missing");
                assert!(exported.contains(&twin), "{interface:?}: {twin} is missing");
            }
        }
    }
}

/// The procedures that the module `mpi_f08` says there are.
fn procedures_of_the_module(interface: Interface) -> Vec<String> {
    let module = fortran_module_2008(interface);
    let (_, after_callbacks) = module.split_once("  abstract interface\n").expect("callbacks have shapes");
    let (_, procedures) = after_callbacks.split_once("  end interface\n").expect("the shapes end");
    let opening = |line: &str| {
        let (head, _) = line.split_once('(')?;
        let is_procedure = head.contains("subroutine ") || head.contains(" function ");
        is_procedure.then(|| head.rsplit(' ').next().unwrap_or_default().to_lowercase())
    };
    procedures.lines().filter_map(opening).collect()
}

#[test]
fn every_procedure_of_the_module_mpi_f08_is_exported() {
    if !has_compiler() {
        return;
    }
    for interface in [Interface::Standard, Interface::Mpich] {
        let exported = exported(interface);
        let procedures = procedures_of_the_module(interface);
        assert!(procedures.len() > 1100, "{}", procedures.len());
        for name in procedures {
            for name in [format!("{name}_"), format!("{name}__"), name.clone()] {
                assert!(exported.contains(&name), "{interface:?}: {name} is missing");
            }
        }
    }
}

#[test]
fn a_handle_of_another_type_does_not_compile() {
    if !has_compiler() {
        return;
    }
    let libraries = Libraries::new(Interface::Standard);
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong_handle.f90");
    for (statement, compiles) in [
        ("call MPI_Barrier(MPI_COMM_WORLD)", true),
        ("call MPI_Barrier(MPI_INTEGER)", false),
        ("call MPI_Barrier(257)", false),
        ("call MPI_Bcast(x, 1, MPI_COMM_WORLD, 0, MPI_COMM_WORLD)", false),
        ("if (MPI_COMM_WORLD == MPI_INTEGER) x = 1", false),
    ] {
        fs::write(&source, format!("program p\n  use mpi_f08\n  integer :: x\n  {statement}\nend program p\n"))
            .unwrap();
        assert_eq!(libraries.compile(&source, &["-c"]).is_ok(), compiles, "{statement}");
    }
}

#[test]
fn libraries_have_the_names_that_programs_ask_for() {
    for (interface, name, needed) in [
        (Interface::Standard, "libmpifort_abi.so.1", "libmpi_abi.so.1"),
        (Interface::Mpich, "libmpifort.so.12", "libmpi.so.12"),
    ] {
        if has_compiler() {
            let output = Command::new("readelf").arg("-d").arg(Libraries::new(interface).file()).output();
            let words = text(&output.expect("there is readelf"));
            assert!(words.contains(&format!("soname: [{name}]")), "{words}");
            assert!(words.contains(&format!("Shared library: [{needed}]")), "{words}");
        }
    }
}

#[test]
fn a_tool_in_c_sees_programs_in_fortran() {
    for interface in [Interface::Standard, Interface::Mpich] {
        if !has_compiler() {
            return;
        }
        let libraries = Libraries::new(interface);
        let tool = libraries.file().with_file_name("tool.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&tool).arg(sources().join("tools/count_barriers.c"));
        assert!(compiler.status().expect("there is cc").success());
        let program = libraries.compile(&sources().join("tools/three_barriers.f90"), &[]).unwrap();
        let output = libraries.run(2, &[program.as_os_str()], &[("LD_PRELOAD", tool.as_os_str())]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(said.matches("3 barriers").count(), 2, "{interface:?}: {}", text(&output));
        let plain = libraries.run(1, &[program.as_os_str(), OsStr::new("")], &[]);
        assert!(plain.status.success() && plain.stdout.is_empty(), "{}", text(&plain));
    }
}

/// Under valgrind, and built with the address sanitizer.
#[test]
fn a_program_that_gives_all_back_loses_nothing() {
    if !has_compiler() {
        return;
    }
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    for interface in [Interface::Standard, Interface::Mpich] {
        let libraries = Libraries::new(interface);
        let source = sources().join("tools/loses_nothing.f90");
        if has_valgrind {
            let program = libraries.compile(&source, &[]).unwrap();
            let valgrind = ["valgrind", "--quiet", "--leak-check=full", "--error-exitcode=9"].map(OsStr::new);
            loses_nothing(&libraries, &[&valgrind[..], &[program.as_os_str()]].concat());
        }
        if let Ok(program) = libraries.compile(&source, &["-fsanitize=address"]) {
            loses_nothing(&libraries, &[program.as_os_str()]);
        }
    }
}

fn loses_nothing(libraries: &Libraries, command: &[&OsStr]) {
    let said = libraries.run(2, command, &[]);
    assert!(said.status.success(), "{}", text(&said));
    let lost = ["lost", "leak of"].iter().any(|complaint| text(&said).contains(complaint));
    assert!(!lost, "{}", text(&said));
}
