//! Gives the library the name by which the launcher preloads it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librwmpi_heap.so");
    println!("cargo::rerun-if-changed=build.rs");
}
