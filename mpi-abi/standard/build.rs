//! Makes the exported functions of the table, and gives the library its name.

use std::path::Path;
use std::{env, fs};

use rwmpi_abi_table::{Bodies, exports, functions};

fn main() {
    let bodies_at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let bodies = Bodies::find(&bodies_at).expect("the bodies are beside this crate");
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("exports.rs"), exports(&functions(), &bodies)).expect("OUT_DIR is writable");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo::rerun-if-changed={}", bodies_at.display());
    println!("cargo::rerun-if-changed=build.rs");
}
