//! Builds the two C libraries and programs that use them.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use rwmpi_abi_table::{Interface, header};
use rwmpi_tests::binary;

/// A job that takes that many seconds hangs; the launcher then says who waits for whom.
const TIMEOUT: &str = "60";

/// One of the two libraries, with its header, as an installation has them.
pub struct Library {
    pub interface: Interface,
    folder: PathBuf,
}

/// What the interface is called in file names, its package's library as cargo builds it, and the name that programs
/// know.
fn names(interface: Interface) -> [&'static str; 3] {
    match interface {
        Interface::Standard => ["standard", "librwmpi_standard.so", "libmpi_abi.so.1"],
        Interface::Mpich => ["mpich", "librwmpi_mpich.so", "libmpi.so.12"],
    }
}

/// The folder with the test programs in C.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c")
}

/// Builds both libraries, once in a test's process; `cargo xtask test` has built them before.
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
            "--package=rwmpi",
            "--package=rwmpi-heap-preload",
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

impl Library {
    /// The library of that interface, built, for the test that calls this.
    pub fn new(interface: Interface) -> Library {
        Library::for_test(interface, std::thread::current().name().unwrap_or("test"))
    }

    /// The library of that interface, built, for the test of that name.
    pub fn for_test(interface: Interface, test: &str) -> Library {
        build();
        let [name, built, known_as] = names(interface);
        // Each test has a folder of its own: they may run at the same time.
        let test = test.replace("::", "-").replace('/', "-");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs").join(name).join(test);
        fs::create_dir_all(folder.join("include")).unwrap();
        let link = folder.join(known_as);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(binary(built), link).unwrap();
        fs::write(folder.join("include/mpi.h"), header(interface)).unwrap();
        Library { interface, folder }
    }

    /// The library's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join(names(self.interface)[2])
    }

    /// Compiles with further options, and those in `RWMPI_CC_OPTIONS` (a sanitizer's); returns the result, or what the
    /// compiler says.
    pub fn compile(&self, source: &Path, options: &[&str]) -> Result<PathBuf, String> {
        let result = self.folder.join(source.file_stem().unwrap());
        let [compiler, language] =
            if source.extension() == Some(OsStr::new("cc")) { ["c++", "-std=c++11"] } else { ["cc", "-std=c11"] };
        let mut compiler = Command::new(compiler);
        compiler.args([language, "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        compiler.arg(source).arg("-I").arg(self.folder.join("include")).arg("-I").arg(sources());
        compiler.arg("-o").arg(&result).args(options).arg(self.file()).arg("-lm");
        compiler.arg(format!("-Wl,-rpath,{}", self.folder.display()));
        compiler.args(std::env::var("RWMPI_CC_OPTIONS").unwrap_or_default().split_whitespace());
        let output = compiler.output().expect("there are compilers for C and C++, cc and c++");
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
