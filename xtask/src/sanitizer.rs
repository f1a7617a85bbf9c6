//! What programs in C need whose library has a sanitizer of rustc's in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Only with a target named are build scripts and macros, which run inside the compiler, left without the sanitizer.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A sanitizer, by its names.
pub struct Sanitizer {
    name: &'static str,
    /// Of its run-time part.
    short: &'static str,
}

pub const ADDRESS: Sanitizer = Sanitizer { name: "address", short: "asan" };
pub const THREAD: Sanitizer = Sanitizer { name: "thread", short: "tsan" };

/// Where the nightly toolchain has what belongs to targets.
pub fn nightly_library() -> Result<PathBuf> {
    let output = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output().context("cannot run rustc")?;
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("lib/rustlib"))
}

impl Sanitizer {
    /// What a C compiler needs to be told: programs and library must have one and the same run-time part of the
    /// sanitizer, rustc's. The compiler takes it for its own under that one's name, in `folder`.
    pub fn c_options(&self, folder: &Path) -> Result<String> {
        let Sanitizer { name, short } = self;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let as_own = folder.join(format!("lib{short}.a"));
        let _ = fs::remove_file(&as_own);
        symlink(nightly_library()?.join(TARGET).join(format!("lib/librustc-nightly_rt.{short}.a")), &as_own)
            .with_context(|| format!("cannot make {}", as_own.display()))?;
        Ok(format!("-fsanitize={name} -static-lib{short} -L{} -rdynamic", folder.display()))
    }
}
