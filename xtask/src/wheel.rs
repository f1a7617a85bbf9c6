//! `cargo xtask wheel`: an installation as a wheel, so that `pip install` brings it into an environment of Python.
//!
//! There it lies where those of other MPIs do, and mpi4py finds it. A wheel can't have symbolic links, so libraries
//! have one name for the loader, and linker scripts for compilers. Which systems it is for is read from the symbols of
//! the C library that its files need.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::install;
use crate::process;
use crate::workspace::Workspace;

/// Most bytes of a wheel: what package registries like, and people who wait for a download.
const BYTES_MAX: u64 = 10 << 20;
const NAME: &str = "rwmpi";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Packs the wheel; with `check`, tries it out.
pub fn run(workspace: &Workspace, check: bool) -> Result<()> {
    let folder = workspace.target().join("wheel");
    let staged = folder.join("staged");
    if staged.exists() {
        fs::remove_dir_all(&staged).with_context(|| format!("cannot remove {}", staged.display()))?;
    }
    install::without_links(workspace, &staged)?;
    let files = files_below(&staged)?;
    let programs: Vec<&PathBuf> = files.iter().filter(|file| is_program(file)).collect();
    for program in &programs {
        process::run(Command::new("strip").arg("--strip-unneeded").arg(program))?;
    }
    let minor = programs.iter().map(|program| glibc_needed(program)).collect::<Result<Vec<u32>>>()?;
    let tag = format!("py3-none-manylinux_2_{}_x86_64", minor.into_iter().max().unwrap_or_default());
    let wheel = folder.join(format!("{NAME}-{VERSION}-{tag}.whl"));
    pack(&wheel, &entries(workspace, &staged, &files, &tag)?)?;
    let bytes = wheel.metadata()?.len();
    println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    ensure!(bytes <= BYTES_MAX, "{} is larger than {BYTES_MAX} bytes", wheel.display());
    if check { try_out(&folder, &wheel) } else { Ok(()) }
}

/// All files below a folder, sorted.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}

/// Whether a file is a program or a library.
fn is_program(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

/// The second number of the oldest version of the C library with which a file runs.
fn glibc_needed(file: &Path) -> Result<u32> {
    let output = Command::new("objdump").arg("-T").arg(file).output().context("cannot run objdump (binutils)")?;
    ensure!(output.status.success(), "objdump -T {}: {}", file.display(), output.status);
    newest_glibc(&String::from_utf8_lossy(&output.stdout)).with_context(|| file.display().to_string())
}

/// The newest version of the C library that a list of symbols names.
fn newest_glibc(symbols: &str) -> Result<u32> {
    let mut newest = 0;
    for (start, name) in symbols.match_indices("GLIBC_2.") {
        let digits: String = symbols[start + name.len()..].chars().take_while(char::is_ascii_digit).collect();
        newest = newest.max(digits.parse().unwrap_or(0));
    }
    if symbols.contains("GLIBC_ABI_DT_RELR") {
        newest = newest.max(36);
    }
    if newest == 0 { bail!("it names no version of the C library") } else { Ok(newest) }
}

/// A file of the wheel.
struct Entry {
    name: String,
    bytes: Vec<u8>,
    mode: u32,
}

impl Entry {
    fn text(name: String, text: String) -> Entry {
        Entry { name, bytes: text.into_bytes(), mode: 0o644 }
    }

    /// Its line in the list of all.
    fn record(&self) -> String {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.bytes));
        format!("{},sha256={hash},{}\n", self.name, self.bytes.len())
    }
}

/// What the wheel has: the files of the installation, and what Python says about them.
fn entries(workspace: &Workspace, staged: &Path, files: &[PathBuf], tag: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in files {
        let place = file.strip_prefix(staged).context("a file lies below its folder")?;
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mode = file.metadata()?.permissions().mode() & 0o755;
        entries.push(Entry { name: format!("{NAME}-{VERSION}.data/data/{}", place.display()), bytes, mode });
    }
    let about = format!("{NAME}-{VERSION}.dist-info");
    let readme = fs::read_to_string(workspace.root.join("README.md")).context("cannot read README.md")?;
    entries.push(Entry::text(
        format!("{about}/METADATA"),
        format!(
            "Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n\
             Summary: An MPI library whose transport is remote memory\nLicense: MIT OR Apache-2.0\n\
             Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n{readme}"
        ),
    ));
    entries.push(Entry::text(
        format!("{about}/WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: cargo xtask wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    ));
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text =
            fs::read_to_string(workspace.root.join(license)).with_context(|| format!("cannot read {license}"))?;
        entries.push(Entry::text(format!("{about}/{license}"), text));
    }
    let list: String = entries.iter().map(Entry::record).collect();
    entries.push(Entry::text(format!("{about}/RECORD"), format!("{list}{about}/RECORD,,\n")));
    Ok(entries)
}

fn pack(wheel: &Path, entries: &[Entry]) -> Result<()> {
    let file = File::create(wheel).with_context(|| format!("cannot write {}", wheel.display()))?;
    let mut archive = ZipWriter::new(file);
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .unix_permissions(entry.mode);
        archive.start_file(&entry.name, options)?;
        archive.write_all(&entry.bytes)?;
    }
    archive.finish()?;
    Ok(())
}

/// Does what a user of Python does: installs it beside mpi4py, runs a job with no variable set, compiles a program, and
/// takes it out again. Without a way to a package registry there is nothing to try.
fn try_out(folder: &Path, wheel: &Path) -> Result<()> {
    let environment = folder.join("environment");
    if environment.exists() {
        fs::remove_dir_all(&environment)?;
    }
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let bin = environment.join("bin");
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(bin.join("pip"));
        command.arg("--disable-pip-version-check").args(arguments);
        command
    };
    process::run(pip(&["install", "--quiet", "--no-index"]).arg(wheel))?;
    if process::works(pip(&["download", "--quiet", "--no-deps", "mpi4py", "--dest"]).arg(folder)) {
        process::run(&mut pip(&["install", "--quiet", "mpi4py"]))?;
        let mut job = Command::new(bin.join("mpiexec"));
        job.args(["-n", "4"]).arg(bin.join("python")).args(["-m", "mpi4py.bench", "helloworld"]);
        let said = process::run_and_keep(without_variables(&mut job))?;
        ensure!((0..4).all(|rank| said.contains(&format!("process {rank} of 4"))), "not all of four ranks said hello");
    } else {
        println!("mpi4py can't be had from here: no job of it is tried");
    }
    compile(&environment)?;
    process::run(&mut pip(&["uninstall", "--quiet", "--yes", NAME]))?;
    for gone in ["bin/mpiexec", "lib/libmpi_abi.so.1", "include/mpi.h", "share/man/man1/mpiexec.1"] {
        ensure!(!environment.join(gone).exists(), "{gone} is left after it was taken out");
    }
    Ok(())
}

/// Compiles and runs a program in C on each interface, in an environment that has been moved.
fn compile(environment: &Path) -> Result<()> {
    let source = "hello.c";
    fs::write(
        environment.join(source),
        "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n",
    )?;
    let moved = environment.with_file_name("moved");
    for abi in ["-abi=standard", "-abi=mpich"] {
        fs::rename(environment, &moved)?;
        let [source, program] = [source, "hello"].map(|name| moved.join(name));
        let mut compiler = Command::new(moved.join("bin/mpicc"));
        let built = process::run(compiler.arg(abi).arg("-o").arg(&program).arg(&source));
        let mut job = Command::new(moved.join("bin/mpiexec"));
        let ran = built.and_then(|()| process::run(without_variables(job.args(["-n", "2"]).arg(&program))));
        fs::rename(&moved, environment)?;
        ran?;
    }
    for name in ["mpicxx", "mpif90"] {
        let line = process::run_and_keep(Command::new(environment.join("bin").join(name)).arg("-show"))?;
        ensure!(line.contains(&*environment.join("lib").to_string_lossy()), "{name} does not find itself: {line}");
    }
    Ok(())
}

/// Nothing that would lead a program to another installation.
fn without_variables(command: &mut Command) -> &mut Command {
    for name in ["LD_LIBRARY_PATH", "MPI4PY_MPIABI", "MPI4PY_LIBMPI", "PYTHONPATH"] {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides() {
        let symbols = "0000 DF *UND* 0 (GLIBC_2.2.5) memcpy\n0000 DF *UND* 0 (GLIBC_2.34) pthread_create\n";
        assert_eq!(newest_glibc(symbols).unwrap(), 34);
        assert_eq!(newest_glibc("GLIBC_2.17 GLIBC_ABI_DT_RELR").unwrap(), 36);
        assert!(newest_glibc("nothing").is_err());
    }

    #[test]
    fn the_list_has_hashes_as_python_wants_them() {
        let entry = Entry::text("a/b".to_owned(), String::new());
        assert_eq!(entry.record(), "a/b,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n");
    }
}
