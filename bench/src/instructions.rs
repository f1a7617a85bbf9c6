//! Instructions per 8-byte send, receive, broadcast and reduction, counted by valgrind: figures that neither the other
//! users of the machine nor the neighbourhood of the cores can change, so a regression of a few instructions shows.
//!
//! Two ranks run under callgrind. Rank 0 sends a few messages that fit into any queue; only when they lie there does
//! rank 1 look for them, so neither ever waits within a counted function. That they lie there it learns outside the
//! library ([`crate::floor::RawLink`]), for the library would already take them in while it looks.

use crate::arguments::{Calls, Instructions};
use crate::floor::RawLink;
use crate::floor_watch::open_link;
use crate::report::{Figure, Report, write_json};
use anyhow::{Context, Result, bail, ensure};
use rwmpi::{Communicator, Datatype, Message, Request, Scope, scope};
use rwmpi_launcher::{JobSpec, Section};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DATA: i32 = 1;
const READY: i32 = 2;
const DONE: i32 = 3;
/// Messages sent before they are received: fewer than any queue holds.
const BURST: u32 = 8;
/// Messages that warm up before anything is counted are this many bursts.
const WARM_UP: u32 = 4;

/// What is counted: the calls, rank 0's operation and rank 1's, and the functions that callgrind counts in.
const KINDS: [(&str, [&str; 2], [&str; 2]); 8] = [
    ("bytes", ["send of bytes", "receive of bytes"], ["*counted_send*", "*counted_receive*"]),
    ("blocking", ["send", "receive"], ["*counted_send*", "*counted_receive*"]),
    ("derived", ["send of a derived type", "receive of a derived type"], ["*counted_send*", "*counted_receive*"]),
    ("value", ["send of a value", "receive of a value"], ["*counted_send*", "*counted_receive*"]),
    ("vector", ["send of a vector", "receive of a vector"], ["*counted_send*", "*counted_receive*"]),
    ("nonblocking", ["isend", "irecv"], ["*counted_start*", "*counted_wait*"]),
    ("broadcast", ["bcast at the root", "bcast elsewhere"], ["*counted_broadcast*"; 2]),
    ("reduce", ["reduce elsewhere", "reduce at the root"], ["*counted_reduce*"; 2]),
];

/// Calls with a type, and the same with bytes: the first may take no more instructions than the second but for so many.
/// A value that is returned is held against a number in a buffer, which is held against bytes: moving it out is the
/// caller's business there.
const TYPED: [[&str; 2]; 7] = [
    ["send", "send of bytes"],
    ["receive", "receive of bytes"],
    ["send of a derived type", "send of bytes"],
    ["receive of a derived type", "receive of bytes"],
    ["send of a value", "send of bytes"],
    ["receive of a value", "receive"],
    ["send of a vector", "send of bytes"],
];
/// Whether what has come is a whole number of elements has to be looked at, what is known of it being kept until then,
/// and whether it is a value, whose memory begins as zeros: a peer may say that it has written it, and not have done
/// so.
const PENALTY: f64 = 8.5;

/// Eight bytes in two fields.
#[derive(Clone, Copy, Datatype)]
#[repr(C)]
struct Pair {
    first: u32,
    second: u32,
}

/// Counts, or runs what is to be counted.
pub fn run(options: &Instructions) -> Result<()> {
    if let Some(calls) = options.counted {
        return counted(options.count, calls);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("counting instructions takes valgrind, which is not installed (on Debian: apt-get install valgrind)");
    }
    let directory = Directory::make()?;
    let mut report = Report::new(options.json.as_deref());
    report.say(&format!(
        "{}; instructions of 8-byte messages that find room and never wait",
        crate::machine::processor()
    ));
    for (calls, operations, functions) in KINDS {
        let logs = operations.map(|operation| directory.0.join(operation));
        let [sender, receiver] = [&logs[0], &logs[1]].map(|log| under_valgrind(log, options.count, calls, functions));
        let outcome = JobSpec::new(sender?)
            .section(receiver?)
            .forward_signals(true)
            .run()
            .context("can't start the job under valgrind")?;
        if let Some(report) = outcome.report {
            eprintln!("{report}");
        }
        ensure!(outcome.exit_code == 0, "the job under valgrind ended with exit code {}", outcome.exit_code);
        for (log, operation) in logs.iter().zip(operations) {
            let text = fs::read_to_string(log).with_context(|| format!("valgrind left no log of {operation}"))?;
            let total = collected(&text).with_context(|| format!("valgrind counted no {operation}:\n{text}"))?;
            report.add(Figure {
                variant: Some(operation.into()),
                bytes: Some(8),
                instructions: Some(total as f64 / f64::from(options.count)),
                ranks: Some(2),
                ..Figure::of("instructions")
            });
        }
    }
    let figures = report.into_figures();
    if let Some(target) = &options.json {
        write_json(&figures, target)?;
    }
    options.check.as_deref().map_or(Ok(()), |file| check(file, &figures))
}

/// This program as one rank under valgrind, which writes its count to `log`.
fn under_valgrind(log: &Path, count: u32, calls: &str, functions: [&str; 2]) -> Result<Section> {
    let program = std::env::current_exe().context("can't find this program to start it under valgrind")?;
    let mut log_option = OsString::from("--log-file=");
    log_option.push(log);
    Ok(Section::new("valgrind")
        .arguments(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arguments(functions.map(|function| format!("--toggle-collect={function}")))
        .arguments([log_option, program.into_os_string()])
        .arguments(["instructions", "--count", &count.to_string(), "--counted", calls]))
}

/// The total in callgrind's closing words.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok().filter(|&total| total > 0)
}

/// Holds the figures against the limits in `file`.
fn check(file: &Path, figures: &[Figure]) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    let limits: BTreeMap<String, f64> = serde_json::from_str(&text)
        .with_context(|| format!("{} should look like {{\"send\": 300, \"receive\": 300}}", file.display()))?;
    for figure in figures {
        let (operation, found) = (figure.variant.as_deref().unwrap_or_default(), figure.instructions.unwrap_or(0.0));
        let limit =
            limits.get(operation).with_context(|| format!("{} has no limit for {operation}", file.display()))?;
        ensure!(
            found <= *limit,
            "an eager {operation} takes {found:.1} instructions, more than the {limit} that {} allows: find out why, or, if it is \
             worth it, raise the limit",
            file.display()
        );
    }
    let counted = |operation: &str| {
        figures
            .iter()
            .find(|figure| figure.variant.as_deref() == Some(operation))
            .and_then(|figure| figure.instructions)
    };
    for [typed, bytes] in TYPED {
        if let (Some(found), Some(limit)) = (counted(typed), counted(bytes)) {
            ensure!(found <= limit + PENALTY, "a {typed} takes {found:.1} instructions, a {bytes} only {limit:.1}");
        }
    }
    Ok(())
}

/// A rank of the job under valgrind.
fn counted(count: u32, calls: Calls) -> Result<()> {
    let universe = rwmpi::init()?;
    if let Err(error) = exchange(universe.world(), count, calls) {
        universe.abort(1, &format!("{error:#}"));
    }
    universe.finalize()?;
    Ok(())
}

fn exchange(world: &Communicator, count: u32, calls: Calls) -> Result<()> {
    let mut link = open_link(world, 0)??;
    world.barrier()?;
    let mut left = count;
    let mut burst = 0;
    while left > 0 {
        let warming_up = burst < WARM_UP;
        let messages = if warming_up { BURST } else { left.min(BURST) };
        let data: Vec<u64> = (0..u64::from(messages)).collect();
        match (world.rank(), calls) {
            (0, _) => send_burst(world, &mut link, &data, calls, warming_up)?,
            (_, Calls::Nonblocking) => meet_burst(world, &mut link, &data, warming_up)?,
            _ => receive_burst(world, &mut link, &data, calls, warming_up)?,
        }
        burst += 1;
        if !warming_up {
            left -= messages;
        }
    }
    Ok(())
}

/// Rank 0: sends when the other is ready, says so outside the library, and waits for its word.
fn send_burst(world: &Communicator, link: &mut RawLink, data: &[u64], calls: Calls, warming_up: bool) -> Result<()> {
    world.recv::<u8>(&mut [], 1, READY)?;
    for word in data.chunks(1) {
        match (calls, warming_up) {
            (Calls::Blocking, false) => counted_send(world, word)?,
            (Calls::Bytes, false) => counted_send(world, &word[0].to_ne_bytes())?,
            (Calls::Derived, false) => counted_send(world, &[Pair { first: word[0] as u32, second: 0 }])?,
            (Calls::Value, false) => counted_send_value(world, &word[0])?,
            (Calls::Vector, false) => counted_send_value(world, &word.to_vec())?,
            (Calls::Nonblocking, false) => {
                scope(|s| counted_wait(counted_start_send(world, s, word)?))?;
            }
            (Calls::Broadcast, false) => counted_broadcast(world, &mut [word[0]])?,
            (Calls::Reduce, false) => counted_reduce(world, &[word[0]], &mut [0])?,
            (Calls::Broadcast, true) => world.bcast(&mut [word[0]], 0)?,
            (Calls::Reduce, true) => world.reduce(word, &mut [0], rwmpi::op::sum, 1)?,
            (_, true) => world.send(word, 1, DATA)?,
        }
    }
    link.end()?;
    world.recv::<u8>(&mut [], 1, DONE)?;
    Ok(())
}

/// Rank 1: receives what has arrived.
fn receive_burst(world: &Communicator, link: &mut RawLink, data: &[u64], calls: Calls, warming_up: bool) -> Result<()> {
    let mut found = vec![u64::MAX; data.len()];
    world.send::<u8>(&[], 0, READY)?;
    link.serve()?;
    for word in found.chunks_mut(1) {
        match calls {
            Calls::Broadcast if warming_up => world.bcast(word, 0)?,
            Calls::Reduce if warming_up => world.reduce(&[0], word, rwmpi::op::sum, 1)?,
            _ if warming_up => drop(world.recv(word, 0, DATA)?),
            Calls::Broadcast => counted_broadcast(world, word)?,
            Calls::Reduce => counted_reduce(world, &[0], word)?,
            Calls::Bytes => {
                let mut bytes = [0_u8; 8];
                counted_receive(world, &mut bytes)?;
                word[0] = u64::from_ne_bytes(bytes);
            }
            Calls::Derived => {
                let mut pair = [Pair { first: 0, second: 0 }];
                counted_receive(world, &mut pair)?;
                word[0] = u64::from(pair[0].first) | u64::from(pair[0].second) << 32;
            }
            Calls::Value => word[0] = counted_receive_value(world)?,
            Calls::Vector => word.copy_from_slice(&counted_receive_value::<Vec<u64>>(world)?),
            Calls::Blocking | Calls::Nonblocking => counted_receive(world, word)?,
        }
    }
    arrived(world, data, &found)
}

/// Rank 1: posts receives, and completes them when their messages have arrived.
fn meet_burst(world: &Communicator, link: &mut RawLink, data: &[u64], warming_up: bool) -> Result<()> {
    let mut found = vec![u64::MAX; data.len()];
    let mut served = Ok(());
    scope(|s| {
        let mut requests = Vec::with_capacity(data.len());
        for word in found.chunks_mut(1) {
            requests.push(if warming_up {
                world.irecv(s, word, 0, DATA)?
            } else {
                counted_start_receive(world, s, word)?
            });
        }
        world.send::<u8>(&[], 0, READY)?;
        served = link.serve();
        for request in requests {
            if warming_up {
                request.wait()?;
            } else {
                counted_wait(request)?;
            }
        }
        Ok(())
    })?;
    served?;
    arrived(world, data, &found)
}

fn arrived(world: &Communicator, sent: &[u64], found: &[u64]) -> Result<()> {
    ensure!(sent == found, "{found:?} arrived instead of {sent:?}");
    world.send::<u8>(&[], 0, DONE)?;
    Ok(())
}

#[inline(never)]
fn counted_send<T: Datatype>(world: &Communicator, data: &[T]) -> rwmpi::Result<()> {
    world.send(data, 1, DATA)
}

#[inline(never)]
fn counted_broadcast(world: &Communicator, data: &mut [u64]) -> rwmpi::Result<()> {
    world.bcast(data, 0)
}

#[inline(never)]
fn counted_reduce(world: &Communicator, data: &[u64], result: &mut [u64]) -> rwmpi::Result<()> {
    world.reduce(data, result, rwmpi::op::sum, 1)
}

#[inline(never)]
fn counted_receive<T: Datatype>(world: &Communicator, data: &mut [T]) -> rwmpi::Result<()> {
    world.recv(data, 0, DATA).map(drop)
}

#[inline(never)]
fn counted_send_value<T: Message>(world: &Communicator, value: &T) -> rwmpi::Result<()> {
    world.send_value(value, 1, DATA)
}

#[inline(never)]
fn counted_receive_value<T: Message>(world: &Communicator) -> rwmpi::Result<T> {
    Ok(world.recv_value(0, DATA)?.0)
}

#[inline(never)]
fn counted_start_send<'scope>(
    world: &Communicator,
    scope: &'scope Scope<'scope, '_>,
    data: &'scope [u64],
) -> rwmpi::Result<Request<'scope>> {
    world.isend(scope, data, 1, DATA)
}

#[inline(never)]
fn counted_start_receive<'scope>(
    world: &Communicator,
    scope: &'scope Scope<'scope, '_>,
    data: &'scope mut [u64],
) -> rwmpi::Result<Request<'scope>> {
    world.irecv(scope, data, 0, DATA)
}

#[inline(never)]
fn counted_wait(request: Request<'_>) -> rwmpi::Result<()> {
    request.wait().map(drop)
}

/// A directory of this run's own that goes when the run is over.
struct Directory(PathBuf);

impl Directory {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("mpi-bench-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("can't make {}", path.display()))?;
        Ok(Directory(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Left-overs in the temporary directory are no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_in_the_closing_words() {
        let log = "==7== Callgrind\n==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(log), Some(123_456));
        assert_eq!(collected("==7== Collected : 0\n"), None);
        assert_eq!(collected("==7== killed\n"), None);
    }

    #[test]
    fn more_instructions_than_allowed_are_an_error() {
        let directory = Directory::make().unwrap();
        let file = directory.0.join("limits");
        fs::write(&file, r#"{"send": 100, "receive": 120}"#).unwrap();
        let figure = |operation: &str, instructions: f64| Figure {
            variant: Some(operation.into()),
            instructions: Some(instructions),
            ..Figure::of("instructions")
        };
        assert!(check(&file, &[figure("send", 100.0), figure("receive", 120.0)]).is_ok());
        assert!(check(&file, &[figure("send", 100.5), figure("receive", 120.0)]).is_err());
        assert!(check(&file, &[figure("send", 99.0), figure("receive", 121.0)]).is_err());
        assert!(check(&file, &[figure("isend", 1.0)]).is_err(), "an operation without a limit");
    }
}
