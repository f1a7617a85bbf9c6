//! `npb study` from end to end: real jobs, real files, stopped and gone on with.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// IS ends soonest of all.
fn study(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_npb"));
    command.args(["study", "--class", "S", "-n", "2", "--benchmarks", "is", "--out"]).arg(directory);
    // With this variable set it takes itself for started by cargo, and builds `mpi-bench` anew, with other features.
    command.env_remove("CARGO_PKG_NAME");
    command
}

fn results(directory: &Path) -> Vec<Value> {
    let text = std::fs::read(directory.join("results.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_study_leaves_results_and_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let output = study(directory.path()).args(["--repeats", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let records = results(directory.path());
    assert_eq!(records.len(), 6, "two process counts, three modes");
    for record in &records {
        assert_eq!((&record["verified"], &record["class"]), (&true.into(), &"S".into()), "{record}");
        assert!(record["seconds"].as_f64().unwrap() > 0.0 && record["mops"].as_f64().unwrap() > 0.0, "{record}");
        let (ranks, messages) = (record["ranks"].as_u64().unwrap(), record["messages"].as_u64().unwrap());
        assert_eq!(messages > 0, ranks > 1, "{record}");
        let pairs = record["communication"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
        assert_eq!(pairs.map(|pair| pair["messages"].as_u64().unwrap()).sum::<u64>(), messages, "{record}");
        if record["protocol"] == "nsr" {
            assert_eq!(record["remote_write_messages"], 0);
        }
    }
    assert!(records.iter().any(|it| it["protocol"] == "sr" && it["requests_posted"].as_u64().unwrap() > 0));
    let page = std::fs::read_to_string(directory.path().join("index.html")).unwrap();
    assert!(page.contains("article id=\"is\""));
    assert!(said(&output).contains("IS, class S: seconds [speed-up]"));
}

#[test]
fn failed_runs_are_listed_and_change_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let output = study(directory.path()).args(["--repeats", "1", "--timeout", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("FAILED: IS SR on 2 processes: 1 of 1 runs failed"), "{}", said(&output));
    assert!(results(directory.path()).iter().all(|record| record["verified"] == false && record["seconds"].is_null()));

    let output = study(directory.path()).args(["--repeats", "1", "--resume"]).output().unwrap();
    assert!(output.status.success(), "what failed is tried again: {}", said(&output));
    assert!(results(directory.path()).iter().all(|record| record["verified"] == true));
}

#[test]
fn a_stopped_study_can_be_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let repeats = ["--repeats", "6"];
    let mut child = study(directory.path()).args(repeats).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !directory.path().join("results.json").exists() || results(directory.path()).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no result after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let runs = || -> usize { results(directory.path()).iter().map(|it| it["repeats"].as_array().unwrap().len()).sum() };
    let before = runs();
    assert!((1..36).contains(&before), "{before} of 36 runs were made before it was stopped");
    assert!(directory.path().join("index.html").exists());

    let other = study(directory.path()).args(["--repeats", "2", "--resume"]).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(said(&other).contains("--repeats 6, not class S with -n 2 and --repeats 2"), "{}", said(&other));
    assert_eq!(runs(), before, "a refused study changes nothing");

    let output = study(directory.path()).args(repeats).arg("--resume").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(runs(), 36);
}

fn interrupt(child: &Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn going_on_with_nothing_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = study(directory.path()).arg("--resume").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("leave out --resume to begin one"), "{}", said(&output));
}
