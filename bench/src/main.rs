//! `mpi-bench`: micro-benchmarks of rwmpi beside the physical limits of the machine.
//!
//! One program for all: run by hand it starts itself as a job; started by `mpiexec` it is a rank of one. Everything
//! goes through the typed API, as a user's program would; what the library is compared with ([`floor`]) knows nothing
//! of it.

mod abstraction;
mod affinity;
mod arguments;
mod bandwidth;
mod barrier;
mod compare;
mod digits;
mod distribution;
mod exchange;
mod floor;
mod floor_watch;
mod instructions;
mod latency;
mod launch;
mod limits;
mod machine;
mod message;
mod raw_socket;
mod regime;
mod report;
mod rounds;
mod session;
mod socket_buffers;
mod statistics;
mod tags;
mod tcp_floor;
mod tune;
mod way;
mod ways;

use anyhow::{Result, ensure};
use arguments::{Arguments, Command, Common};
use clap::Parser;
use report::Figure;
use rwmpi::Universe;
use session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpi-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.command {
        Command::Floor(options) => return limits::run(options),
        Command::Instructions(options) => return instructions::run(options),
        Command::Compare(options) => return compare::run(options),
        Command::Ways(options) => return ways::run(options),
        Command::SocketBuffers(options) => return socket_buffers::run(options),
        Command::Tune(options) if options.exchange.is_none() => return tune::run(options),
        Command::Affinity(options) if options.pair().is_none() => return affinity::run(options),
        _ => {}
    }
    let (common, ranks) = arguments.command.job().expect("all other benchmarks run as jobs");
    let figures = rwmpi::run(|universe| {
        if universe.world().size() == 1 && common.figures.is_none() {
            return Ok::<_, anyhow::Error>(None);
        }
        // A rank that simply left would leave the others waiting for it.
        let figures = measure(&arguments.command, common, universe);
        Ok(Some(figures.unwrap_or_else(|error| universe.abort(1, &format!("{error:#}")))))
    })?;
    let Some(figures) = figures.into_iter().collect::<Option<Vec<_>>>() else {
        return launch::run(common, &ranks);
    };
    // Rank 0 has them.
    let figures = figures.concat();
    match (&common.figures, &common.output.json) {
        (Some(path), _) if !figures.is_empty() => report::leave(&figures, path),
        (None, Some(target)) if !figures.is_empty() => report::write_json(&figures, target),
        _ => Ok(()),
    }
}

/// What each rank does; rank 0 returns the figures.
fn measure(command: &Command, common: &Common, universe: &Universe) -> Result<Vec<Figure>> {
    if let Command::Tune(options) = command
        && let Some(exchange) = options.exchange
    {
        return tune::measure(universe, exchange, options);
    }
    let size = universe.world().size();
    ensure!(
        size == 2 || size > 2 && matches!(command, Command::Barrier(_)),
        "this benchmark is between two ranks, but the job has {size}: use -n 2"
    );
    let largest = match command {
        Command::Latency(options) => options.sized.sizes.max(),
        Command::Bandwidth(options) => options.sized.sizes.max(),
        Command::Pingping(options) | Command::Abstraction(options) => options.sizes.max(),
        Command::Histogram(options) => options.sizes.max(),
        Command::Affinity(options) => options.sized.sizes.max(),
        _ => 0,
    };
    let mut session = Session::begin(universe, common, largest)?;
    match command {
        Command::Latency(options) => latency::ping_pong(&mut session, options)?,
        Command::Bandwidth(options) => bandwidth::bandwidth(&mut session, options)?,
        Command::Rate(options) => bandwidth::rate(&mut session, options)?,
        Command::Pingping(options) => latency::ping_ping(&mut session, options)?,
        Command::Abstraction(options) => abstraction::abstraction(&mut session, options)?,
        Command::Affinity(options) => affinity::pair(&mut session, options)?,
        Command::Histogram(options) => latency::histogram(&mut session, options)?,
        Command::Tags(options) => tags::tags(&mut session, options)?,
        Command::Barrier(_) => barrier::barrier(&mut session)?,
        Command::Floor(_)
        | Command::Instructions(_)
        | Command::Compare(_)
        | Command::Ways(_)
        | Command::SocketBuffers(_)
        | Command::Tune(_) => {
            unreachable!("these run by themselves")
        }
    }
    Ok(session.into_figures())
}
