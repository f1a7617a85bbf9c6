//! When something dies: one report that names it, the right exit code, and nothing left behind.

use crate::launcher_support::{self, PEER, Running, launcher, mpiexec, mpiexec_sh, runs, send};
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[test]
fn the_exit_code_is_that_of_the_rank_that_failed() {
    let finished = mpiexec_sh(&["-n", "4"], "if [ $RWMPI_RANK = 2 ]; then exit 42; fi; sleep 100").run();
    finished.assert_report(42, &["rank 2 (pid ", "exited with code 42", "3 other ranks", "program: sh -c"]);
}

#[test]
fn a_death_by_signal_is_named() {
    for (signal, number) in [("SEGV", 11), ("KILL", 9), ("ABRT", 6), ("TERM", 15)] {
        let script = format!("if [ $RWMPI_RANK = 1 ]; then kill -{signal} $$; fi; sleep 100");
        let finished = mpiexec_sh(&["-n", "3"], &script).run();
        finished
            .assert_report(128 + number, &["rank 1 (pid ", &format!("signal {number}: SIG{signal}"), "2 other ranks"]);
    }
}

#[test]
fn ranks_that_ignore_sigterm_end_too() {
    let script = "trap '' TERM; if [ $RWMPI_RANK = 0 ]; then sleep 0.3; exit 3; fi; while :; do sleep 1; done";
    mpiexec_sh(&["-n", "3"], script).run().assert_report(3, &["rank 0"]);
}

#[test]
fn a_rank_killed_from_outside_is_named() {
    let running = mpiexec_sh(&["-n", "3"], "echo $$; exec sleep 100").start();
    let victim = running.processes(3, |pid| runs(pid, "sleep"))[1];
    send(victim, Signal::KILL);
    let finished = running.wait();
    finished.assert_report(137, &[&format!("(pid {victim} on "), "SIGKILL", "2 other ranks"]);
}

/// The system would end the launcher, and say nothing.
#[test]
fn a_limit_of_file_sizes_that_is_too_small_is_named() {
    let limited = |blocks: u32| {
        let script = format!("ulimit -f {blocks}; exec {} -n 2 true", rwmpi_tests::binary("mpiexec").display());
        launcher("sh", ["-c", &script]).run()
    };
    let finished = limited(1000);
    assert!(finished.code != 0 && finished.stderr.contains("`ulimit -f`"), "{finished:?}");
    limited(1_000_000).assert_success();
}

/// The kernel ends the ranks when the launcher can no longer do so, children of wrapper scripts included.
#[test]
fn killing_the_launcher_kills_the_ranks() {
    kill_launcher(mpiexec(["-n", "3", "sleep", "100"]).start(), 3);
    kill_launcher(mpiexec_sh(&["-n", "3"], "sleep 100; true").start(), 3);
    kill_launcher(mpiexec_sh(&["-n", "2"], "sh -c 'sleep 100; true' & sleep 100; true").start(), 4);
}

fn kill_launcher(running: Running, sleepers: usize) {
    running.processes(sleepers, |pid| runs(pid, "sleep"));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, 137);
}

#[test]
fn an_interrupt_reaches_the_ranks_and_ends_the_job() {
    let script = "trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done";
    let running = mpiexec_sh(&["-n", "2"], script).start();
    running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::INT);
    let finished = running.wait();
    finished.assert_report(130, &["SIGINT"]);
    assert_eq!(finished.stdout.matches("saved").count(), 2, "{finished:?}");
}

#[test]
fn who_ignores_the_interrupt_is_ended_all_the_same_and_at_once_by_the_second() {
    let running = mpiexec_sh(&["-n", "2"], "trap '' INT TERM; while :; do sleep 0.05; done").start();
    running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::INT);
    running.wait().assert_report(130, &["SIGINT"]);

    let running = mpiexec_sh(&["-n", "2"], "trap '' INT TERM; while :; do sleep 0.05; done").start();
    running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::TERM);
    running.signal(Signal::INT);
    let finished = running.wait();
    assert!([130, 143].contains(&finished.code), "{finished:?}");
}

#[test]
fn user_signals_are_passed_on() {
    let script = "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.05; done";
    let running = mpiexec_sh(&["-n", "2"], script).start();
    running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::USR1);
    let finished = running.wait();
    assert_eq!((finished.code, finished.stdout.matches("got").count()), (0, 2), "{finished:?}");
}

#[test]
fn stopping_and_continuing_takes_the_ranks_along() {
    let running = mpiexec_sh(&["-n", "2"], "exec sleep 1").start();
    let ranks = running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::TSTP);
    for &pid in ranks.iter().chain([&running.pid()]) {
        wait_until(|| state(pid) == "T", "stopped");
    }
    running.signal(Signal::CONT);
    running.wait().assert_success();
}

#[test]
fn a_job_started_to_ignore_hang_ups_ignores_them() {
    let script = format!("trap '' HUP; exec {} -n 2 sh -c 'exec sleep 1'", launcher_support::MPIEXEC);
    let running = mpiexec_sh(&[], &script).start();
    let inner = running.processes(1, |pid| runs(pid, "mpiexec-under-t"))[0];
    running.processes(2, |pid| runs(pid, "sleep"));
    send(inner, Signal::HUP);
    running.wait().assert_success();
}

#[test]
fn the_time_limit_ends_the_job_with_a_report() {
    let finished = mpiexec(["-n", "3", "--timeout", "0.5", "sleep", "100"]).run();
    finished.assert_report(124, &["after 0.5 s", "3 ranks still ran", "ranks 0-2:"]);
}

#[test]
fn a_time_limit_that_is_not_reached_changes_nothing() {
    mpiexec(["-n", "3", "--timeout", "1000", "true"]).run().assert_success();
}

#[test]
fn orderly_peers_succeed() {
    let finished = mpiexec(["-n", "3", PEER, "succeed"]).run();
    finished.assert_success();
    assert_eq!(finished.sorted_lines(), ["rank 0 of 3 joined", "rank 1 of 3 joined", "rank 2 of 3 joined"]);
}

#[test]
fn leaving_without_finalizing_is_reported() {
    mpiexec(["-n", "3", PEER, "leave", "1"])
        .run()
        .assert_report(1, &["rank 1", "exited without finalizing", "2 other ranks"]);
}

#[test]
fn staying_away_is_reported() {
    mpiexec(["-n", "3", PEER, "stay-away", "2"]).run().assert_report(1, &["rank 2", "without joining"]);
}

#[test]
fn a_rank_that_fails_among_waiting_ones_is_reported() {
    mpiexec(["-n", "3", PEER, "fail", "0"])
        .run()
        .assert_report(7, &["rank 0", "exited with code 7", "last call: none yet"]);
    mpiexec(["-n", "3", PEER, "die", "2"]).run().assert_report(137, &["rank 2", "SIGKILL", "last call: none yet"]);
}

#[test]
fn an_error_after_finalizing_ends_the_job_too() {
    mpiexec(["-n", "2", PEER, "finish-and-fail", "1"])
        .run()
        .assert_report(6, &["rank 1", "code 6", "it had finalized"]);
}

#[test]
fn an_abort_is_reported_in_its_own_words() {
    mpiexec(["-n", "3", PEER, "abort", "1"]).run().assert_report(5, &["rank 1", "code 5", "the matrix is singular"]);
    mpiexec(["-n", "3", PEER, "abort-and-hang", "1"]).run().assert_report(4, &["rank 1", "code 4", "stop all of it"]);
}

#[test]
fn killing_the_launcher_kills_peers_behind_a_shell() {
    let running = mpiexec_sh(&["-n", "3"], &format!("{PEER} hold; true")).start();
    running.processes(3, |pid| runs(pid, "launcher-peer"));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, 137);
}

#[test]
fn asked_for_it_the_launcher_says_what_ranks_do_and_goes_on() {
    let running = mpiexec_sh(&["-n", "2"], "trap 'exit 0' USR1; while :; do sleep 0.05; done").start();
    running.processes(2, |pid| runs(pid, "sleep"));
    running.signal(Signal::QUIT);
    // Both at once might be seen in either order; the report is out once the launcher has read it.
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::USR1);
    let finished = running.wait();
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(finished.stderr.contains("ranks 0-1: running, has not joined the job"), "{finished:?}");
}

/// A rank of a real MPI job, which sends.
const MPI_PROGRAM: &str = env!("CARGO_BIN_EXE_launcher-mpi");

#[test]
fn a_full_segment_directory_is_a_message() {
    let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("full-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let command = std::process::Command::new(program).args(arguments).arg(&directory).output();
        command.is_ok_and(|output| output.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=4k", "tmpfs"]) {
        eprintln!("skipped: this user may not mount a file system");
        return;
    }
    let directory_name = directory.to_str().unwrap();
    // With a little more room each time: first the launcher lacks it, then the ranks, then nobody.
    let (mut launcher_starved, mut ranks_starved, mut served) = (false, false, false);
    for kilobytes in (4..1000).step_by(8) {
        assert!(run("mount", &["-o", &format!("remount,size={kilobytes}k")]), "remounted");
        let outcome = mpiexec(["-n", "2", "-segment-dir", directory_name, MPI_PROGRAM, "succeed"]).run();
        if outcome.code == 0 {
            served = true;
            break;
        } else if outcome.stderr.contains("no shared memory left") {
            ranks_starved = true;
        } else {
            outcome.assert_report(125, &["No space left", directory_name]);
            launcher_starved = true;
        }
    }
    assert!(run("umount", &[]), "unmounted");
    assert!(launcher_starved && ranks_starved && served, "{launcher_starved} {ranks_starved} {served}");
    let _ = std::fs::remove_dir(&directory);
}

#[test]
fn a_segment_directory_serves_the_job_and_keeps_nothing() {
    let directory =
        std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("segment-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    mpiexec(["-n", "2", "-segment-dir", directory.to_str().unwrap(), PEER, "succeed"]).run();
    std::fs::remove_dir(&directory).expect("nothing is left in it");
}

fn state(pid: i32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field, the name, is in parentheses and may contain anything.
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or_default().to_owned()
}

fn wait_until(condition: impl Fn() -> bool, what: &str) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "never {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
