//! A rank in C and one in Rust in one job: the derived type is MPI's datatype of the same structure.

use std::process::Command;

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

#[test]
fn they_exchange_structures_texts_and_vectors() {
    for interface in [Interface::Standard, Interface::Mpich] {
        let library = Library::new(interface);
        let in_c = library.compile(&sources().join("tools/beside_rust.c"), &[]).unwrap();
        let mut job = Command::new(binary("mpiexec"));
        job.args(["--timeout", "60", "-n", "1"]).arg(in_c);
        job.args([":", "-n", "1", env!("CARGO_BIN_EXE_beside-c")]);
        let output = job.output().expect("mpiexec starts");
        assert!(output.status.success(), "{interface:?}: {}", text(&output));
    }
}
