//! `mpiexec --check`: what ranks do that does not go together is said in words, once, to programs in C and in Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

use crate::c_support::{Library, sources, text};

const SAYS: &str = "rwmpi: check: ";
const IN_RUST: &str = env!("CARGO_BIN_EXE_checks");

fn in_c() -> PathBuf {
    Library::new(Interface::Standard).compile(&sources().join("tools").join("checks.c"), &[]).unwrap()
}

/// What is said of a job, be it that it ends by itself or by its time.
fn said(program: &Path, kind: &str, options: &[&str]) -> String {
    let mut mpiexec = Command::new(binary("mpiexec"));
    let output = mpiexec.args(options).args(["--timeout", "8", "-n", "4"]).arg(program).arg(kind).output();
    text(&output.expect("mpiexec starts"))
}

fn assert_named_once(program: &Path, kinds: &[(&str, &str)]) {
    for (kind, words) in kinds {
        let said = said(program, kind, &["--check"]);
        assert_eq!(said.matches(words).count(), 1, "{kind}: {said}");
        assert_eq!(said.matches(SAYS).count(), 1, "{kind}: {said}");
    }
}

#[test]
fn what_does_not_go_together_is_named_once() {
    assert_named_once(
        &in_c(),
        &[
            (
                "operations",
                "in MPI_COMM_WORLD, MPI_Allreduce has two operations: rank 0 names MPI_SUM, and rank 1 MPI_MAX",
            ),
            ("roots", "in MPI_COMM_WORLD, MPI_Bcast has two roots: rank 0 names 0, and rank 1 1"),
            ("lengths", "in MPI_COMM_WORLD, MPI_Bcast has two lengths: 16 bytes at rank 0, and 8 at rank 1"),
            ("calls", "in MPI_COMM_WORLD, rank 0 calls MPI_Bcast, and rank 1 MPI_Barrier"),
            ("part", "in MPI_COMM_WORLD, rank 0 calls MPI_Barrier, and rank 1 MPI_Comm_split"),
            ("end", "in MPI_COMM_WORLD, rank 0 calls MPI_Finalize, and rank 1 MPI_Barrier"),
            (
                "message",
                "rank 1 finalizes without having received a message in MPI_COMM_WORLD: from rank 0, tag 42, 12 bytes",
            ),
            ("request", "rank 0 finalizes with 1 request that is neither completed nor freed"),
        ],
    );
}

#[test]
fn collectives_that_are_started_or_made_are_compared_too() {
    assert_named_once(
        &in_c(),
        &[
            (
                "started-operations",
                "in MPI_COMM_WORLD, MPI_Iallreduce has two operations: rank 0 names MPI_SUM, and rank 1 MPI_MAX",
            ),
            ("started-roots", "in MPI_COMM_WORLD, MPI_Ibcast has two roots: rank 0 names 0, and rank 1 1"),
            ("started-calls", "in MPI_COMM_WORLD, rank 0 calls MPI_Ibcast, and rank 1 MPI_Ibarrier"),
            ("forms", "in MPI_COMM_WORLD, rank 0 calls MPI_Barrier, and rank 1 MPI_Ibarrier"),
            ("made", "in MPI_COMM_WORLD, MPI_Bcast_init has two roots: rank 0 names 0, and rank 1 1"),
        ],
    );
}

#[test]
fn programs_in_rust_are_told_in_their_own_words() {
    let in_world = |words: &str| format!("in the world communicator, {words}");
    assert_named_once(
        Path::new(IN_RUST),
        &[
            ("operations", &in_world("allreduce has two operations: rank 0 names op::sum, and rank 1 op::max")),
            ("roots", &in_world("bcast has two roots: rank 0 names 0, and rank 1 1")),
            ("lengths", &in_world("bcast has two lengths: 16 bytes at rank 0, and 12 at rank 1")),
            ("calls", &in_world("rank 0 calls bcast, and rank 1 barrier")),
            ("part", &in_world("rank 0 calls barrier, and rank 1 communicator creation")),
            ("values", &in_world("bcast has two roots: rank 0 names 0, and rank 1 1")),
            ("started", &in_world("ibcast has two roots: rank 0 names 0, and rank 1 1")),
            (
                "started-operations",
                &in_world("iallreduce has two operations: rank 0 names op::sum, and rank 1 op::max"),
            ),
            ("started-calls", &in_world("rank 0 calls ibcast, and rank 1 ibarrier")),
            (
                "message",
                "rank 1 finalizes without having received a message in the world communicator: from rank 0, tag 42, \
                 12 bytes",
            ),
            ("request", "rank 0 finalizes with 1 request that is neither completed nor freed"),
        ],
    );
}

#[test]
fn nothing_is_said_of_what_is_right_or_not_to_be_checked() {
    for program in [in_c().as_path(), Path::new(IN_RUST)] {
        let right = said(program, "well", &["--check"]);
        assert!(!right.contains(SAYS) && !right.contains("ended"), "{right}");
        for kind in ["operations", "message", "request"] {
            let unchecked = said(program, kind, &[]);
            assert!(!unchecked.contains(SAYS), "{unchecked}");
        }
    }
    let values = said(Path::new(IN_RUST), "started-values", &["--check"]);
    assert!(!values.contains(SAYS) && !values.contains("ended"), "{values}");
}
