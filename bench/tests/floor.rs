//! `mpi-bench floor` as a user runs it. Nothing here depends on how fast the machine is.

use serde_json::Value;
use std::process::{Command, Output};

fn mpi_bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mpi-bench")).args(arguments).output().expect("mpi-bench starts")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn the_floor_is_told_as_json_with_a_line_and_both_copies_of_each_size() {
    let output = mpi_bench(&["floor", "--seconds", "0.05", "--sizes", "4K,64K", "--json", "-"]);
    let words = String::from_utf8(output.stderr).unwrap();
    if cores() < 2 {
        assert!(!output.status.success());
        assert!(words.contains("give it a second one"), "{words}");
        return;
    }
    assert!(output.status.success(), "{words}");
    assert!(words.lines().next().unwrap().contains("cores"), "{words}");
    let figures: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let kinds: Vec<(&str, u64)> =
        figures.iter().map(|figure| (figure["variant"].as_str().unwrap(), figure["bytes"].as_u64().unwrap())).collect();
    for kind in [("line", 64), ("one core copies", 4096), ("both cores copy", 4096), ("one core copies", 65536)] {
        assert!(kinds.contains(&kind), "{kind:?} is missing of {kinds:?}\n{words}");
    }
    // On a busy machine every sample of a figure may have been dropped.
    for figure in figures.iter().filter(|figure| figure["samples"] != 0) {
        let value = |key: &str| figure[key].as_f64().unwrap_or_else(|| panic!("no {key} in {figure}"));
        assert!(0.0 < value("min_us") && value("min_us") <= value("sextile1_us"), "{figure}");
        assert!(value("sextile1_us") <= value("median_us"), "{figure}");
        assert_eq!(figure["regime"] == "near", value("regime_ns") < 200.0, "{figure}");
    }
}

#[test]
fn what_the_command_line_gets_wrong_is_said_in_words() {
    for (arguments, words) in [
        (&["floor", "--sizes", "4M-4K"][..], "ends before it begins"),
        (&["latency", "-n", "3"][..], "2"),
        (&["tags", "--seconds", "0"][..], "between 0.001 and 600 seconds"),
    ] {
        let output = mpi_bench(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

#[test]
fn a_json_file_that_cannot_be_written_is_named() {
    let target = "/nonexistent/figures.json";
    let output = mpi_bench(&["floor", "--seconds", "0.01", "--sizes", "4K", "--json", target]);
    assert!(!output.status.success());
    if cores() > 1 {
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(target), "{told}");
    }
}
