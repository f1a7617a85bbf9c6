//! Makes the exported procedures of the table, and links the library.

#[path = "../link.rs"]
mod link;

use std::path::PathBuf;
use std::{env, fs};

use rwmpi_abi_table::{fortran_exports, functions};

fn main() {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(folder.join("exports.rs"), fortran_exports(&functions())).expect("OUT_DIR is writable");
    link::link("libmpifort_abi.so.1", "libmpi_abi.so.1", &folder);
    println!("cargo::rerun-if-changed=build.rs");
}
