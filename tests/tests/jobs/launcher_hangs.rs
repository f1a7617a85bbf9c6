//! Jobs that hang, of which the launcher says so unasked; and jobs that only look like that, of which it must not.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rwmpi_abi_table::Interface;
use rwmpi_tests::binary;

use crate::c_support::{Library, sources, text};
use crate::launcher_hosts::agent;

/// What a report begins with.
const HANGS: &str = "the job hangs";
/// Ends a job of which nothing is said, as a failure.
const TIMEOUT: &str = "60";
const IN_RUST: &str = env!("CARGO_BIN_EXE_launcher-mpi");

/// That program in C, compiled for the test that calls this.
fn program(name: &str) -> PathBuf {
    Library::new(Interface::Standard).compile(&sources().join("tools").join(name), &[]).unwrap()
}

/// Two hosts, which are this machine.
fn two_hosts() -> [&'static str; 6] {
    ["-hosts", "a,b", "--launch-agent", agent(), "--interface", "lo"]
}

/// What is said of a job that hangs, until it is ended from outside.
fn report(options: &[&str], ranks: u32, program: &Path, kind: &str) -> String {
    let mut mpiexec = Command::new(binary("mpiexec"));
    if kind == "collectives" {
        // By way of messages: on shelves ranks find out that their collectives are not the same.
        let tuning = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hangs.toml");
        std::fs::write(&tuning, "slots_ranks_max = 1\nslots_ranks_max_in_turns = 1\n").expect("it can be written");
        mpiexec.env("RWMPI_TUNING", tuning);
    }
    mpiexec.args(options).args(["-n", &ranks.to_string()]).arg(program).arg(kind);
    until_it_is_said(mpiexec)
}

/// Starts `mpiexec` and returns what it says; a job that hangs is ended once that is said.
pub fn until_it_is_said(mut mpiexec: Command) -> String {
    mpiexec.env("MPIEXEC_TIMEOUT", TIMEOUT);
    let mut mpiexec = mpiexec.stderr(Stdio::piped()).spawn().expect("mpiexec starts");
    let mut said = BufReader::new(mpiexec.stderr.take().expect("it is piped"));
    let mut lines = String::new();
    while said.read_line(&mut lines).expect("it can be read") > 0 && !lines.contains(HANGS) {}
    let pid = Pid::from_child(&mpiexec);
    kill_process(pid, Signal::TERM).expect("it waits for the ranks");
    said.read_to_string(&mut lines).expect("it can be read");
    mpiexec.wait().expect("it ends");
    lines
}

fn assert_hangs(ranks: u32, program: &Path, kind: &str, said: &[&str]) {
    assert_hangs_with(&[], ranks, program, kind, said);
}

fn assert_hangs_with(options: &[&str], ranks: u32, program: &Path, kind: &str, said: &[&str]) {
    let report = report(options, ranks, program, kind);
    assert!(report.contains(HANGS), "{kind}: {report}");
    said.iter().for_each(|words| assert!(report.contains(words), "{kind}: no {words:?} in\n{report}"));
    assert_eq!(report.matches(HANGS).count(), 1, "{kind}: {report}");
}

#[test]
fn messages_that_no_receive_takes_are_named() {
    let hangs = program("hangs.c");
    assert_hangs(
        2,
        &hangs,
        "tags",
        &[
            "rank 0, in MPI_Recv, waits for a receive from rank 1, tag 9",
            "rank 1, in MPI_Recv, waits for a receive from rank 0, tag 8",
            "a message is here that no receive takes: from rank 0, tag 7, 4 bytes",
            "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0",
        ],
    );
    assert_hangs(
        2,
        &hangs,
        "communicator",
        &[
            "rank 1, in MPI_Recv, waits for a receive from rank 0, tag 4, in communicator",
            "a message is here that no receive takes: from rank 0, tag 4, 8 bytes\n",
        ],
    );
}

#[test]
fn cycles_are_named_with_what_each_call_waits_for() {
    let hangs = program("hangs.c");
    assert_hangs(
        3,
        &hangs,
        "cycle",
        &[
            "rank 2, in MPI_Recv, waits for a receive from rank 0, tag 3",
            "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 0",
        ],
    );
    assert_hangs(2, &hangs, "sends", &["rank 0, in MPI_Send, waits for a send to rank 1, tag 1, 10485760 bytes"]);
    assert_hangs(1, &hangs, "itself", &["deadlock: rank 0 waits for itself"]);
    assert_hangs(
        2,
        &hangs,
        "lock",
        &[
            "rank 0, in MPI_Recv, waits for a receive from rank 1, tag 2",
            "rank 1, in MPI_Win_",
            "waits for a lock of a window from rank 0",
        ],
    );
}

#[test]
fn waits_for_several_requests_name_each() {
    let hangs = program("hangs.c");
    assert_hangs(
        2,
        &hangs,
        "waitall",
        &[
            "rank 0, in MPI_Waitall, waits for all of 3: receive from rank 1, tag 20; receive from rank 1, tag 21; \
         receive from rank 1, tag 22",
            "rank 1, in MPI_Waitall, waits for all of 2: receive from rank 0, tag 20; receive from rank 0, tag 22",
        ],
    );
    assert_hangs(
        2,
        &hangs,
        "waitany",
        &[
            "ranks 0-1, in MPI_Waitany, wait for the first of 2: receive from any rank, tag 30; receive from any rank, tag 31",
        ],
    );
    assert_hangs(2, &hangs, "probe", &["ranks 0-1, in MPI_Probe, wait for a probe from any rank, tag 6"]);
}

#[test]
fn collectives_that_do_not_go_together_are_named() {
    let hangs = program("hangs.c");
    assert_hangs(
        2,
        &hangs,
        "order",
        &[
            "rank 0, in MPI_Barrier, in the world communicator",
            "rank 1, in MPI_Barrier, in communicator ",
            "collectives of these communicators in a different order",
        ],
    );
    assert_hangs(
        3,
        &hangs,
        "collectives",
        &["in the world communicator: ranks 0,2 in MPI_Barrier, rank 1 in MPI_Bcast; all its ranks must call the same"],
    );
    assert_hangs(
        4,
        &hangs,
        "odd",
        &[
            "ranks 0-2, in MPI_Barrier, in the world communicator",
            "rank 3, in MPI_Recv, waits for a receive from rank 0, tag 5",
            "the others are in a collective, and rank 3 is not",
        ],
    );
    assert_hangs(2, &hangs, "nonblocking", &["rank 0, in MPI_Wait, in the world communicator", "rank 1, in MPI_Recv"]);
}

#[test]
fn a_program_that_could_have_threads_and_has_none_hangs_too() {
    assert_hangs(2, &program("hangs.c"), "threads", &["deadlock: rank 0 waits for rank 1"]);
}

/// Whatever was sent has come: so much is known of what nobody sees.
#[test]
fn ranks_of_a_host_that_use_tcp_hang_too() {
    let hangs = program("hangs.c");
    for (kind, said) in [
        ("cycle", "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0"),
        ("tags", "a message is here that no receive takes: from rank 0, tag 7, 4 bytes"),
        ("waitall", "rank 0, in MPI_Waitall, waits for all of 3: receive from rank 1, tag 20;"),
        ("sends", "in MPI_Send, wait"),
    ] {
        assert_hangs_with(&["--transport", "tcp"], 2, &hangs, kind, &[said]);
    }
    let odd = ["the others are in a collective, and rank 3 is not"];
    assert_hangs_with(&["--transport", "tcp"], 4, &hangs, "odd", &odd);
}

/// Ranks that share processors sleep almost at once as they wait for the network.
#[test]
fn ranks_that_use_tcp_say_what_they_wait_for_before_they_sleep() {
    let output = Command::new(binary("mpiexec"))
        .args(["--no-hang-check", "--transport", "tcp", "--timeout", "5", "-n", "8"])
        .arg(program("hangs.c"))
        .arg("odd")
        .output()
        .expect("mpiexec starts");
    let said = text(&output);
    assert!(output.status.code() == Some(124) && said.contains("rank 7 waits for rank 0 (receive, tag 5"), "{said}");
}

/// What each host sees of its ranks comes together, and whatever was sent between hosts has come.
#[test]
fn ranks_of_two_hosts_hang_too() {
    let hangs = program("hangs.c");
    for (ranks, kind, said) in [
        (2, "cycle", &["deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0"][..]),
        (
            2,
            "tags",
            &[
                "rank 0, in MPI_Recv, waits for a receive from rank 1, tag 9",
                "a message is here that no receive takes: from rank 0, tag 7, 4 bytes",
            ],
        ),
        (4, "cycle", &["deadlock: rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 3,"]),
        (2, "sends", &["in MPI_Send, wait"]),
        (
            2,
            "collectives",
            &[
                "in the world communicator: rank 0 in MPI_Barrier, rank 1 in MPI_Bcast; all its ranks must call the same",
            ],
        ),
        (4, "odd", &["the others are in a collective, and rank 3 is not"]),
        (3, "leaving", &["rank 2, in MPI_Finalize", "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0"]),
    ] {
        assert_hangs_with(&two_hosts(), ranks, &hangs, kind, said);
    }
}

#[test]
fn ranks_of_two_hosts_that_do_not_hang_are_left_alone() {
    what_goes_on_is_left_alone(&two_hosts(), "auto");
}

#[test]
fn threads_that_sleep_are_no_help() {
    assert_hangs(2, &program("hangs.c"), "pool", &["deadlock: rank 0 waits for rank 1"]);
}

#[test]
fn who_waits_for_a_rank_that_has_finalized_is_an_error_and_no_hang() {
    let library = Library::new(Interface::Standard);
    let output = library.run(2, &[program("hangs.c").as_os_str(), "finalize".as_ref()], &[]);
    assert!(!output.status.success() && text(&output).contains("rank 1, which has finalized"), "{}", text(&output));
}

#[test]
fn programs_in_rust_hang_by_the_names_of_their_calls() {
    assert_hangs(
        2,
        Path::new(IN_RUST),
        "cycle",
        &[
            "rank 0, in receive, waits for a receive from rank 1, tag 7",
            "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0",
        ],
    );
}

#[test]
fn nothing_is_said_if_it_is_not_to_be() {
    let hangs = program("hangs.c");
    let output = Command::new(binary("mpiexec"))
        .args(["--no-hang-check", "--timeout", "6", "-n", "2"])
        .arg(hangs)
        .arg("cycle")
        .output()
        .expect("mpiexec starts");
    assert!(output.status.code() == Some(124) && !text(&output).contains(HANGS), "{}", text(&output));
}

/// Each goes on after some seconds, and so comes to its end.
fn what_goes_on_is_left_alone(options: &[&str], transport: &str) {
    let no_hangs = program("no_hangs.c");
    let kinds = [
        "computing",
        "testing",
        "thread",
        "timer",
        "stopped",
        "generalized",
        "leaving",
        "collective",
        "lock",
        "joining",
    ];
    let run = |kind: &str| {
        let mut mpiexec = Command::new(binary("mpiexec"));
        mpiexec.args(options).args(["--transport", transport, "--timeout", TIMEOUT, "-n", "2"]);
        mpiexec.arg(&no_hangs).arg(kind).output().expect("mpiexec starts")
    };
    std::thread::scope(|scope| {
        let run = &run;
        let jobs = kinds.map(|kind| (kind, scope.spawn(move || run(kind))));
        for (kind, job) in jobs {
            let output = job.join().unwrap();
            let said = text(&output);
            assert!(output.status.success() && !said.contains(HANGS), "{kind} over {transport}: {said}");
        }
    });
}

#[test]
fn what_only_looks_like_a_hang_is_none() {
    for transport in ["auto", "tcp"] {
        what_goes_on_is_left_alone(&[], transport);
    }
}
