//! Gives the library its name, and has its constructor run before those of the libraries that it is loaded with.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,librwmpi_heap.so");
    println!("cargo::rerun-if-changed=build.rs");
}
