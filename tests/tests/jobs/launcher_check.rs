//! `mpiexec --check`: what ranks do that does not go together is said in words, once.

use std::process::Command;

use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

use crate::c_support::{Library, sources, text};

const SAYS: &str = "rwmpi: check: ";

/// What is said of a job, be it that it ends by itself or by its time.
fn said(kind: &str, options: &[&str]) -> String {
    let program = Library::new(Interface::Standard).compile(&sources().join("tools").join("checks.c"), &[]).unwrap();
    let mut mpiexec = Command::new(binary("mpiexec"));
    let output = mpiexec.args(options).args(["--timeout", "8", "-n", "4"]).arg(program).arg(kind).output();
    text(&output.expect("mpiexec starts"))
}

#[test]
fn what_does_not_go_together_is_named_once() {
    for (kind, words) in [
        ("operations", "in MPI_COMM_WORLD, MPI_Allreduce has two operations: rank 0 names MPI_SUM, and rank 1 MPI_MAX"),
        ("roots", "in MPI_COMM_WORLD, MPI_Bcast has two roots: rank 0 names 0, and rank 1 1"),
        ("lengths", "in MPI_COMM_WORLD, MPI_Bcast has two lengths: 16 bytes at rank 0, and 8 at rank 1"),
        ("calls", "in MPI_COMM_WORLD, rank 0 calls MPI_Bcast, and rank 1 MPI_Barrier"),
        (
            "message",
            "rank 1 finalizes without having received a message in MPI_COMM_WORLD: from rank 0, tag 42, 12 bytes",
        ),
        ("request", "rank 0 finalizes with 1 request that is neither completed nor freed"),
    ] {
        let said = said(kind, &["--check"]);
        assert_eq!(said.matches(words).count(), 1, "{kind}: {said}");
        assert_eq!(said.matches(SAYS).count(), 1, "{kind}: {said}");
    }
}

#[test]
fn nothing_is_said_of_what_is_right_or_not_to_be_checked() {
    let right = said("well", &["--check"]);
    assert!(!right.contains(SAYS) && !right.contains("ended"), "{right}");
    for kind in ["operations", "message"] {
        let unchecked = said(kind, &[]);
        assert!(!unchecked.contains(SAYS), "{unchecked}");
    }
}
