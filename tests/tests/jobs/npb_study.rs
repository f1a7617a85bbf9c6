//! `npb study` as users meet it: what it leaves in its directory, how it is stopped and gone on with, what it refuses.

use rustix::process::{Pid, Signal, kill_process};
use rwmpi_tests::binary;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A directory for one study, gone when the test is.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("npb-study-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }

    /// The records in `results.json`.
    fn records(&self) -> Vec<Value> {
        serde_json::from_slice(&fs::read(self.0.join("results.json")).expect("it is there")).expect("it is whole")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(binary("npb"));
    command.arg("study").args(arguments).arg("--out").arg(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("npb starts")
}

fn study(directory: &Path, arguments: &[&str]) -> Output {
    start(directory, arguments).wait_with_output().expect("it ends")
}

fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_study_leaves_figures_and_a_page() {
    let directory = Directory::new("whole");
    let output = study(&directory.0, &["--class", "s", "-n", "2", "--benchmarks", "is,sp", "--repeats", "1"]);
    assert_code(&output, 0);
    let records = directory.records();
    // IS on one process and two, SP, which wants squares, on one: with each protocol.
    assert_eq!(records.len(), 9);
    for record in &records {
        assert_eq!((&record["class"], &record["verified"]), (&"S".into(), &true.into()), "{record}");
        assert!(record["seconds"].as_f64() > Some(0.0) && record["mops"].as_f64() > Some(0.0), "{record}");
        for count in ["ranks", "messages", "bytes", "remote_write_messages", "remote_write_bytes"] {
            assert!(record[count].is_u64(), "{count} of {record}");
        }
        assert!(["sr", "nsr", "auto"].iter().any(|protocol| record["protocol"] == *protocol), "{record}");
    }
    let page = fs::read_to_string(directory.0.join("index.html")).expect("there is a page");
    // The thesis's availability and speed-ups of IS, and a sentence about this study.
    for text in ["99.2", "[2.25]", "on 2 processes"] {
        assert!(page.contains(text), "{text}");
    }
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("1999 SR") && told.contains("In 1999, SR took"), "{told}");
}

#[test]
fn a_study_over_tcp_says_so() {
    let directory = Directory::new("tcp");
    let arguments = ["--class", "s", "-n", "2", "--benchmarks", "is", "--repeats", "1", "--transport", "tcp"];
    assert_code(&study(&directory.0, &arguments), 0);
    let records = directory.records();
    assert_eq!(records.len(), 6);
    assert!(records.iter().all(|record| record["transport"] == "tcp" && record["verified"] == true), "{records:?}");
    let page = fs::read_to_string(directory.0.join("index.html")).expect("there is a page");
    assert!(page.contains("over TCP") && page.contains("--transport tcp"), "{page}");
    // Over shared memory it would be another study.
    let output = study(&directory.0, &[&arguments[..8], &["--resume"]].concat());
    assert_code(&output, 2);
}

#[test]
fn an_interrupted_study_keeps_its_results_and_is_gone_on_with() {
    let directory = Directory::new("interrupted");
    let arguments = ["--class", "s", "-n", "1", "--benchmarks", "is", "--repeats", "20"];
    let running = start(&directory.0, &arguments);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !directory.0.join("results.json").exists() || directory.records().is_empty() {
        assert!(Instant::now() < deadline, "no result in a minute");
        sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    let output = running.wait_with_output().expect("it ends");
    assert_code(&output, 130);
    let runs = |records: &[Value]| {
        records.iter().map(|record| record["repeats"].as_array().expect("a list").len()).sum::<usize>()
    };
    let before = runs(&directory.records());
    assert!((1..60).contains(&before), "{before} runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{} runs to come", 60 - before)));
    assert!(directory.0.join("index.html").exists());

    let output = study(&directory.0, &[&arguments[..], &["--resume"]].concat());
    assert_code(&output, 0);
    assert_eq!(runs(&directory.records()), 60);
    // Others keep their own plan.
    let output = study(&directory.0, &["--class", "w", "-n", "1", "--resume"]);
    assert_code(&output, 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--resume"));
}

#[test]
fn what_makes_no_sense_is_refused_before_any_run() {
    let directory = Directory::new("refused");
    for (arguments, expected) in [
        (&["--class", "q"][..], "choose S, W, A, B or C"),
        (&["-n", "0"], "must be 1 or more"),
        (&["--repeats", "0"], "must be 1 or more"),
        (&["--benchmarks", "xy"], "there is no benchmark 'xy'"),
        (&["--resume"], "there is no study in"),
    ] {
        let output = study(&directory.0, arguments);
        assert_code(&output, 2);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(expected), "{message}");
        assert!(!directory.0.join("results.json").exists());
    }
}
