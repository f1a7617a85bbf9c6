//! What whoever starts `mpiexec` may have left it: signals ignored or blocked, settings in the environment; and what
//! the ranks get of it.

use crate::launcher_support::{self, Finished, MPIEXEC, PEER, launcher, mpiexec, mpiexec_sh};
use std::process::Command;

/// Says which signals it ignores and blocks.
const SIGNALS: [&str; 4] = ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"];

/// `mpiexec` with these arguments, started by `env` with those of its own.
fn started_by_env(options: &[&str], arguments: &[&str]) -> Finished {
    launcher("env", options.iter().chain(&[MPIEXEC]).chain(arguments)).run()
}

/// The masks that `grep` has shown.
fn masks(finished: &Finished) -> Vec<u64> {
    // Signals 32 and 33 are the C library's, which lets nobody change them.
    const OF_LIBRARY: u64 = 3 << 31;
    let mask = |line: &str| u64::from_str_radix(line.rsplit(char::is_whitespace).next().unwrap(), 16).unwrap();
    finished.stdout.lines().map(|line| mask(line) & !OF_LIBRARY).collect()
}

#[test]
fn a_starter_that_ignores_or_blocks_signals_changes_no_result() {
    for options in [&["--ignore-signal=CHLD"], &["--block-signal=CHLD"], &["--ignore-signal"], &["--block-signal"]] {
        started_by_env(options, &["-n", "2", PEER, "succeed"]).assert_success();
        assert_eq!(started_by_env(options, &["-n", "2", "sh", "-c", "exit 7"]).code, 7, "{options:?}");
    }
}

#[test]
fn a_host_that_is_reached_by_such_an_agent_works_too() {
    let agent = "sh -c 'shift; exec env --ignore-signal=CHLD --block-signal=TERM \"$@\"' agent";
    let finished = mpiexec(["-hosts", "a,b", "--launch-agent", agent, "--interface", "lo", "-n", "2", "true"]).run();
    finished.assert_success();
}

#[test]
fn ranks_ignore_and_block_only_what_the_user_wants_ignored() {
    let finished = started_by_env(&["--block-signal"], &[&["-n", "2"], &SIGNALS[..]].concat());
    assert_eq!(masks(&finished), [0; 4], "{finished:?}");
    let finished = started_by_env(&["--ignore-signal=CHLD,PIPE,ALRM,XFSZ,HUP"], &SIGNALS);
    assert_eq!(masks(&finished), [0, 1], "only SIGHUP, as under nohup: {finished:?}");
}

#[test]
fn blocked_signals_reach_the_launcher_all_the_same() {
    let arguments = ["--block-signal=TERM", MPIEXEC, "-n", "2", "sleep", "100"];
    let running = launcher("env", arguments).start();
    running.processes(2, |pid| launcher_support::runs(pid, "sleep"));
    running.signal(rustix::process::Signal::TERM);
    running.wait().assert_report(143, &["SIGTERM"]);
}

/// It would leave the program to a child, and end at once, if the rank led its process group.
#[test]
fn a_rank_may_begin_a_session() {
    let finished = mpiexec(["-n", "2", "setsid", PEER, "succeed"]).run();
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["rank 0 of 2 joined", "rank 1 of 2 joined"]);
    let finished = mpiexec(["-n", "2", "setsid", "sh", "-c", "exit 7"]).run();
    finished.assert_report(7, &["exited with code 7"]);
    // It and what it has started end with the job.
    let script = "if [ $RWMPI_RANK = 1 ]; then sleep 0.3; exit 3; fi; exec setsid sh -c 'sleep 100 & sleep 100'";
    mpiexec_sh(&["-n", "2"], script).run().assert_report(3, &["rank 1"]);
}

#[test]
fn the_time_allowed_can_come_from_the_environment() {
    let run = |limit: &str, arguments: &[&str]| {
        mpiexec(arguments).command(|command| _ = command.env("MPIEXEC_TIMEOUT", limit)).run()
    };
    run("0.5", &["-n", "2", "sleep", "100"]).assert_report(124, &["after 0.5 s", "MPIEXEC_TIMEOUT"]);
    run("0.5", &["--timeout", "100", "sleep", "1"]).assert_success();
    for none in ["", "0", "-1"] {
        run(none, &["true"]).assert_success();
    }
    let finished = run("soon", &["true"]);
    assert_eq!(finished.code, 2);
    assert!(finished.stderr.contains("MPIEXEC_TIMEOUT=soon: not a number of seconds"), "{finished:?}");
}

#[test]
fn settings_that_nobody_understands_are_pointed_out_once() {
    let set = |name: &str, value: &str, options: &[&str]| {
        let arguments = options.iter().chain(&["-n", "3", PEER, "succeed"]);
        mpiexec(arguments).command(|command| _ = command.env(name, value)).run()
    };
    let said = |finished: Finished, words: &str| {
        assert_eq!((finished.code, finished.stderr.lines().count()), (0, 1), "{finished:?}");
        assert!(finished.stderr.starts_with("mpiexec: warning: ") && finished.stderr.contains(words), "{finished:?}");
    };
    said(set("RWMPI_SHARED_HEAP", "no", &[]), "RWMPI_SHARED_HEAP can be on or off");
    said(set("RWMPI_KERNELCOPY", "off", &[]), "perhaps RWMPI_KERNEL_COPY is meant");
    said(set("HOME", "/", &["-genv", "RWMPI_SHARD_HEAP", "off"]), "perhaps RWMPI_SHARED_HEAP is meant");
    said(set("RWMPI_LAMES", "2", &["-x", "RWMPI_LAMES"]), "perhaps RWMPI_LANES is meant");
    set("RWMPI_SHARED_HEAP", "on", &[]).assert_success();
}

/// A program without a launcher, or with another's, says it itself.
#[test]
fn a_rank_that_mpiexec_has_not_started_points_them_out() {
    let program = env!("CARGO_BIN_EXE_launcher-mpi");
    let output = Command::new(program).arg("succeed").env("RWMPI_PROTOCOLL", "sr").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("rwmpi: warning: RWMPI_PROTOCOLL is no setting of rwmpi"), "{said}");
}

#[test]
fn an_environment_can_be_kept_from_the_ranks() {
    let run = |options: &[&str]| {
        let arguments = options.iter().chain(&["-n", "2", "/usr/bin/env"]);
        let finished = mpiexec(arguments).command(|command| _ = command.env("OURS", "1").env("OTHER", "2")).run();
        finished.assert_success();
        ["OURS=1", "OTHER=2", "SET=3", "RWMPI_SIZE=2"].map(|entry| finished.stdout.matches(entry).count())
    };
    // Without its marker a job cannot be looked for.
    let marker = "RWMPI_TEST_JOB";
    assert_eq!(run(&["-genvall", "-genv", "SET", "3"]), [2, 2, 2, 2]);
    assert_eq!(run(&["-genvlist", marker, "-genv", "SET", "3"]), [0, 0, 2, 2]);
    assert_eq!(run(&["-envlist", &format!("OURS,{marker}"), "-env", "SET", "3"]), [2, 0, 2, 2]);
    assert_eq!(run(&["-genvnone"]), [0, 0, 0, 2]);
    assert_eq!(run(&["-hosts", "localhost", "-genvnone", "-env", "SET", "3"]), [0, 0, 2, 2]);
}
