//! Our headers beside MPICH's: every constant, size and prototype has to agree, for programs are compiled with either.
//!
//! MPICH comes from PyPI (`pip install mpich==5.0.2`), once, into cargo's folder; `RWMPI_MPICH` names another
//! installation. Without either there is nothing to compare with, and the tests say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::c_support;
use rwmpi_abi_table::{Interface, header, prototypes, sections};

/// The folder of MPICH's headers.
fn mpich() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(install).as_deref()
}

fn install() -> Option<PathBuf> {
    if let Some(prefix) = std::env::var_os("RWMPI_MPICH") {
        return Some(Path::new(&prefix).join("include"));
    }
    // Named by this process until it is complete: another one may be installing at the same time.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich-5.0.2");
    if !folder.exists() {
        let fresh = folder.with_extension(std::process::id().to_string());
        let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let installed = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&fresh))
            && succeeds(Command::new(fresh.join("bin/pip")).args(["install", "--quiet", "mpich==5.0.2"]));
        if !installed {
            let _ = fs::remove_dir_all(&fresh);
            println!("skipped: MPICH can't be installed from PyPI");
            return None;
        }
        let _ = fs::rename(&fresh, &folder);
    }
    Some(folder.join("include"))
}

fn work_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-headers").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn compile(source: &Path, include: &Path, options: &[&str], result: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-w"]).args(options).arg("-I").arg(include).arg(source).arg("-o").arg(result);
    let output = compiler.output().expect("there is a C compiler, cc");
    assert!(output.status.success(), "{}: {}", source.display(), c_support::text(&output));
}

/// What the header of that name in `include` says about all constants and the layout of types.
fn facts(interface: Interface, include: &Path, name: &str, at: &Path) -> String {
    let mut source = format!("#include <stddef.h>\n#include <stdio.h>\n#include <{name}>\nint main(void) {{\n");
    for section in sections() {
        for constant in section.constants {
            // The standard ABI has no extensions, so MPICH's header for it has none.
            let is_ours = interface == Interface::Standard && constant.name.starts_with("MPIX_ERR_");
            // Symbols have addresses, which a program learns when it is bound.
            if constant.value(interface).is_some() && !constant.is_symbol(interface) && !is_ours {
                source += &format!("    printf(\"{0} %lld %zu\\n\", (long long)({0}), sizeof({0}));\n", constant.name);
            }
        }
    }
    for handle in ["Aint", "Offset", "Count", "Comm", "Datatype", "Op", "Request", "Info", "Win", "File", "Session"] {
        source += &format!("    printf(\"MPI_{handle} %zu\\n\", sizeof(MPI_{handle}));\n");
    }
    source += "    printf(\"MPI_Status %zu %zu\\n\", sizeof(MPI_Status), _Alignof(MPI_Status));\n";
    for field in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"] {
        source += &format!("    printf(\"{field} at %zu\\n\", offsetof(MPI_Status, {field}));\n");
    }
    source += "    return 0;\n}\n";
    let file = at.join("facts.c");
    fs::write(&file, source).unwrap();
    let program = at.join("facts");
    compile(&file, include, &[], &program);
    String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
}

fn agree(interface: Interface, theirs: &str) {
    let Some(mpich) = mpich() else { return };
    let folder = work_folder(theirs);
    let ours = folder.join("ours");
    fs::create_dir_all(&ours).unwrap();
    fs::write(ours.join("mpi.h"), header(interface)).unwrap();
    let [mine, others] = [facts(interface, &ours, "mpi.h", &ours), facts(interface, mpich, theirs, &folder)];
    assert!(mine.lines().count() > 350, "{mine}");
    let differing: Vec<_> = mine.lines().zip(others.lines()).filter(|(mine, other)| mine != other).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(mine.lines().count(), others.lines().count());

    // Declaring a function a second time with another type is an error.
    let file = folder.join("prototypes.c");
    let twice = prototypes(|function| {
        // MPICH 5.0.2 has an earlier form of these two; it lacks `const` in those that MPI-3.0 removed.
        function.until.is_none() && !matches!(function.name, "MPI_Psend_init" | "MPI_Precv_init")
    });
    assert!(twice.lines().count() > 2 * 650);
    fs::write(&file, format!("#include <{theirs}>\n{twice}")).unwrap();
    compile(&file, mpich, &["-c"], &folder.join("prototypes.o"));
}

#[test]
fn the_standard_abi_is_mpichs() {
    agree(Interface::Standard, "mpi_abi.h");
}

#[test]
fn the_mpich_abi_is_mpichs() {
    agree(Interface::Mpich, "mpi.h");
}

#[test]
fn headers_are_cpp_too() {
    for (interface, name) in [(Interface::Standard, "cpp-standard"), (Interface::Mpich, "cpp-mpich")] {
        let folder = work_folder(name);
        fs::write(folder.join("mpi.h"), header(interface)).unwrap();
        let file = folder.join("program.cc");
        let source =
            "#include <mpi.h>\nMPI_Comm world() { return MPI_COMM_WORLD; }\nMPI_Datatype type() { return MPI_INT; }\n";
        fs::write(&file, source).unwrap();
        let mut compiler = Command::new("c++");
        compiler.args(["-Wall", "-Wextra", "-Werror", "-c", "-I"]).arg(&folder).arg(&file).arg("-o");
        let output = compiler.arg(folder.join("program.o")).output().expect("there is a C++ compiler, c++");
        assert!(output.status.success(), "{}", c_support::text(&output));
    }
}
