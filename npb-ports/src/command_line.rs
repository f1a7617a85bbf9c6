//! The `npb` command. `npb cg --class A -n 4` starts its ranks itself; under `mpiexec -n 4 npb cg --class A` it joins
//! the job it was started in.
//!
//! Whatever can be known to be wrong before work begins is said once, by one rank, and ends the command with code 2. A
//! run that fails verification ends with code 1.

use crate::{Benchmark, BenchmarkResult, Class, Options, memory, study};
use clap::Parser;
use rwmpi::{Protocol, Universe};
use rwmpi_launcher::Transport;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

const WRONG_USAGE: u8 = 2;

/// Runs one of the NAS Parallel Benchmarks and verifies its result.
#[derive(Debug, Parser)]
#[command(name = "npb", version, after_help = "`npb study` compares the protocols: see `npb study --help`.")]
struct Arguments {
    /// ep, is, cg, mg, ft, lu, sp or bt.
    benchmark: Benchmark,
    /// Problem size: S, W, A, B or C.
    #[arg(long)]
    class: Class,
    /// Number of processes to start; not needed under mpiexec.
    #[arg(short = 'n', long = "processes", value_name = "COUNT")]
    processes: Option<usize>,
    /// How messages travel: sr, nsr or auto. Under mpiexec, give it to mpiexec.
    #[arg(long)]
    protocol: Option<Protocol>,
    /// What carries messages: auto, or tcp for TCP even within a node. Under mpiexec, give it to mpiexec.
    #[arg(long)]
    transport: Option<Transport>,
    /// Write the result as JSON to FILE, or to the standard output for `-` (the report then goes to standard error).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Receive from any source where NPB 2.3 did, instead of naming the sender (mg and lu).
    #[arg(long)]
    any_source: bool,
    /// Put data into the other ranks' memory instead of sending it (is and mg).
    #[arg(long, conflicts_with = "any_source")]
    one_sided: bool,
    /// Falsify one value, to see the verification fail.
    #[arg(long, hide = true)]
    corrupt: bool,
}

/// What is to be said and the code to exit with, when there is nothing to run.
#[derive(Clone)]
struct Stop {
    text: String,
    code: u8,
}

impl Stop {
    fn wrong_usage(text: impl std::fmt::Display) -> Self {
        Stop { text: format!("error: {text}"), code: WRONG_USAGE }
    }

    fn say(&self) -> ExitCode {
        if self.code == 0 {
            println!("{}", self.text.trim_end());
        } else {
            eprintln!("{}", self.text.trim_end());
        }
        ExitCode::from(self.code)
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        Stop { text: error.render().to_string(), code: error.exit_code() as u8 }
    }
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == "study") {
        return study::main(&arguments[2..]);
    }
    let mut arguments = parse(arguments);
    if !rwmpi_launcher::in_job() {
        arguments = match arguments.and_then(start_job) {
            Err(stop) => return stop.say(),
            alone => alone,
        };
    }
    let stopped = OnceLock::new();
    let rank_main = |universe: &Universe| match run(&arguments, universe) {
        Ok(ExitCode::SUCCESS) => Ok(()),
        Ok(code) => Ok(_ = stopped.set(code)),
        Err(error) => universe.abort(1, &error.to_string()),
    };
    match (rwmpi::run(rank_main), stopped.get()) {
        // The job is over as soon as one rank has left with another code than 0: what the others say then is not worth
        // a word.
        (_, Some(&code)) => code,
        (Ok(_), None) => ExitCode::SUCCESS,
        (Err::<_, rwmpi::Error>(error), None) => Stop { text: format!("error: {error}"), code: 1 }.say(),
    }
}

fn parse(arguments: Vec<OsString>) -> Result<Arguments, Stop> {
    let arguments = Arguments::try_parse_from(arguments)?;
    if arguments.any_source && !arguments.benchmark.definition().has_any_source {
        let benchmark = arguments.benchmark;
        return Err(Stop::wrong_usage(format!("--any-source is for mg and lu; {benchmark} always names its senders")));
    }
    if arguments.one_sided && !arguments.benchmark.definition().has_one_sided {
        let benchmark = arguments.benchmark;
        return Err(Stop::wrong_usage(format!("--one-sided is for is and mg; {benchmark} only has messages")));
    }
    Ok(arguments)
}

/// Starts the ranks and does not return, if there are to be more than this process.
fn start_job(arguments: Arguments) -> Result<Arguments, Stop> {
    let ranks = arguments.processes.unwrap_or(1);
    arguments.benchmark.check_process_count(arguments.class, ranks).map_err(Stop::wrong_usage)?;
    if ranks > 1 || arguments.protocol.is_some() || arguments.transport.is_some() {
        rwmpi_launcher::start_self(ranks, |mut job| {
            if let Some(protocol) = arguments.protocol {
                job = job.protocol(protocol);
            }
            if let Some(transport) = arguments.transport {
                job = job.transport(transport);
            }
            job
        });
    }
    Ok(arguments)
}

/// What every rank of the job does.
fn run(arguments: &Result<Arguments, Stop>, universe: &Universe) -> rwmpi::Result<ExitCode> {
    let world = universe.world();
    let checked = match arguments {
        Ok(arguments) => check(arguments, universe)?.map(|()| arguments),
        Err(stop) => Err(stop.clone()),
    };
    let arguments = match checked {
        Ok(arguments) => arguments,
        Err(stop) if world.rank() == 0 => return Ok(stop.say()),
        Err(stop) => return Ok(ExitCode::from(stop.code)),
    };
    let Arguments { any_source, one_sided, corrupt, .. } = *arguments;
    let options = Options { any_source, one_sided, corrupt };
    let result = arguments.benchmark.run(world, universe, arguments.class, &options)?;
    let mut code = if result.verified { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if world.rank() == 0
        && let Err(error) = report(&result, arguments.json.as_deref())
    {
        code = Stop { text: format!("error: {error:#}"), code: 1 }.say();
    }
    Ok(code)
}

/// Whether the job fits the arguments and the machine fits the job.
fn check(arguments: &Arguments, universe: &Universe) -> rwmpi::Result<Result<(), Stop>> {
    let (world, Arguments { benchmark, class, .. }) = (universe.world(), arguments);
    let ranks = world.size();
    if let Some(wanted) = arguments.processes.filter(|&wanted| wanted != ranks) {
        return Ok(Err(Stop::wrong_usage(format!("-n {wanted} asks for {wanted} processes, but the job has {ranks}"))));
    }
    if let Some(wanted) = arguments.protocol.filter(|&wanted| wanted != universe.protocol()) {
        let (wanted, present) = (wanted.name(), universe.protocol().name());
        let text = format!("--protocol {wanted} comes too late: the job runs with {present}; give it to mpiexec");
        return Ok(Err(Stop::wrong_usage(text)));
    }
    if let Some(wanted) = arguments.transport.filter(|&wanted| wanted != Transport::of_job()) {
        let (wanted, present) = (wanted.name(), Transport::of_job().name());
        let text = format!("--transport {wanted} comes too late: the job runs with {present}; give it to mpiexec");
        return Ok(Err(Stop::wrong_usage(text)));
    }
    if let Err(error) = benchmark.check_process_count(*class, ranks) {
        return Ok(Err(Stop::wrong_usage(error)));
    }
    let bytes_per_rank = (benchmark.definition().memory_per_rank)(*class, ranks);
    let shortage = memory::check(world, bytes_per_rank)?;
    Ok(shortage.map_err(|text| Stop::wrong_usage(format!("{benchmark} class {class}: {text}"))))
}

/// Prints the result, and writes it as JSON where that was asked for.
fn report(result: &BenchmarkResult, json: Option<&Path>) -> anyhow::Result<()> {
    use anyhow::Context;
    let text = || serde_json::to_string_pretty(&[result]);
    match json {
        Some(path) if path == Path::new("-") => {
            eprint!("{result}");
            println!("{}", text()?);
        }
        Some(path) => {
            print!("{result}");
            std::fs::write(path, text()? + "\n").with_context(|| format!("can't write {}", path.display()))?;
        }
        None => print!("{result}"),
    }
    Ok(())
}
