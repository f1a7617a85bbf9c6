//! `cargo xtask compare`: the other MPI libraries and ours, side by side on this machine.
//!
//! One C program (`bench/peers/peer.c`) runs under each library in turn, all benchmarks in each round, so that whatever
//! else the machine does hits all of them alike. Open MPI has an ABI of its own and gets a build of its own; the others
//! run the same file. Figures are only held against those of the same regime (see bench/README.md).

mod aims;
mod figures;
mod heat;
mod intel_benchmarks;
mod lammps;
mod libraries;
mod page;
mod scale;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result, bail, ensure};

use crate::foreign::Cache;
use crate::plots;
use crate::workspace::Workspace;
use figures::{Figures, Found};
use libraries::{Library, Part, TIMED_OUT};
pub use page::draw as draw_page;
pub use scale::run as scale;

/// What is measured: ranks, and the program's arguments.
const MEASUREMENTS: &[(usize, &[&str])] = &[
    (2, &["latency", "0", "8", "64", "256", "1024", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["bandwidth", "8", "4096", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["bidirectional", "65536", "262144", "1048576", "4194304"]),
    (2, &["static", "1024", "16384", "65536", "262144", "1048576", "4194304"]),
    (2, &["stack", "16384", "65536", "262144", "1048576"]),
    (2, &["whole", "1024", "4096", "8192", "16384", "32768", "65536", "262144", "1048576"]),
    (2, &["tags", "10000"]),
    (2, &["overlap", "1048576"]),
    (2, &["late", "10", "1024", "10240", "65536", "131072", "262144", "524288"]),
    (2, &["windows", "8", "4096", "65536", "1048576"]),
    (2, &["contention"]),
    (4, &["contention"]),
    (2, &["partitioned", "65536", "1048576"]),
    (2, &["spawned"]),
    (2, &["files", "16777216", "67108864", "268435456"]),
    (4, &["files", "16777216", "67108864"]),
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
    (2, &["ibcast", "8", "1024", "65536"]),
    (2, &["ireduce", "8", "1024", "65536"]),
    (2, &["iallreduce", "8", "1024", "65536"]),
    (2, &["ialltoall", "8", "1024", "65536"]),
    (2, &["alltoallv", "8", "1024", "65536"]),
    (2, &["allgatherv", "8", "1024", "65536"]),
    (2, &["reduce_scatter", "8", "1024", "65536"]),
    (2, &["scan", "8", "1024", "65536"]),
    (4, &["barrier"]),
    (4, &["bcast", "8", "4096", "65536", "1048576"]),
    (4, &["reduce", "8", "4096", "65536", "1048576"]),
    (4, &["allreduce", "8", "4096", "65536", "1048576"]),
    (4, &["allgather", "8", "4096", "65536", "1048576"]),
    (4, &["alltoall", "8", "4096", "65536", "1048576"]),
    (4, &["iallreduce", "8", "1024", "65536"]),
    (4, &["alltoallv", "8", "1024", "65536"]),
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
    (2, &["puts", "8", "4096", "65536", "1048576"]),
];

/// What is measured under MPI_THREAD_MULTIPLE, by one thread.
const MULTIPLE_LEVEL: &[(usize, &[&str])] = &[(2, &["latency", "8"]), (2, &["bandwidth", "8"])];

/// What is measured by Intel's MPI Benchmarks.
const BY_INTEL_BENCHMARKS: &[(usize, &[&str])] = &[
    (2, &["PingPong"]),
    (2, &["PingPing"]),
    (2, &["Sendrecv"]),
    (2, &["Exchange"]),
    (2, &["Bcast"]),
    (2, &["Reduce"]),
    (2, &["Allreduce"]),
    (2, &["Allgather"]),
    (2, &["Alltoall"]),
    (2, &["Barrier"]),
    (4, &["Bcast"]),
    (4, &["Reduce"]),
    (4, &["Allreduce"]),
    (4, &["Allgather"]),
    (4, &["Alltoall"]),
    (4, &["Barrier"]),
];

/// What is measured by LAMMPS: a melt of so many cells along each edge.
const BY_LAMMPS: &[(usize, &[&str])] =
    &[(2, &["melt", "5"]), (2, &["melt", "10"]), (4, &["melt", "5"]), (4, &["melt", "10"]), (8, &["melt", "5"])];

/// Of these, those in which ranks compute meanwhile: libraries with a thread for progress are measured besides.
const COMPUTING: [&str; 3] = ["overlap", "late", "windows"];

/// Of these, those that two processes can do without any library.
const WITHOUT_LIBRARY: [&str; 9] =
    ["latency", "static", "stack", "barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"];

/// Marks what was measured over TCP.
const TCP: &str = ", tcp";
/// Marks what Intel's MPI Benchmarks measured.
const IMB: &str = ", IMB";
/// Marks what LAMMPS measured.
const LAMMPS: &str = ", LAMMPS";
/// Marks what was measured under MPI_THREAD_MULTIPLE.
const MULTIPLE: &str = ", multiple";

/// Ranks, the program's arguments, and the mark.
type Measurement = (usize, &'static [&'static str], &'static str);

/// Measures in `rounds` rounds what contains `wanted`, and writes tables to standard output and
/// `bench/results/compare.{txt,json}`, pictures to `docs/performance`, and a page; what is only a part of all, to
/// `bench/results/compare-WANTED.{txt,json}` alone.
pub fn run(workspace: &Workspace, wanted: &str, rounds: usize) -> Result<()> {
    let cache = Cache::new(workspace.target().join("compare"), None)?;
    let libraries = libraries::install(workspace, &cache, "peer.c")?;
    let marked = |mark: &'static str| move |&(ranks, arguments): &_| (ranks, arguments, mark);
    let measurements = MEASUREMENTS.iter().map(marked(""));
    let measurements = measurements.chain(MULTIPLE_LEVEL.iter().map(marked(MULTIPLE)));
    let measurements = measurements.chain(OVER_TCP.iter().map(marked(TCP)));
    let measurements = measurements.chain(BY_INTEL_BENCHMARKS.iter().map(marked(IMB)));
    let measurements = measurements.chain(BY_LAMMPS.iter().map(marked(LAMMPS)));
    let measurements: Vec<Measurement> =
        measurements.filter(|(_, arguments, mark)| format!("{}{mark}", arguments[0]).contains(wanted)).collect();
    ensure!(!measurements.is_empty(), "no benchmark's name contains {wanted:?}");
    let folder = workspace.root.join("bench").join("results");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let is_all = wanted.is_empty();
    let words = wanted.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let file = folder.join(iter::once("compare").chain(words).collect::<Vec<_>>().join("-"));
    let write = |figures: &Figures, settings: &[String]| {
        let (tables, verdict) = (figures.tables(), aims::verdict(figures));
        let text = format!("{}\n{}\n{tables}\n{verdict}", machine(), settings.join("\n"));
        fs::write(file.with_extension("txt"), &text)?;
        fs::write(file.with_extension("json"), figures.json()?)?;
        Ok(text)
    };
    let draw = |figures: &Figures| {
        if is_all {
            draw(workspace, figures)?;
            draw_page(workspace)?;
        }
        Ok(())
    };
    let text = measure(&libraries, &measurements, rounds, write, draw)?;
    println!("\n{text}\nfigures in {}", file.with_extension("json").display());
    Ok(())
}

/// Most rounds that follow for those that have met the libraries in different regimes.
const MORE_ROUNDS: usize = 3;

/// A library hangs in a benchmark.
#[derive(Debug)]
struct Hangs;

impl Display for Hangs {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("it hangs, and is left out here from now on")
    }
}

impl Error for Hangs {}

/// Gives `write` all figures so far, and what was set for them, after each benchmark, so that who ends it earlier has
/// those, and `draw` after each round; what the first makes of the last.
fn measure(
    libraries: &[Library],
    measurements: &[Measurement],
    rounds: usize,
    write: impl Fn(&Figures, &[String]) -> Result<String>,
    draw: impl Fn(&Figures) -> Result<()>,
) -> Result<String> {
    let (mut figures, mut settings, mut text) = (Figures::default(), Vec::new(), String::new());
    let mut benchmarks = vec![BTreeSet::<String>::new(); measurements.len()];
    let mut hanging = Vec::new();
    for round in 1..=rounds + MORE_ROUNDS {
        for ((ranks, arguments, mark), benchmarks) in measurements.iter().zip(&mut benchmarks) {
            if round > rounds && benchmarks.iter().all(|benchmark| figures.have_met(benchmark, *ranks)) {
                continue;
            }
            let takes_part = |part: Part| match part {
                Part::Memory => ![TCP, IMB, LAMMPS].contains(mark),
                Part::Floor => mark.is_empty() && *ranks == 2 && WITHOUT_LIBRARY.contains(&arguments[0]),
                Part::Thread => COMPUTING.contains(&arguments[0]),
                Part::Tcp => *mark == TCP,
                Part::IntelBenchmarks => *mark == IMB,
                Part::Lammps => *mark == LAMMPS,
            };
            for library in libraries.iter().filter(|one| takes_part(one.part)) {
                let run = (library.name, *ranks, arguments[0], *mark);
                if hanging.contains(&run) {
                    continue;
                }
                println!("round {round} ({rounds} asked for): {}, {ranks} ranks, {}{mark}", library.name, arguments[0]);
                let setting = format!("{}: {}", library.name, library.setting);
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
                let others = |read: Read, figures: &mut Figures| {
                    with_others(&libraries[0], library, *ranks, arguments, mark, read, figures)
                };
                let measured = match *mark {
                    IMB => others(intel_benchmarks::read, &mut figures),
                    LAMMPS => others(lammps::read, &mut figures),
                    _ => with_ours(library, *ranks, arguments, mark, &mut figures),
                };
                match measured {
                    Ok(measured) => benchmarks.extend(measured),
                    // Another library's failure is no reason to lose the figures of the rest.
                    Err(error) => {
                        println!("  failed: {error:#}");
                        hanging.extend(error.is::<Hangs>().then_some(run));
                    }
                }
            }
            text = write(&figures, &settings)?;
        }
        draw(&figures)?;
    }
    Ok(text)
}

/// Runs our program once; the benchmarks of which there are new figures.
fn with_ours(
    library: &Library,
    ranks: usize,
    arguments: &[&str],
    mark: &str,
    figures: &mut Figures,
) -> Result<BTreeSet<String>> {
    let mut command = (library.start)(ranks, arguments);
    if mark == MULTIPLE {
        command.env("PEER_LEVEL", "multiple");
    }
    figures.read(library.name, ranks, mark, &table(&mut command)?)
}

/// Reads what a program of others wrote, measured in a regime; a mark is added to the benchmarks' names.
type Read = fn(&str, &str, &str) -> Result<Vec<Found>>;

/// How often such a program is run at most until the cores stay as near as they were.
const TRIES: usize = 5;

/// As [`with_ours`], of a program of others. `ours` says how near the cores are.
fn with_others(
    ours: &Library,
    library: &Library,
    ranks: usize,
    arguments: &[&str],
    mark: &str,
    read: Read,
    figures: &mut Figures,
) -> Result<BTreeSet<String>> {
    let regime = || figures::regime(&table(&mut (ours.start)(2, &["latency", "8"]))?);
    for _ in 0..TRIES {
        let before = regime()?;
        let output = table(&mut (library.start)(ranks, arguments))?;
        if regime()? == before {
            let all = read(&output, &before, mark)?;
            let benchmarks = all.iter().map(|found| found.benchmark.clone()).collect();
            all.into_iter().for_each(|found| figures.add(library.name, ranks, found));
            return Ok(benchmarks);
        }
    }
    bail!("the cores did not stay as near as they were")
}

/// What a program wrote.
fn table(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start mpiexec: is the library installed?")?;
    if output.status.code() == Some(TIMED_OUT) {
        return Err(Hangs.into());
    }
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Which machine this is, and which day.
fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let entries = || processors.lines().filter_map(|line| line.split_once(':'));
    let entry = |key| entries().find(|(found, _)| found.trim() == key).map_or("unknown", |(_, value)| value.trim());
    // A virtual machine's name for its processor may leave out which generation it is.
    let [name, family, model] = ["model name", "cpu family", "model"].map(entry);
    let day = Command::new("date").arg("+%F").output().map(|output| output.stdout).unwrap_or_default();
    format!("{name} (family {family}, model {model}), {}", String::from_utf8_lossy(&day).trim())
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
