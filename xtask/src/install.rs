//! `cargo xtask install`: programs, libraries, headers, manual pages and completions where a user wants them.
//!
//! Nothing that is installed knows the folder: programs find what they need beside themselves, and the files for
//! pkg-config say where they are relative to themselves. So the whole can be moved or packed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rwmpi_abi_table::{Interface, fortran_header, fortran_module, fortran_module_2008, header};

use crate::manual;
use crate::process;
use crate::workspace::{BENCHMARKS, LAUNCHER, ONLY_LAUNCHER, ONLY_PROGRAMS, Workspace};

/// The wrapper of compilers, and the names under which it is installed besides.
const WRAPPER: &str = "mpicc";
const WRAPPERS: [&str; 5] = ["mpicxx", "mpic++", "mpifort", "mpif77", "mpif90"];

/// The library that the launcher preloads.
const HEAP: &str = "librwmpi_heap.so";

/// What a library is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Fortran,
}

/// One library: what cargo calls it, its file, the names that lead to it, and its text for pkg-config.
struct Library {
    built: &'static str,
    file: &'static str,
    names: &'static [&'static str],
    interface: Interface,
    language: Language,
    /// Below `include`.
    headers: &'static str,
    /// The names of its files for pkg-config.
    packages: &'static [&'static str],
    link: &'static str,
    about: &'static str,
}

const LIBRARIES: [Library; 4] = [
    Library {
        built: "librwmpi_standard.so",
        file: "libmpi_abi.so.1",
        names: &["libmpi_abi.so"],
        interface: Interface::Standard,
        language: Language::C,
        headers: "",
        packages: &["mpi", "mpi-c"],
        link: "-lmpi_abi",
        about: "MPI for C on the standard ABI",
    },
    Library {
        built: "librwmpi_mpich.so",
        file: "libmpi.so.12",
        names: &["libmpi.so", "libmpich.so.12", "libmpich.so"],
        interface: Interface::Mpich,
        language: Language::C,
        headers: "mpich",
        packages: &["mpich"],
        link: "-lmpi",
        about: "MPI for C on the ABI of MPICH",
    },
    Library {
        built: "librwmpi_fortran_standard.so",
        file: "libmpifort_abi.so.1",
        names: &["libmpifort_abi.so"],
        interface: Interface::Standard,
        language: Language::Fortran,
        headers: "",
        packages: &["mpi-fort"],
        link: "-lmpifort_abi -lmpi_abi",
        about: "MPI for Fortran on the standard ABI",
    },
    Library {
        built: "librwmpi_fortran_mpich.so",
        file: "libmpifort.so.12",
        names: &["libmpifort.so", "libmpichfort.so.12", "libmpichfort.so"],
        interface: Interface::Mpich,
        language: Language::Fortran,
        headers: "mpich",
        packages: &["mpich-fort"],
        link: "-lmpifort -lmpi",
        about: "MPI for Fortran on the ABI of MPICH",
    },
];

/// How to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// For users.
    Release,
    /// For tests: quickly built.
    Dev,
}

/// Which programs there are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Those that users of MPI need.
    Launcher,
    /// The benchmarks, too.
    WithBenchmarks,
}

/// How further names of a library, of the launcher and of the wrapper of compilers are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// As symbolic links.
    Links,
    /// As scripts of the linker, and of the shell: what packs the installation knows no links. There are none for the
    /// loader.
    Scripts,
}

/// Builds launcher and libraries, and what else is wanted, and copies all to `prefix`.
pub fn run(workspace: &Workspace, prefix: &Path, profile: Profile, programs: Programs) -> Result<()> {
    build(workspace, prefix, profile, programs, Names::Links)
}

/// Builds launcher and libraries, and copies them to `prefix` without any links.
pub fn without_links(workspace: &Workspace, prefix: &Path) -> Result<()> {
    build(workspace, prefix, Profile::Release, Programs::Launcher, Names::Scripts)
}

fn build(workspace: &Workspace, prefix: &Path, profile: Profile, programs: Programs, names: Names) -> Result<()> {
    let (options, folder): (&[&str], _) = match profile {
        Profile::Release => (&["build", "--release"], "release"),
        Profile::Dev => (&["build"], "debug"),
    };
    let (packages, benchmarks) = match programs {
        Programs::Launcher => (ONLY_LAUNCHER, &[][..]),
        Programs::WithBenchmarks => (ONLY_PROGRAMS, BENCHMARKS),
    };
    process::run(workspace.cargo(options).args(packages))?;
    let built = workspace.target().join(folder);
    for &program in LAUNCHER.iter().chain(benchmarks) {
        let place = prefix.join("bin").join(program);
        match names {
            Names::Scripts if program == "mpirun" => script(&place, "mpiexec", "")?,
            _ => copy(&built.join(program), &place)?,
        }
    }
    let wrapper = prefix.join("bin").join(WRAPPER);
    copy(&built.join("mpi-wrapper"), &wrapper)?;
    for name in WRAPPERS {
        let place = wrapper.with_file_name(name);
        match names {
            Names::Links => link(WRAPPER, &place)?,
            Names::Scripts => script(&place, WRAPPER, &format!("--called-as={name} "))?,
        }
    }
    // Where the launcher looks for it.
    copy(&built.join(HEAP), &prefix.join("lib").join(HEAP))?;
    for (file, text) in manual::pages(&prefix.join("bin"))? {
        write(&prefix.join(file), &text)?;
    }
    LIBRARIES.iter().try_for_each(|library| install_library(library, &built, prefix, names))
}

fn install_library(library: &Library, built: &Path, prefix: &Path, names: Names) -> Result<()> {
    let lib = prefix.join("lib");
    copy(&built.join(library.built), &lib.join(library.file))?;
    for name in library.names {
        let place = lib.join(name);
        if names == Names::Scripts {
            if name.ends_with(".so") {
                write(&place, format!("/* GNU ld script */\nINPUT({})\n", library.file))?;
            }
            continue;
        }
        link(library.file, &place)?;
    }
    let include = prefix.join("include").join(library.headers);
    match library.language {
        Language::C => write(&include.join("mpi.h"), header(library.interface))?,
        Language::Fortran => {
            write(&include.join("mpif.h"), fortran_header(library.interface))?;
            write(&include.join("mpi.f90"), fortran_module(library.interface))?;
            write(&include.join("mpi_f08.f90"), fortran_module_2008(library.interface))?;
            if names == Names::Links {
                compile_modules(&include)?;
            }
        }
    }
    for package in library.packages {
        write(&lib.join("pkgconfig").join(format!("{package}.pc")), package_text(library, package))?;
    }
    Ok(())
}

/// Compiles the modules `mpi` and `mpi_f08`, whose compiled forms only the compiler that made them can read. They have
/// no code. Without gfortran, `mpifort` compiles them when there is one.
fn compile_modules(include: &Path) -> Result<()> {
    let compiled = ["mpi.mod", "mpi_f08.mod"];
    for name in compiled {
        // That of an earlier installation is not this one's.
        let _ = fs::remove_file(include.join(name));
    }
    if !process::works(Command::new("gfortran").arg("--version")) {
        println!("there is no gfortran: mpifort compiles the modules mpi and mpi_f08 when there is one");
        return Ok(());
    }
    process::run(Command::new("gfortran").args(["-fsyntax-only", "mpi.f90", "mpi_f08.f90"]).current_dir(include))?;
    compiled.iter().for_each(|name| println!("{}", include.join(name).display()));
    Ok(())
}

/// The text that tells pkg-config how to use a library.
fn package_text(library: &Library, package: &str) -> String {
    let include = if library.headers.is_empty() { String::new() } else { format!("/{}", library.headers) };
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         libdir=${{prefix}}/lib\n\
         includedir=${{prefix}}/include{include}\n\
         \n\
         Name: {package}\n\
         Description: {}\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} {}\n",
        library.about,
        env!("CARGO_PKG_VERSION"),
        library.link
    )
}

/// A free name beside `place`: what is in use there can be replaced but not written to.
fn fresh(place: &Path) -> Result<PathBuf> {
    let folder = place.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = place.file_name().context("a file has a name")?.to_string_lossy();
    let fresh = folder.join(format!(".{name}.new"));
    if fresh.symlink_metadata().is_ok() {
        fs::remove_file(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))?;
    }
    Ok(fresh)
}

fn copy(from: &Path, place: &Path) -> Result<()> {
    let fresh = fresh(place)?;
    fs::copy(from, &fresh)
        .and_then(|_| fs::rename(&fresh, place))
        .with_context(|| format!("cannot write {}", place.display()))?;
    println!("{}", place.display());
    Ok(())
}

/// A symbolic link to a file beside it.
fn link(to: &str, place: &Path) -> Result<()> {
    let fresh = fresh(place)?;
    symlink(to, &fresh)
        .and_then(|()| fs::rename(&fresh, place))
        .with_context(|| format!("cannot make {}", place.display()))?;
    println!("{}", place.display());
    Ok(())
}

/// A script for the shell that becomes a program beside it, with these arguments in front of its own.
fn script(place: &Path, program: &str, first: &str) -> Result<()> {
    let folder = "$(dirname -- \"$(readlink -f -- \"$0\")\")";
    write(place, format!("#!/bin/sh\nexec \"{folder}/{program}\" {first}\"$@\"\n"))?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} a program", place.display()))
}

fn write(place: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    let fresh = fresh(place)?;
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, place))
        .with_context(|| format!("cannot write {}", place.display()))?;
    println!("{}", place.display());
    Ok(())
}
