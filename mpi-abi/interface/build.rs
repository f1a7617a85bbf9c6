//! Makes Rust constants of the table.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("constants.rs"), rwmpi_abi_table::rust_constants()).expect("OUT_DIR is writable");
    println!("cargo::rerun-if-changed=build.rs");
}
