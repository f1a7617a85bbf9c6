//! Every benchmark as a whole job, started as a user starts it. Nothing here depends on how fast the machine is: what
//! is checked is that the right figures come, and that what they say of themselves fits together.

use serde_json::Value;
use std::process::{Command, Output};

fn mpi_bench(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mpi-bench"))
        .args(arguments.split_whitespace())
        .args(["--json", "-"])
        .output()
        .expect("mpi-bench starts")
}

fn figures(arguments: &str) -> Vec<Value> {
    let output = mpi_bench(&format!("{arguments} --seconds 0.02"));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments}: {words}");
    assert!(words.contains("protocol"), "{arguments}: {words}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments}: {error}"))
}

/// Figures with times, which on a busy machine may be fewer than all.
fn timed(figures: &[Value]) -> impl Iterator<Item = &Value> {
    figures.iter().filter(|figure| figure["samples"] != 0)
}

#[test]
fn each_size_and_memory_and_protocol_gives_its_figure() {
    for (benchmark, protocol, memory) in [
        ("latency", "auto", "shared"),
        ("latency --preposted", "sr", "shared"),
        ("pingping", "nsr", "private"),
        ("bandwidth", "sr", "private"),
        ("bandwidth --stream", "nsr", "shared"),
    ] {
        let figures = figures(&format!("{benchmark} --sizes 0,8,3000 --protocol {protocol} --memory {memory}"));
        for bytes in [0, 8, 3000] {
            let figure = figures.iter().find(|figure| figure["bytes"] == bytes);
            let figure = figure.unwrap_or_else(|| panic!("{benchmark}: no figure of {bytes} bytes in {figures:?}"));
            assert_eq!(figure["benchmark"], benchmark.split(' ').next().unwrap());
            assert_eq!((&figure["protocol"], &figure["memory"]), (&protocol.into(), &memory.into()));
            assert_eq!(figure["ranks"], 2);
        }
        for figure in timed(&figures).filter(|figure| figure["bytes"] != 0) {
            let value = |key: &str| figure[key].as_f64().unwrap_or_else(|| panic!("no {key} in {figure}"));
            let rate = value("bytes") / value("min_us");
            assert!((value("megabytes_per_second") - rate).abs() <= 0.01 * rate + 0.1, "{figure}");
        }
    }
}

#[test]
fn a_rate_is_messages_by_time() {
    for figure in timed(&figures("rate")) {
        let product = figure["messages_per_second"].as_f64().unwrap() * figure["min_us"].as_f64().unwrap();
        assert!((product - 1e6).abs() < 1e3, "{figure}");
    }
}

#[test]
fn tags_are_matched_in_both_orders_posted_and_unexpected() {
    let figures = figures("tags --count 300");
    for variant in ["posted, in order", "posted, in reverse", "unexpected, in order", "unexpected, in reverse"] {
        assert!(figures.iter().any(|figure| figure["variant"] == variant), "{variant} is missing of {figures:?}");
    }
}

#[test]
fn each_number_of_ranks_gives_a_barrier() {
    let figures = figures("barrier -n 2,3");
    for ranks in [2, 3] {
        assert!(figures.iter().any(|figure| figure["ranks"] == ranks), "{ranks} ranks are missing of {figures:?}");
    }
}

#[test]
fn every_way_gives_each_size_there_and_back_and_both_ways_at_once() {
    let figures = figures("ways --sizes 8,3000 --rounds 2");
    for benchmark in ["latency", "pingping"] {
        for way in ["threads", "processes", "tcp"] {
            for bytes in [8, 3000] {
                let found = figures
                    .iter()
                    .any(|figure| figure["benchmark"] == benchmark && figure["way"] == way && figure["bytes"] == bytes);
                assert!(found, "{benchmark} of {bytes} bytes, {way}, is missing of {figures:?}");
            }
        }
    }
    for figure in timed(&figures) {
        let value = |key: &str| figure[key].as_f64().unwrap_or_else(|| panic!("no {key} in {figure}"));
        assert!(value("sextile1_us") <= value("median_us") && value("median_us") <= value("sextile5_us"), "{figure}");
    }
}

#[test]
fn ranks_are_threads_if_that_is_asked_for() {
    for (option, way) in [("--threads", "threads"), ("--transport tcp", "tcp"), ("", "processes")] {
        let figures = figures(&format!("latency --sizes 8 {option}"));
        assert!(figures.iter().all(|figure| figure["way"] == way), "{option}: {figures:?}");
    }
}

#[test]
fn every_ordered_pair_of_cores_has_its_figure() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let output = mpi_bench("affinity --sizes 8,3000 --seconds 0.02");
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}");
    let figures: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for bytes in [8, 3000] {
        let of_size = figures.iter().filter(|figure| figure["bytes"] == bytes);
        let pairs: std::collections::BTreeSet<String> = of_size.map(|figure| figure["cores"].to_string()).collect();
        assert_eq!(pairs.len(), cores * cores, "{bytes} bytes: {pairs:?}");
        assert!(words.contains(&format!("{bytes} bytes, first sextile")), "{words}");
    }
}

#[test]
fn a_histogram_holds_every_sample() {
    let figures = figures("histogram --sizes 8,3000 --transport tcp");
    for bytes in [8, 3000] {
        assert!(figures.iter().any(|figure| figure["bytes"] == bytes), "{bytes} bytes are missing of {figures:?}");
    }
    for figure in timed(&figures) {
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number in {figure}"));
        let distribution = &figure["distribution"];
        let bins = distribution["bins"].as_array().unwrap();
        let all: f64 = bins.iter().map(|bin| number(&bin["share"])).sum();
        assert!((all - 1.0).abs() < 1e-5, "{figure}");
        assert!(number(&bins[0]["from_us"]) <= number(&figure["min_us"]), "{figure}");
        assert!(number(&distribution["max_us"]) <= number(&bins[bins.len() - 1]["to_us"]) * 1.0001, "{figure}");
        assert!(number(&figure["median_us"]) <= number(&distribution["percentile99_us"]), "{figure}");
    }
}
