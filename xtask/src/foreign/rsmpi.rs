//! rsmpi, MPI for Rust on a library in C, built with our `mpicc`: its own examples.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;

use super::cache::{Cache, output};

/// A project whose examples are those of rsmpi. It is in no workspace but its own; `memoffset` and `num-complex` are
/// for examples.
const MANIFEST: &str = "[package]\nname = \"rsmpi-examples\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n\
     mpi = { version = \"=0.8.0\", features = [\"complex\", \"derive\"] }\nmemoffset = \"0.9\"\nnum-complex = \"0.4\"\n";
/// So many examples it has.
const EXAMPLES: usize = 58;

/// Each of them, with so many ranks. One rank is too few: an example tells what it has sent from what it has received
/// by the rank.
pub fn rsmpi(cache: &Cache, ranks: usize) -> Result<()> {
    let programs = build(cache)?.join("target/debug/examples");
    let mut passed = 0;
    for entry in fs::read_dir(&programs).with_context(|| format!("cannot read {}", programs.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Beside each are its list of files and a link with a hash in its name.
        if name.contains(['.', '-']) {
            continue;
        }
        output(cache.mpiexec(ranks).arg(&path)).with_context(|| name)?;
        passed += 1;
    }
    ensure!(passed == EXAMPLES, "there are {passed} examples instead of {EXAMPLES}");
    Ok(())
}

/// A folder with the examples, compiled.
fn build(cache: &Cache) -> Result<PathBuf> {
    let clang = cache.python("libclang", &["libclang"], |_| ())?;
    cache.once("rsmpi", |folder| {
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), "")?;
        fs::write(folder.join("Cargo.toml"), MANIFEST)?;
        let metadata = MetadataCommand::new().manifest_path(folder.join("Cargo.toml")).exec()?;
        let package = metadata.packages.iter().find(|package| package.name == "mpi").context("cargo has no rsmpi")?;
        let source = package.manifest_path.parent().context("a manifest lies in a folder")?;
        symlink(source.join("examples"), folder.join("examples"))?;
        let libraries = output(Command::new("find").arg(&clang).args(["-name", "libclang*.so*", "-printf", "%h"]))?;
        let headers = output(Command::new("cc").arg("-print-file-name=include"))?;
        let path = format!("{}:{}", cache.prefix().join("bin").display(), env::var("PATH")?);
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--examples"]).current_dir(folder).env("PATH", path).env_remove("CARGO_TARGET_DIR");
        // This libclang has no headers of a compiler's own.
        cargo.env("LIBCLANG_PATH", libraries).env("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{}", headers.trim()));
        // The examples refuse warnings, and newer compilers have more of them.
        output(cargo.env("RUSTFLAGS", "--cap-lints=allow")).map(drop)
    })
}
