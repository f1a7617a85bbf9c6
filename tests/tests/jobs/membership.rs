//! A process joins its job once, and says when it leaves: what becomes of those who wait for one that has left, of what
//! a rank starts, and of two libraries in one process.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

const BOTH: [Interface; 2] = [Interface::Standard, Interface::Mpich];
/// Far beyond what a report takes, and far below the watchdog of `c_support`.
const TIMEOUT: &str = "40";

fn ends(interface: Interface) -> PathBuf {
    Library::new(interface).compile(&sources().join("tools/ends.c"), &[]).unwrap()
}

fn mpiexec(ranks: &str, command: &[&str]) -> Output {
    mpiexec_with(&[], ranks, command)
}

fn mpiexec_with(options: &[&str], ranks: &str, command: &[&str]) -> Output {
    let mut mpiexec = Command::new(binary("mpiexec"));
    mpiexec
        .args(["--timeout", TIMEOUT])
        .args(options)
        .args(["-n", ranks])
        .args(command)
        .output()
        .expect("mpiexec starts")
}

/// On one node, over TCP, and with rank 1 on a node of its own.
const WAYS: [&[&str]; 3] = [&[], &["--transport", "tcp"], &["--genv", "RWMPI_NODES", "0,1,0"]];

fn assert_says(output: &Output, code: i32, words: &[&str], what: &str) {
    let text = text(output);
    assert_eq!(output.status.code(), Some(code), "{what}: {text}");
    words.iter().for_each(|word| assert!(text.contains(word), "{what}: {text}"));
    assert!(!text.contains("has got past it"), "{what}: {text}");
}

fn hears_of_rank_1(output: &Output, wait: &str) {
    let code = output.status.code().unwrap();
    assert_says(output, code, &["rank 1, which has finalized"], wait);
    assert!(![0, 124].contains(&code), "{wait}: {}", text(output));
}

/// Nothing that the others wait for is taken for what a rank does as it finalizes, and they learn that it will not
/// come.
#[test]
fn who_waits_for_a_rank_that_has_finalized_hears_of_it() {
    const WAITS: [&str; 15] = [
        "barrier",
        "bcast",
        "long-bcast",
        "allreduce",
        "gather",
        "ibarrier",
        "recv",
        "waitall",
        "waitany",
        "waitany-of-kinds",
        "waitsome",
        "any",
        "probe",
        "send",
        "ssend",
    ];
    for interface in BOTH {
        let program = ends(interface);
        for wait in WAITS {
            for way in WAYS.iter().take(2) {
                let output = mpiexec_with(way, "2", &[program.to_str().unwrap(), "finalize", wait]);
                hears_of_rank_1(&output, wait);
            }
        }
    }
    let program = ends(Interface::Standard);
    for wait in ["barrier", "allreduce", "recv", "waitany"] {
        for way in WAYS {
            let output = mpiexec_with(way, "3", &[program.to_str().unwrap(), "finalize", wait]);
            hears_of_rank_1(&output, wait);
        }
    }
}

/// Also if it waits for somebody else besides, who waits for this one.
#[test]
fn who_waits_for_several_of_which_one_has_finalized_hears_of_it() {
    let program = ends(Interface::Standard);
    for wait in ["gather", "waitall", "waitall-of-kinds", "ibarrier", "ialltoall"] {
        for way in WAYS {
            // There rank 0 waits for rank 2 alone, which waits for rank 0: only a timeout ends that.
            let is_several_nodes = way.contains(&"RWMPI_NODES");
            if wait == "ibarrier" && !way.is_empty() || ["gather", "ialltoall"].contains(&wait) && is_several_nodes {
                continue;
            }
            let output = mpiexec_with(way, "3", &[program.to_str().unwrap(), "finalize", wait, "in chain"]);
            hears_of_rank_1(&output, wait);
        }
    }
}

#[test]
fn who_leaves_without_finalizing_is_named() {
    let program = ends(Interface::Standard);
    for (end, words) in [
        ("return", "exited without finalizing"),
        ("exit", "exited without finalizing"),
        ("_exit", "exited without finalizing"),
        ("exec", "became another program (exec) without finalizing"),
    ] {
        for wait in ["barrier", "recv", "test"] {
            let output = mpiexec("3", &[program.to_str().unwrap(), end, wait]);
            assert_says(&output, 1, &["rank 1 (pid", words], end);
        }
    }
    let script = format!("{} _exit barrier; sleep 100; true", program.display());
    let output = mpiexec("2", &["sh", "-c", &script]);
    assert_says(
        &output,
        1,
        &["rank 1 (pid", "ended without finalizing; what mpiexec has started"],
        "a wrapper that goes on",
    );
}

#[test]
fn after_finalize_each_rank_ends_by_itself() {
    for interface in BOTH {
        let program = ends(interface);
        let output = mpiexec("3", &[program.to_str().unwrap(), "finalize-and-fail", "nothing"]);
        let saved = ["rank 0 has saved its results", "rank 2 has saved its results"];
        assert_says(&output, 8, &saved, "a late failure");
        assert_says(&output, 8, &["rank 1 (pid", "exited with code 8", "it had finalized"], "a late failure");
    }
}

#[test]
fn of_two_libraries_in_a_process_the_second_says_why_it_can_not_join() {
    for (first, second) in [(Interface::Standard, Interface::Mpich), (Interface::Mpich, Interface::Standard)] {
        let program = Library::new(first).compile(&sources().join("tools/two_libraries.c"), &["-ldl"]).unwrap();
        let output = mpiexec("2", &[program.to_str().unwrap(), Library::new(second).file().to_str().unwrap()]);
        let code = output.status.code().unwrap();
        assert!(![0, 9, 124].contains(&code), "{}", text(&output));
        assert_says(&output, code, &["this process has joined its job already"], "two libraries");
    }
}

/// Shells use small numbers, and Python closes what it is not told to pass on.
#[test]
fn scripts_that_start_ranks_may_use_and_close_descriptors() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("collective_order.c"), &[]).unwrap();
    let uses =
        (3..=9).map(|number| format!("exec {number}>/dev/null; ")).collect::<String>() + &program.to_string_lossy();
    assert!(mpiexec("3", &["bash", "-c", &uses]).status.success());
    // All that a shell can name.
    let closes =
        format!("for n in $(seq 3 254) $(seq 256 1200); do eval \"exec $n>&-\"; done; exec {}", program.display());
    let output = mpiexec("3", &["bash", "-c", &closes]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn what_was_handed_down_is_taken_by_one_program() {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("collective_order.c"), &[]).unwrap();
    let twice = format!("{0}; {0}", program.display());
    let output = mpiexec("2", &["sh", "-c", &twice]);
    assert!(!output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("of the job has joined it already"), "{}", text(&output));
    // A number says nothing: here it is another file.
    let other = format!("exec 9</dev/null; RWMPI_JOB_FD=9:1:1:1 exec {}", program.display());
    let output = mpiexec("2", &["bash", "-c", &other]);
    assert!(!output.status.success() && text(&output).contains("RWMPI_JOB_FD"), "{}", text(&output));
}
