//! Builds the Fortran libraries and programs that use them.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use rwmpi_abi_table::{Interface, fortran_header, fortran_module, fortran_module_2008};
use rwmpi_tests::binary;

/// A job that takes that many seconds hangs; the launcher then says who waits for whom.
const TIMEOUT: &str = "60";

/// Both libraries of one interface, with `mpif.h` and the compiled modules, as an installation has them.
pub struct Libraries {
    folder: PathBuf,
    interface: Interface,
}

/// What the interface is called in file names; for both libraries, the package's as cargo builds it and what programs
/// know it as.
fn names(interface: Interface) -> (&'static str, [[&'static str; 2]; 2]) {
    match interface {
        Interface::Standard => (
            "standard",
            [["librwmpi_standard.so", "libmpi_abi.so.1"], ["librwmpi_fortran_standard.so", "libmpifort_abi.so.1"]],
        ),
        Interface::Mpich => {
            ("mpich", [["librwmpi_mpich.so", "libmpi.so.12"], ["librwmpi_fortran_mpich.so", "libmpifort.so.12"]])
        }
    }
}

/// The folder with the test programs in Fortran.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran")
}

/// Builds the libraries, once in a test's process; `cargo xtask test` has built them before.
fn build() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        if std::env::var_os("RWMPI_BIN_DIR").is_some() {
            return;
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "build",
            "--quiet",
            "--package=rwmpi-standard",
            "--package=rwmpi-mpich",
            "--package=rwmpi-fortran-standard",
            "--package=rwmpi-fortran-mpich",
            "--package=rwmpi",
        ]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success(), "the libraries can't be built");
    });
}

/// The text of a program's output, for messages.
pub fn text(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{stdout}{stderr}", output.status)
}

/// Whether there is gfortran; if not, says that what needs it is not tested.
pub fn has_compiler() -> bool {
    let found = Command::new("gfortran").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: the Fortran interface is not tested, as there is no gfortran (Debian package gfortran)");
    }
    found
}

impl Libraries {
    /// The libraries of that interface, built, for the test that calls this.
    pub fn new(interface: Interface) -> Libraries {
        Libraries::for_test(interface, std::thread::current().name().unwrap_or("test"))
    }

    /// The libraries of that interface, built, for the test of that name.
    pub fn for_test(interface: Interface, test: &str) -> Libraries {
        build();
        let (name, files) = names(interface);
        // Each test has a folder of its own: they may run at the same time.
        let test = test.replace("::", "-").replace('/', "-");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fortran-programs").join(name).join(test);
        let include = folder.join("include");
        fs::create_dir_all(&include).unwrap();
        for [built, known_as] in files {
            // No symbolic link: the dynamic linker looks for the C library where the Fortran library lies.
            let (built, known_as) = (binary(built), folder.join(known_as));
            let _ = fs::remove_file(&known_as);
            if fs::hard_link(&built, &known_as).is_err() {
                fs::copy(built, known_as).unwrap();
            }
        }
        fs::write(include.join("mpif.h"), fortran_header(interface)).unwrap();
        fs::write(include.join("mpi.f90"), fortran_module(interface)).unwrap();
        fs::write(include.join("mpi_f08.f90"), fortran_module_2008(interface)).unwrap();
        let mut compiler = Command::new("gfortran");
        compiler.args(["-fsyntax-only", "-Wall", "-Werror", "mpi.f90", "mpi_f08.f90"]).current_dir(&include);
        let output = compiler.output().expect("there is gfortran");
        assert!(output.status.success(), "the modules do not compile: {}", text(&output));
        Libraries { folder, interface }
    }

    /// The Fortran library's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join(names(self.interface).1[1][1])
    }

    /// Compiles with further options; returns the result, or what the compiler says.
    pub fn compile(&self, source: &Path, options: &[&str]) -> Result<PathBuf, String> {
        let result = self.folder.join(format!("{}{}", source.file_name().unwrap().display(), options.concat()));
        let mut compiler = Command::new("gfortran");
        compiler.args(["-O1", "-g", "-w", "-fallow-argument-mismatch"]).args(options);
        compiler.arg(source).arg("-I").arg(self.folder.join("include")).arg("-I").arg(sources());
        compiler.arg("-J").arg(self.folder.join("include"));
        compiler.arg("-o").arg(&result).arg(self.file()).arg(self.folder.join(names(self.interface).1[0][1]));
        compiler.arg(format!("-Wl,-rpath,{},--fatal-warnings", self.folder.display()));
        let output = compiler.output().expect("there is gfortran");
        if output.status.success() { Ok(result) } else { Err(text(&output)) }
    }

    /// `mpiexec -n RANKS` with this command and environment.
    pub fn run(&self, ranks: u32, command: &[&OsStr], environment: &[(&str, &OsStr)]) -> Output {
        let mut mpiexec = Command::new(binary("mpiexec"));
        mpiexec.args(["--timeout", TIMEOUT, "-n", &ranks.to_string()]).args(command);
        mpiexec.envs(environment.iter().copied());
        mpiexec.output().expect("mpiexec starts")
    }
}
