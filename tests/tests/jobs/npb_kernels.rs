//! The `npb` command with the benchmarks that run on two processes: as a job that it starts itself, and within one of
//! `mpiexec`.

use crate::launcher_support::mpiexec;
use rwmpi_tests::binary;
use serde_json::Value;
use std::ffi::OsString;
use std::process::{Command, Output, Stdio};

/// All that need no square number of processes.
const BENCHMARKS: [&str; 6] = ["ep", "is", "cg", "mg", "ft", "lu"];

/// Runs `npb` with these arguments, by itself.
fn npb(arguments: &[&str]) -> Output {
    Command::new(binary("npb")).args(arguments).stdin(Stdio::null()).output().expect("npb starts")
}

/// What `npb` with these arguments wrote as JSON: one object in an array.
fn result(arguments: &[&str]) -> Value {
    let output = npb(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    object(&output.stdout)
}

fn object(json: &[u8]) -> Value {
    let mut results: Vec<Value> = serde_json::from_slice(json).expect("JSON on standard output and nothing else");
    assert_eq!(results.len(), 1);
    results.remove(0)
}

/// Asserts that `npb` refuses these arguments in one message, before any work, whether it starts the ranks or `mpiexec`
/// does.
fn assert_refused(arguments: &[&str], expected: &str) {
    let output = npb(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert_eq!(message.matches("error: ").count(), 1, "{message}");
    assert!(message.contains(expected), "{message}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

fn assert_refused_in_job(ranks: &str, arguments: &[&str], expected: &str) {
    let program = [OsString::from("-n"), ranks.into(), binary("npb").into()];
    let finished = mpiexec(program.into_iter().chain(arguments.iter().map(OsString::from))).run();
    assert_eq!(finished.code, 2, "{finished:?}");
    assert_eq!(finished.stderr.matches("error: ").count(), 1, "{finished:?}");
    assert!(finished.stderr.contains(expected) && finished.stdout.is_empty(), "{finished:?}");
}

#[test]
fn every_benchmark_verifies_over_tcp() {
    for (benchmark, protocol) in
        BENCHMARKS.into_iter().chain(["sp", "bt"]).zip(["sr", "auto", "nsr"].into_iter().cycle())
    {
        let arguments = [benchmark, "--class", "S", "-n", "4", "--transport", "tcp", "--protocol", protocol];
        let result = result(&arguments);
        assert_eq!(result["verified"], true, "{benchmark}");
    }
}

#[test]
fn every_benchmark_verifies_on_one_two_and_four_ranks() {
    for benchmark in BENCHMARKS {
        for ranks in ["1", "2", "4"] {
            let result = result(&[benchmark, "--class", "S", "-n", ranks]);
            assert_eq!(result["benchmark"], benchmark);
            assert_eq!(result["class"], "S");
            assert_eq!(result["ranks"].to_string(), ranks);
            assert_eq!(result["verified"], true);
            assert!(result["seconds"].as_f64() > Some(0.0) && result["mops"].as_f64() > Some(0.0), "{result}");
        }
    }
}

#[test]
fn the_protocol_is_the_one_asked_for() {
    for protocol in ["sr", "nsr", "auto"] {
        let result = result(&["mg", "--class", "S", "-n", "2", "--protocol", protocol]);
        assert_eq!((&result["protocol"], &result["verified"]), (&protocol.into(), &true.into()));
        assert!(result["messages"].as_u64() > Some(0), "{result}");
        let remote_written = result["remote_write_messages"].as_u64().unwrap();
        match protocol {
            "nsr" => assert_eq!(remote_written, 0),
            "sr" => assert!(remote_written > 0),
            _ => (),
        }
    }
}

#[test]
fn it_joins_the_job_it_is_started_in() {
    let program = ["-n".into(), "4".into(), binary("npb").into_os_string(), "cg".into(), "--class".into(), "s".into()];
    let finished = mpiexec(program).run();
    finished.assert_success();
    for line in [" Verification = SUCCESSFUL", " Total processes =            4"] {
        assert_eq!(finished.stdout.matches(line).count(), 1, "{finished:?}");
    }
    for line in [" Time in seconds = ", " Mop/s total = ", " Mop/s/process = "] {
        let figure = finished.stdout.split(line).nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
        assert!(figure.len() == 12 && figure.trim().parse::<f64>().is_ok(), "{line}{figure}");
    }
}

#[test]
fn a_wrong_result_is_a_failure() {
    for benchmark in BENCHMARKS {
        let output = npb(&[benchmark, "--class", "S", "-n", "2", "--corrupt", "--json", "-"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(object(&output.stdout)["verified"], false);
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(report.contains("Verification = UNSUCCESSFUL") && report.contains("WRONG"), "{report}");
    }
}

#[test]
fn mg_and_lu_can_leave_their_sources_open() {
    for benchmark in ["mg", "lu"] {
        let result = result(&[benchmark, "--class", "S", "-n", "4", "--any-source"]);
        assert_eq!(result["verified"], true);
    }
}

#[test]
fn json_can_go_to_a_file() {
    let file = std::env::temp_dir().join(format!("npb-result-{}.json", std::process::id()));
    let output = npb(&["ep", "--class", "S", "-n", "2", "--json", file.to_str().unwrap()]);
    let json = std::fs::read(&file);
    let _ = std::fs::remove_file(&file);
    assert_eq!(object(&json.expect("the file is there"))["verified"], true);
    assert!(String::from_utf8_lossy(&output.stdout).contains("Verification = SUCCESSFUL"));
}

#[test]
fn what_makes_no_sense_is_refused_in_one_message() {
    assert_refused(&["xy", "--class", "S"], "there is no benchmark 'xy'");
    assert_refused(&["cg", "--class", "Q", "-n", "2"], "there is no class 'Q'");
    assert_refused(&["cg", "--class", "S", "-n", "2", "--protocol", "tcp"], "choose sr, nsr or auto");
    assert_refused(&["cg", "--class", "S", "--fast"], "--fast");
    assert_refused(&["cg", "--class", "S", "-n", "3"], "the nearest that work: 1, 2, 4, 8");
    assert_refused(&["is", "--class", "S", "-n", "256"], "64, 128");
    assert_refused(&["cg", "--class", "S", "-n", "2", "--any-source"], "--any-source is for mg and lu");
    assert_refused(&["cg", "--class", "S", "-n", "2", "--one-sided"], "--one-sided is for is and mg");
}

#[test]
fn one_rank_speaks_for_all() {
    assert_refused_in_job("3", &["cg", "--class", "S"], "cg class S can't run on 3 processes");
    assert_refused_in_job("3", &["nothing", "--class", "S"], "there is no benchmark 'nothing'");
    assert_refused_in_job("2", &["cg", "--class", "S", "-n", "4"], "the job has 2");
    assert_refused_in_job("2", &["cg", "--class", "S", "--protocol", "nsr"], "give it to mpiexec");
}
