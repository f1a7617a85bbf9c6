//! The thread that makes progress while programs in C compute (`RWMPI_PROGRESS=thread`): what only it makes possible,
//! that it costs nothing when there is nothing to do, and that nothing else changes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use crate::c_support::{Library, sources, text};
use rwmpi_abi_table::Interface;

const THREAD: (&str, &str) = ("RWMPI_PROGRESS", "thread");

/// Runs one of the programs of `progress.c`.
fn run(what: &str, ranks: u32, options: &[&str], environment: &[(&str, &str)]) -> Output {
    let library = Library::new(Interface::Standard);
    let program = library.compile(&sources().join("tools/progress.c"), &[]).unwrap();
    let file = program.with_extension(format!("{what}.{ranks}"));
    fs::write(&file, "").unwrap();
    let command: Vec<&OsStr> =
        options.iter().map(OsStr::new).chain([program.as_os_str(), what.as_ref(), file.as_os_str()]).collect();
    let environment: Vec<(&str, &OsStr)> = environment.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
    library.run(ranks, &command, &environment)
}

/// Runs it with a thread for progress, over shared memory and over TCP.
fn must_run(what: &str, ranks: u32) {
    for options in [&["--transport", "auto"], &["--transport", "tcp"]] {
        let output = run(what, ranks, options, &[THREAD]);
        assert!(output.status.success(), "{what}, {}: {}", options[1], text(&output));
    }
}

#[test]
fn a_receive_is_matched_while_its_rank_computes() {
    must_run("matched", 2);
}

#[test]
fn long_messages_arrive_while_their_receiver_computes() {
    must_run("fetched", 2);
    let output = run("fetched", 2, &[], &[THREAD, ("RWMPI_PROTOCOL", "nsr"), ("RWMPI_SHARED_HEAP", "off")]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn sends_return_before_anybody_receives() {
    must_run("returns", 2);
    must_run("overflows", 2);
}

#[test]
fn collectives_go_on_while_a_rank_computes() {
    must_run("collective", 4);
}

/// Two nodes, in the same machine: two ranks of each share memory, and hear their sockets, too.
#[test]
fn the_same_goes_for_ranks_on_several_nodes() {
    let agent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("progress-agent");
    fs::write(&agent, "#!/bin/sh\nshift\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let agent = agent.to_str().unwrap();
    for (what, ranks, hosts) in [("matched", 2, "a,b"), ("collective", 4, "a:2,b:2"), ("idle", 4, "a:2,b:2")] {
        let output = run(what, ranks, &["-hosts", hosts, "--launch-agent", agent, "--interface", "lo"], &[THREAD]);
        assert!(output.status.success(), "{what}: {}", text(&output));
    }
}

#[test]
fn functions_of_a_program_without_threads_are_called_by_its_own() {
    must_run("operation", 3);
}

#[test]
fn it_sleeps_where_nothing_happens() {
    must_run("idle", 2);
}

#[test]
fn children_and_threads_of_the_program_are_no_trouble() {
    must_run("forks", 2);
    must_run("threads", 2);
}

#[test]
fn an_abort_ends_it_too() {
    let output = run("aborts", 3, &[], &[THREAD]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
}

#[test]
fn there_is_none_without_being_asked_for_and_no_other_kind() {
    let output = run("none", 2, &[], &[]);
    assert!(output.status.success(), "{}", text(&output));
    for (name, value) in [("RWMPI_PROGRESS", "magic"), ("RWMPI_SEND_BUFFER", "much")] {
        let output = run("forks", 2, &[], &[THREAD, (name, value)]);
        assert!(!output.status.success() && text(&output).contains(value), "{}", text(&output));
    }
}

#[test]
fn the_launcher_says_what_it_will_do() {
    let output = run("forks", 2, &["--explain"], &[THREAD, ("RWMPI_SEND_BUFFER", "123456")]);
    assert!(output.status.success() && text(&output).contains("123456 bytes"), "{}", text(&output));
}
