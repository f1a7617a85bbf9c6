//! Input and output of the ranks: whole lines, all of them, to the right place, whatever the reader does.

use crate::launcher_support::{self, mpiexec, mpiexec_sh};
use std::io::Read;

#[test]
fn prefixed_lines_stay_whole_when_ranks_write_in_pieces() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do printf 'a%s-' $i; printf 'b' >&2; sleep 0.002; echo $RWMPI_RANK; echo c >&2; done";
    let finished = mpiexec_sh(&["-n", "4", "-l"], script).run();
    assert_eq!(finished.code, 0);
    for rank in 0..4 {
        let lines: Vec<&str> = finished.stdout.lines().filter(|line| line.starts_with(&format!("[{rank}] "))).collect();
        let expected: Vec<String> = (1..=10).map(|i| format!("[{rank}] a{i}-{rank}")).collect();
        assert_eq!(lines, expected);
        assert_eq!(finished.stderr.lines().filter(|&line| line == format!("[{rank}] bc")).count(), 10);
    }
    assert_eq!(finished.stdout.lines().count(), 40);
}

#[test]
fn a_line_without_end_is_not_lost() {
    assert_eq!(mpiexec(["printf", "no newline"]).run().stdout, "no newline");
    assert_eq!(mpiexec(["-l", "printf", "no newline"]).run().stdout, "[0] no newline\n");
}

#[test]
fn the_report_begins_a_line() {
    let finished = mpiexec_sh(&["-n", "2"], "printf 'half a line' >&2; exit 7").run();
    finished.assert_report(7, &["half a line"]);
}

#[test]
fn only_rank_0_reads_standard_input() {
    let finished = mpiexec(["-n", "3", "-l", "cat"]).stdin("one\ntwo\n").run();
    finished.assert_success();
    assert_eq!(finished.stdout, "[0] one\n[0] two\n");
}

/// As with any program in a shell loop: what rank 0 does not read stays for the next command.
#[test]
fn unread_input_is_left_alone() {
    let mpiexec_path = launcher_support::MPIEXEC;
    let script = format!("{mpiexec_path} -n 2 true; cat");
    let finished = mpiexec(["sh", "-c", &script]).stdin("still here\n").run();
    finished.assert_success();
    assert_eq!(finished.stdout, "still here\n");
}

#[test]
fn huge_output_arrives_complete_on_both_streams() {
    let script = "head -c 8000000 /dev/zero | tr '\\0' x | fold -w 99; head -c 3000000 /dev/zero | tr '\\0' y >&2";
    let finished = mpiexec_sh(&["-n", "4"], script).run();
    assert_eq!(finished.code, 0);
    assert_eq!(finished.stdout.matches('x').count(), 4 * 8_000_000);
    assert_eq!(finished.stderr.len(), 4 * 3_000_000);
    assert!(finished.stdout.lines().filter(|line| line.len() > 99).count() <= 4, "lines got mixed");
}

/// It ends the job as it would end the program without a launcher in between.
#[test]
fn the_reader_may_go_away() {
    let (running, mut stdout) = mpiexec(["-n", "2", "yes"]).start_with_stdout();
    let mut beginning = [0; 100];
    stdout.read_exact(&mut beginning).unwrap();
    drop(stdout);
    let finished = running.wait();
    finished.assert_report(128 + 13, &["SIGPIPE", "can no longer be written"]);
}

/// Whether or not the ranks still run when it turns out.
#[test]
fn output_that_cannot_be_written_is_reported() {
    let full = |descriptor: &str, script: &str| {
        let command = format!("exec \"$0\" -n 2 sh -c '{script}' {descriptor}>/dev/full");
        launcher_support::launcher("sh", ["-c", &command, launcher_support::MPIEXEC]).run()
    };
    for script in ["echo done", "while echo more; do :; done", "yes"] {
        full("", script).assert_report(122, &["standard output can no longer be written: No space left on device"]);
    }
    assert_eq!(full("2", "echo done >&2").code, 122);
    assert_eq!(full("2", "true").code, 0);
    full("", "exit 3").assert_report(3, &["exited with code 3"]);
    full("", "trap \"\" PIPE; echo lost; sleep 0.3; exit 3").assert_report(3, &["code 3", "can no longer be written"]);
    let help =
        launcher_support::launcher("sh", ["-c", "exec \"$0\" --help >/dev/full", launcher_support::MPIEXEC]).run();
    help.assert_report(122, &["No space left on device"]);
}

#[test]
fn a_reader_that_has_gone_before_the_ranks_ended_is_reported() {
    let (running, stdout) = mpiexec_sh(&["-n", "2"], "sleep 0.3; echo done").start_with_stdout();
    drop(stdout);
    running.wait().assert_report(128 + 13, &["standard output can no longer be written: Broken pipe"]);
}

/// It limits the ranks' shared file, too. (It used to kill the launcher.)
#[test]
fn a_limit_on_the_size_of_files_is_reported() {
    let command = "ulimit -f 1; exec \"$0\" -n 1 true";
    let finished = launcher_support::launcher("sh", ["-c", command, launcher_support::MPIEXEC]).run();
    finished.assert_report(125, &["no file may have more than 512", "ulimit -f"]);
}

#[test]
fn a_reader_that_stalls_keeps_neither_signals_nor_failures_waiting() {
    // Nobody reads standard output while the job runs.
    let (running, stdout) =
        mpiexec_sh(&["-n", "2"], "if [ $RWMPI_RANK = 1 ]; then sleep 0.5; exit 3; fi; exec cat /dev/zero")
            .start_with_stdout();
    running.processes(2, |pid| launcher_support::runs(pid, "cat") || launcher_support::runs(pid, "sleep"));
    let rank_0_is_gone = std::time::Instant::now();
    while !running.processes(0, |pid| launcher_support::runs(pid, "cat")).is_empty() {
        assert!(rank_0_is_gone.elapsed() < std::time::Duration::from_secs(20), "rank 0 was not ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The launcher now waits for its reader, and still listens to signals.
    running.signal(rustix::process::Signal::TERM);
    let finished = running.wait();
    finished.assert_report(3, &["rank 1", "exited with code 3"]);
    drop(stdout);
}

#[test]
fn a_process_that_escaped_does_not_hold_up_the_end() {
    // It leaves group and session, keeps the pipe, and dies on its own.
    let finished = mpiexec_sh(&["-n", "2"], "setsid env -u RWMPI_TEST_JOB sleep 20 & echo done").run();
    finished.assert_success();
    assert_eq!(finished.stdout, "done\ndone\n");
}

#[test]
fn children_of_ranks_end_with_the_job() {
    mpiexec_sh(&["-n", "2"], "sleep 100 & sleep 100 & exit 0").run().assert_success();
}
