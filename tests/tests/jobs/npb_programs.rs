//! Programs as users run them: real benchmarks, whose results are verified, under the real launcher.

use std::process::{Command, Output};

use rwmpi_tests::binary;

/// A job that takes that many seconds hangs; the launcher then says who waits for whom.
const TIMEOUT: &str = "150";

fn mpiexec(options: &[&str], benchmark: &str) -> Output {
    let mut command = Command::new(binary("mpiexec"));
    command.args(["--timeout", TIMEOUT]).args(options).arg(binary("npb")).args([benchmark, "--class", "S"]);
    command.output().expect("mpiexec starts")
}

#[track_caller]
fn assert_verified(output: &Output) {
    let report = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{report}\n{errors}", output.status);
    assert_eq!(report.matches("Verification = SUCCESSFUL").count(), 1, "{report}\n{errors}");
}

/// Every benchmark on four ranks, by one protocol.
fn all_benchmarks(protocol: &str) {
    for benchmark in ["ep", "is", "cg", "mg", "ft", "lu", "sp", "bt"] {
        println!("{benchmark}");
        assert_verified(&mpiexec(&["-n", "4", "--protocol", protocol], benchmark));
    }
}

#[test]
fn benchmarks_verify_by_sr() {
    all_benchmarks("sr");
}

#[test]
fn benchmarks_verify_by_nsr() {
    all_benchmarks("nsr");
}

#[test]
fn benchmarks_verify_by_auto() {
    all_benchmarks("auto");
}

#[test]
fn a_wrong_result_fails_the_job() {
    let mut command = Command::new(binary("mpiexec"));
    command.args(["--timeout", TIMEOUT, "-n", "2"]).arg(binary("npb")).args(["is", "--class", "S", "--corrupt"]);
    let output = command.output().expect("mpiexec starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Verification = UNSUCCESSFUL"));
}

#[test]
fn two_programs_make_one_job() {
    let npb = binary("npb");
    let mut command = Command::new(binary("mpirun"));
    command.args(["--timeout", TIMEOUT, "-n", "1"]).arg(&npb).args(["cg", "--class", "S", ":", "-n", "1"]);
    command.arg(&npb).args(["cg", "--class", "S"]);
    assert_verified(&command.output().expect("mpirun starts"));
}
