//! `npb study`: do requests for send pay? Runs every benchmark with and without them, and with the library deciding,
//! and lays the results out as the MPI/MBCF thesis does (its tables 4.1 to 4.10).
//!
//! The plan of runs is made first ([`plan`]), carried out and kept run by run ([`run`], [`record`]), then told three
//! times over: as JSON, as text ([`tables`], [`verdict`]) and as a page ([`page`]). Nothing that is told is not
//! computed from the records, but for the thesis's values ([`thesis`]), which are marked as such wherever they appear.

mod advice;
mod beside;
#[cfg(test)]
mod fixture;
mod format;
mod job;
mod machine;
mod micro;
mod page;
#[cfg(test)]
mod page_tests;
mod plan;
mod plot_benchmark;
mod plot_frame;
mod plot_micro;
mod plot_modes;
mod progress;
mod record;
mod run;
mod tables;
mod thesis;
mod verdict;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use rwmpi_launcher::Transport;

use crate::{Benchmark, Class};

use job::JobRunner;
use machine::Machine;
use micro::Micro;
use plan::{Mode, ORDER, Selection};
use progress::Progress;
use record::{Settings, Store, Study, check_resumable};
use run::{Ending, Events, Records, execute};
use verdict::Verdict;

/// Exit code after Ctrl-C, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Compares the protocols SR, NSR and AUTO on the NAS Parallel Benchmarks.
#[derive(Debug, Parser)]
#[command(name = "npb study", version)]
struct Arguments {
    /// Problem size: S, W, A, B or C.
    #[arg(long, default_value = "S")]
    class: Class,
    /// Most processes a run may have; smaller legal counts run too. Without it, one per core.
    #[arg(short = 'n', long = "processes", value_name = "COUNT")]
    processes: Option<usize>,
    /// Directory for results.json and index.html.
    #[arg(long, value_name = "DIR", default_value = "target/npb-study")]
    out: PathBuf,
    /// Which benchmarks, as in cg,mg; without it, all eight.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    benchmarks: Vec<Benchmark>,
    /// Which of sr,nsr,auto; without it, all three.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    protocols: Vec<Mode>,
    /// Also run IS and MG without messages: ranks put their data into the memory of others.
    #[arg(long)]
    one_sided: bool,
    /// What carries messages: auto, or tcp for TCP even within a node.
    #[arg(long, default_value = "auto")]
    transport: Transport,
    /// Show the study in DIR, made over another transport, beside this one.
    #[arg(long, value_name = "DIR")]
    beside: Option<PathBuf>,
    /// Runs of each benchmark with each protocol on each process count.
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    repeats: usize,
    /// Go on with a study that was stopped, and try again what failed.
    #[arg(long)]
    resume: bool,
    /// End a run after so many seconds and count it as failed; without it, a minute for class S up to four hours for C.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// `npb study …`; `arguments` are those after the word `study`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let name = OsString::from("npb study");
    let arguments = match Arguments::try_parse_from(std::iter::once(&name).chain(arguments)) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    match carry_out(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode> {
    let machine = Machine::here();
    let limit = arguments.processes.unwrap_or(machine.cores);
    let selection = select(arguments, limit)?;
    selection.check_memory().map_err(anyhow::Error::msg)?;
    let load = |directory| beside::load(directory, selection.class, arguments.transport.name());
    let beside = arguments.beside.as_deref().map(load).transpose()?;
    let store = Store::open(&arguments.out)?;
    let (mut settings, mut records) = begin(arguments, &selection, machine, &store)?;
    let program = std::env::current_exe().context("cannot find this program itself")?;

    let events = Events::default();
    events.on_signals()?;
    let timeout = arguments.timeout.map_or_else(|| patience(selection.class), Duration::from_secs);
    let runner = Arc::new(JobRunner { program: program.clone(), timeout, transport: arguments.transport });
    let mut progress = Progress::on_standard_error();
    let ending = execute(&selection, &mut records, &store, &runner, &events, &mut progress)?;
    if ending == Ending::Complete && limit > 1 && !settings.micro.complete() {
        let tell = |what: &str| eprintln!("Now {what}.");
        micro::build_program(&program, tell);
        settings.micro = Micro::measure(&program, selection.class, &selection.protocols(), arguments.transport, tell);
        store.save_settings(&settings)?;
    }

    let missing = match ending {
        Ending::Complete => 0,
        Ending::Interrupted { missing } => missing,
    };
    let study = Study { settings, records: records.0, missing, beside };
    store.replace("index.html", page::render(&study).as_bytes())?;
    tell(&study, &store);
    Ok(match ending {
        Ending::Interrupted { .. } => {
            eprintln!(
                "Stopped with {} to come; go on with the same command and --resume.",
                format::plural(missing, "run")
            );
            ExitCode::from(INTERRUPTED)
        }
        Ending::Complete if !study.all_well() => ExitCode::FAILURE,
        Ending::Complete => ExitCode::SUCCESS,
    })
}

fn select(arguments: &Arguments, limit: usize) -> Result<Selection> {
    if limit == 0 || arguments.repeats == 0 {
        bail!("-n and --repeats must be 1 or more");
    }
    let chosen = |benchmark: &Benchmark| arguments.benchmarks.is_empty() || arguments.benchmarks.contains(benchmark);
    let wanted = |mode: &Mode| arguments.protocols.is_empty() || arguments.protocols.contains(mode);
    Ok(Selection {
        benchmarks: ORDER.into_iter().filter(chosen).collect(),
        class: arguments.class,
        modes: Mode::PROTOCOLS
            .into_iter()
            .filter(wanted)
            .chain(arguments.one_sided.then_some(Mode::OneSided))
            .collect(),
        limit,
        repeats: arguments.repeats,
    })
}

/// A new study, or with --resume the one that is there.
fn begin(arguments: &Arguments, selection: &Selection, machine: Machine, store: &Store) -> Result<(Settings, Records)> {
    if arguments.resume {
        let Some((settings, mut records)) = store.load()? else {
            bail!("there is no study in {} to go on with: leave out --resume to begin one", arguments.out.display());
        };
        check_resumable(&settings, selection.class, selection.limit, selection.repeats, arguments.transport.name())?;
        records.iter_mut().for_each(record::Record::forgive);
        return Ok((settings, Records(records)));
    }
    if store.set_aside()? {
        eprintln!("The results of an earlier study are kept as {}.", store.path("results-before.json").display());
    }
    let (class, ranks, repeats) = (selection.class, selection.limit, selection.repeats);
    let transport = arguments.transport.name().to_owned();
    let settings = Settings { class, ranks, repeats, transport, machine, micro: Micro::default() };
    store.save_settings(&settings)?;
    store.save_records(&[])?;
    Ok((settings, Records::default()))
}

/// How long a run of a class may take before it counts as hanging: many times what a slow machine needs.
fn patience(class: Class) -> Duration {
    let minutes = match class {
        Class::S => 1,
        Class::W => 5,
        Class::A => 30,
        Class::B => 120,
        Class::C => 240,
    };
    Duration::from_secs(60 * minutes)
}

/// Prints the tables and what they say.
fn tell(study: &Study, store: &Store) {
    let verdicts: Vec<Verdict> = study.benchmarks().into_iter().map(|it| Verdict::on(study, it)).collect();
    println!("{}, {}", study.settings.machine.sentence(), study.settings.machine.date);
    println!("Transport: {}\n", page::transport(study));
    for table in [tables::round_trip(study), tables::bandwidth(study)].into_iter().flatten() {
        println!("{}", table.text());
    }
    if let Some(reason) = &study.settings.micro.absent {
        println!("{reason}\n");
    }
    for failure in &study.settings.micro.failures {
        println!("FAILED: {failure}\n");
    }
    println!("{}", tables::characteristics(study).text());
    for verdict in &verdicts {
        println!("{}", tables::times(study, verdict.benchmark).text());
        println!("  {}\n", verdict.sentences.join(" "));
    }
    if let (Some(other), Some(table)) = (&study.beside, beside::table(study)) {
        println!("{}", table.text());
        println!("  Over {}: {}\n", beside::carrier(other), beside::summary(other).join(" "));
    }
    if study.settings.ranks > study.settings.machine.cores {
        println!("{}\n", page::caution(study));
    }
    for record in study.failed() {
        println!("FAILED: {}: {}\n", page::run_name(record), record.failure_report());
    }
    for sentence in verdict::summary(study, &verdicts) {
        println!("{sentence}");
    }
    println!();
    for sentence in
        advice::class(study).into_iter().chain([advice::words(study)]).chain(advice::advice(study, &verdicts))
    {
        println!("{sentence}");
    }
    println!("\nResults: {}\nPage:    {}", store.path("results.json").display(), store.path("index.html").display());
}
