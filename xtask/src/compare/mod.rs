//! `cargo xtask compare`: the other MPI libraries and ours, side by side on this machine.
//!
//! One C program (`bench/peers/peer.c`) runs under each library in turn, all benchmarks in each round, so that whatever else the
//! machine does hits all of them alike. Open MPI has an ABI of its own and gets a build of its own; the others run the same
//! file. Figures are only held against those of the same regime (see bench/README.md).

mod figures;
mod libraries;
mod scale;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::foreign::Cache;
use crate::plots;
use crate::workspace::Workspace;
use figures::Figures;
use libraries::{Library, Part};
pub use scale::run as scale;

/// What is measured: ranks, and the program's arguments.
const MEASUREMENTS: &[(usize, &[&str])] = &[
    (2, &["latency", "0", "8", "64", "256", "1024", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["bandwidth", "8", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["bidirectional", "65536", "262144", "1048576", "4194304"]),
    (2, &["static", "1024", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["tags", "10000"]),
    (2, &["overlap", "1048576"]),
    (2, &["late", "10", "1024", "10240", "65536", "131072", "262144", "524288"]),
    (1, &["threads", "8"]),
    (2, &["threads", "8"]),
    (2, &["calls"]),
    (2, &["pack"]),
    (2, &["barrier"]),
    (2, &["bcast", "8", "1024", "16384", "65536", "1048576"]),
    (2, &["reduce", "8", "1024", "16384", "65536", "1048576"]),
    (2, &["allreduce", "8", "1024", "16384", "65536", "1048576"]),
    (2, &["allgather", "8", "1024", "16384", "65536", "1048576"]),
    (2, &["alltoall", "8", "1024", "16384", "65536", "1048576"]),
    (4, &["barrier"]),
    (4, &["bcast", "8", "4096", "65536", "1048576"]),
    (4, &["reduce", "8", "4096", "65536", "1048576"]),
    (4, &["allreduce", "8", "4096", "65536", "1048576"]),
    (4, &["allgather", "8", "4096", "65536", "1048576"]),
    (4, &["alltoall", "8", "4096", "65536", "1048576"]),
    (8, &["barrier"]),
    (8, &["bcast", "8", "4096", "16384", "65536", "1048576"]),
    (8, &["reduce", "8", "4096", "16384", "65536", "1048576"]),
    (8, &["allreduce", "8", "4096", "16384", "65536", "1048576"]),
    (8, &["allgather", "8", "4096", "16384", "65536", "1048576"]),
    (8, &["alltoall", "8", "4096", "16384", "65536", "1048576"]),
];

/// What is measured over TCP, beside a raw connection.
const OVER_TCP: &[(usize, &[&str])] = &[
    (2, &["latency", "8", "1024", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["bandwidth", "8", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
];

/// What is measured under MPI_THREAD_MULTIPLE, by one thread.
const MULTIPLE_LEVEL: &[(usize, &[&str])] = &[(2, &["latency", "8"]), (2, &["bandwidth", "8"])];

/// Of these, those in which ranks compute meanwhile: libraries with a thread for progress are measured besides.
const COMPUTING: [&str; 2] = ["overlap", "late"];

/// Marks what was measured over TCP.
const TCP: &str = ", tcp";
/// Marks what was measured under MPI_THREAD_MULTIPLE.
const MULTIPLE: &str = ", multiple";

/// Ranks, the program's arguments, and the mark.
type Measurement = (usize, &'static [&'static str], &'static str);

/// Measures in `rounds` rounds what contains `wanted`, and writes tables to standard output and `bench/results/compare.{txt,json}` (`compare-tcp` if that is all), and pictures
/// to `docs/performance`.
pub fn run(workspace: &Workspace, wanted: &str, rounds: usize) -> Result<()> {
    let cache = Cache::new(workspace.target().join("compare"), None)?;
    let libraries = libraries::install(workspace, &cache, "peer.c")?;
    let marked = |mark: &'static str| move |&(ranks, arguments): &_| (ranks, arguments, mark);
    let measurements = MEASUREMENTS.iter().map(marked(""));
    let measurements = measurements.chain(MULTIPLE_LEVEL.iter().map(marked(MULTIPLE)));
    let measurements = measurements.chain(OVER_TCP.iter().map(marked(TCP)));
    let measurements: Vec<Measurement> =
        measurements.filter(|(_, arguments, mark)| format!("{}{mark}", arguments[0]).contains(wanted)).collect();
    ensure!(!measurements.is_empty(), "no benchmark's name contains {wanted:?}");
    let folder = workspace.root.join("bench").join("results");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let only_tcp = measurements.iter().all(|(.., mark)| *mark == TCP);
    let file = folder.join(if only_tcp { "compare-tcp" } else { "compare" });
    let text = measure(&libraries, &measurements, rounds, |figures, settings| {
        let text = format!("{}\n{}\n{}", machine(), settings.join("\n"), figures.tables());
        fs::write(file.with_extension("txt"), &text)?;
        fs::write(file.with_extension("json"), figures.json()?)?;
        draw(workspace, figures)?;
        Ok(text)
    })?;
    println!("\n{text}\nfigures in {}", file.with_extension("json").display());
    Ok(())
}

/// Most rounds that follow for those that have met the libraries in different regimes.
const MORE_ROUNDS: usize = 3;

/// Gives `write` all figures so far, and what was set for them, after each round, so that who ends it earlier has those; what it makes of the last.
fn measure(
    libraries: &[Library],
    measurements: &[Measurement],
    rounds: usize,
    write: impl Fn(&Figures, &[String]) -> Result<String>,
) -> Result<String> {
    let (mut figures, mut settings, mut text) = (Figures::default(), Vec::new(), String::new());
    let mut benchmarks = vec![BTreeSet::<String>::new(); measurements.len()];
    for round in 1..=rounds + MORE_ROUNDS {
        for ((ranks, arguments, mark), benchmarks) in measurements.iter().zip(&mut benchmarks) {
            if round > rounds && benchmarks.iter().all(|benchmark| figures.have_met(benchmark, *ranks)) {
                continue;
            }
            let takes_part = |part: Part| match part {
                Part::Memory => *mark != TCP,
                Part::Thread => COMPUTING.contains(&arguments[0]),
                Part::Tcp => *mark == TCP,
            };
            for Library { name, setting, start, .. } in libraries.iter().filter(|one| takes_part(one.part)) {
                println!("round {round} ({rounds} asked for): {name}, {ranks} ranks, {}{mark}", arguments[0]);
                let setting = format!("{name}: {setting}");
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
                let mut command = start(*ranks, arguments);
                if *mark == MULTIPLE {
                    command.env("PEER_LEVEL", "multiple");
                }
                let output =
                    command.output().with_context(|| format!("cannot start {name}'s mpiexec: is it installed?"))?;
                if output.status.success() {
                    benchmarks.extend(figures.read(name, *ranks, mark, &String::from_utf8_lossy(&output.stdout))?);
                } else {
                    // Another library's failure is no reason to lose the figures of the rest.
                    println!("  failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
                }
            }
        }
        text = write(&figures, &settings)?;
    }
    Ok(text)
}

/// Which machine this is, and which day.
fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut models = processors.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = models.next().map_or("unknown processor", |(_, model)| model.trim());
    let day = Command::new("date").arg("+%F").output().map(|output| output.stdout).unwrap_or_default();
    format!("{model}, {}", String::from_utf8_lossy(&day).trim())
}

/// What the pictures show, each with its ranks.
const PICTURES: [(&str, usize, &[&str]); 5] = [
    ("messages", 2, &["latency", "bandwidth"]),
    ("messages-tcp", 2, &["latency, tcp", "bandwidth, tcp"]),
    ("collectives-2", 2, COLLECTIVES),
    ("collectives-4", 4, COLLECTIVES),
    ("collectives-8", 8, COLLECTIVES),
];
const COLLECTIVES: &[&str] = &["bcast", "reduce", "allreduce", "allgather", "alltoall"];

/// Draws what has been measured into `docs/performance`.
fn draw(workspace: &Workspace, figures: &Figures) -> Result<()> {
    let folder = workspace.root.join("docs").join("performance");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, ranks, wanted) in PICTURES {
        let panels = figures.panels(ranks, wanted);
        if !panels.is_empty() {
            plots::draw(&folder.join(format!("{name}.svg")), &panels)?;
        }
    }
    Ok(())
}
