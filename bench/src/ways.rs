//! The benchmark `ways`: what a message takes between ranks that are threads of one process, processes that share
//! memory, and processes with a TCP connection (McMPI thesis, sections 5.1 and 5.2, figures 13 to 20).
//!
//! Each way is a job of its own. They take turns, and another one begins each round, so that a machine that changes
//! meanwhile does so for all; of a value that each round has, the middle one is told. Ways are held against each other
//! within one regime only.

use crate::arguments::{Sizes, Ways};
use crate::digits::microseconds;
use crate::launch::Job;
use crate::regime::Regime;
use crate::report::{Figure, Report, write_json};
use crate::rounds::merge;
use crate::way::Way;
use anyhow::{Context, Result};
use rwmpi_launcher::{Output, Transport};
use std::time::Duration;

/// The benchmarks, by the names of their commands and in words.
const BENCHMARKS: [(&str, &str); 2] = [("latency", "ping-pong"), ("pingping", "ping-ping")];

/// Runs the benchmark.
pub fn run(options: &Ways) -> Result<()> {
    let mut report = Report::new(options.output.json.as_deref());
    let rounds = usize::from(options.rounds);
    let seconds = options.output.seconds.div_f64(rounds as f64).max(Duration::from_millis(1));
    let mut found = Vec::new();
    for round in 0..rounds {
        for turn in 0..Way::ALL.len() {
            let way = Way::ALL[(round + turn) % Way::ALL.len()];
            for (benchmark, _) in BENCHMARKS {
                let (figures, told) = job(way, benchmark, &options.sizes, seconds).run()?;
                if found.is_empty() {
                    let machine = told.lines().next().context("a job did not introduce itself")?;
                    report.say(&format!("{machine}, and in {} other ways", Way::ALL.len() - 1));
                }
                found.extend(figures);
            }
        }
    }
    let figures = merge(&found);
    for (benchmark, title) in BENCHMARKS {
        table(&mut report, &figures, benchmark, title);
    }
    options.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

fn job(way: Way, benchmark: &str, sizes: &Sizes, seconds: Duration) -> Job {
    let (sizes, seconds) = (sizes.to_string(), seconds.as_secs_f64().to_string());
    Job {
        arguments: [benchmark, "--sizes", &sizes, "--seconds", &seconds].map(Into::into).to_vec(),
        ranks: 2,
        threads: way == Way::Threads,
        transport: Some(if way == Way::Tcp { Transport::Tcp } else { Transport::Auto }),
        output: Output::Capture,
        ..Job::default()
    }
}

/// Shows one benchmark: a row for each size and regime.
fn table(report: &mut Report, figures: &[Figure], benchmark: &str, title: &str) {
    report.say(&format!("\n{title}: first sextile in us, and times by each other"));
    report.say(
        "    bytes  regime     threads   processes         tcp  threads/processes  tcp/processes  memcpy/threads  memcpy/processes",
    );
    let of_benchmark = || figures.iter().filter(|figure| figure.benchmark == benchmark);
    let mut rows: Vec<_> =
        of_benchmark().filter(|figure| figure.samples != Some(0)).map(|figure| (figure.bytes, figure.regime)).collect();
    rows.sort_by_key(|&(bytes, regime)| (bytes, regime.map(Regime::name)));
    rows.dedup();
    for (bytes, regime) in rows {
        let one =
            |way| of_benchmark().find(|figure| (figure.way, figure.bytes, figure.regime) == (Some(way), bytes, regime));
        let time = |way| one(way)?.sextile1_us;
        let [threads, processes, tcp] = Way::ALL.map(time);
        let by = |a: Option<f64>, b: Option<f64>| cell(a.zip(b).map(|(a, b)| format!("{:.2}", a / b)));
        let of_copy = |way| {
            let copied = bytes > Some(crate::floor::LINE) && benchmark == "latency";
            cell(
                one(way)
                    .filter(|_| copied)
                    .and_then(|figure| figure.floor_ratio)
                    .map(|ratio| format!("{:.2}", 1.0 / ratio)),
            )
        };
        let us = |time: Option<f64>| cell(time.map(microseconds));
        let row = format!(
            "{:>9}  {:>6}  {:>10}  {:>10}  {:>10}  {:>17}  {:>13}  {:>14}  {:>16}",
            bytes.unwrap_or(0),
            cell(regime.map(|regime| regime.name().into())),
            us(threads),
            us(processes),
            us(tcp),
            by(threads, processes),
            by(tcp, processes),
            of_copy(Way::Threads),
            of_copy(Way::Processes),
        );
        report.say(row.trim_end());
    }
}

fn cell(text: Option<String>) -> String {
    text.unwrap_or_default()
}
