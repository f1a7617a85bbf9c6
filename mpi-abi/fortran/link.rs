//! How both Fortran libraries are linked: each needs the C library of its ABI, and looks for it where it lies itself.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Gives the library its name, and makes it need `needed`. Cargo may build that one later, so an empty library of that
/// name takes its place in the link: what the dynamic linker loads goes by the name alone.
pub fn link(name: &str, needed: &str, folder: &Path) {
    let source = folder.join("empty.rs");
    let stand_in = folder.join(needed);
    fs::write(&source, "").expect("OUT_DIR is writable");
    let variable = |name| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(["--crate-type=cdylib", "--crate-name=empty", "--target", &variable("TARGET")]);
    compiler.arg(format!("-Clink-arg=-Wl,-soname,{needed}")).arg("-o").arg(&stand_in).arg(&source);
    let status = compiler.status().expect("rustc starts");
    assert!(status.success(), "the stand-in for {needed} can't be made: {status}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    let stand_in = stand_in.display();
    println!("cargo::rustc-cdylib-link-arg=-Wl,--push-state,--no-as-needed,{stand_in},--pop-state");
    println!("cargo::rerun-if-changed=../link.rs");
}
