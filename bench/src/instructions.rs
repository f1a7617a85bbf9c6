//! Instructions per eager 8-byte send and receive, counted by valgrind: a figure that neither the other users of the machine nor
//! the neighbourhood of the cores can change, so a regression of a few instructions shows.
//!
//! Two ranks run under callgrind. Rank 0 sends a few messages that fit into any queue; only when they lie there does rank 1 receive
//! them, so neither ever waits within a counted function. That they lie there it learns outside the library ([`crate::floor::RawLink`]), for
//! the library would already take them in while it looks.

use crate::arguments::Instructions;
use crate::floor_watch::open_link;
use crate::report::{Figure, Report, write_json};
use anyhow::{Context, Result, bail, ensure};
use rwmpi::Communicator;
use rwmpi_launcher::{JobSpec, Section};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DATA: i32 = 1;
const DONE: i32 = 2;
/// Messages sent before they are received: fewer than any queue holds.
const BURST: u32 = 8;
/// Messages that warm up before anything is counted are this many bursts.
const WARM_UP: u32 = 4;

/// The most instructions that each operation may take; the file behind `--check`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    send: f64,
    receive: f64,
}

/// Counts, or runs what is to be counted.
pub fn run(options: &Instructions) -> Result<()> {
    if options.counted {
        return counted(options.count);
    }
    let directory = Directory::make()?;
    let logs = [directory.0.join("send"), directory.0.join("receive")];
    let job = JobSpec::new(under_valgrind(&logs[0], options.count)?)
        .section(under_valgrind(&logs[1], options.count)?)
        .forward_signals(true);
    let outcome = job.run().context("can't start the job under valgrind")?;
    if let Some(report) = outcome.report {
        eprintln!("{report}");
    }
    ensure!(outcome.exit_code == 0, "the job under valgrind ended with exit code {}", outcome.exit_code);

    let mut report = Report::new(options.json.as_deref());
    report
        .say(&format!("{}; instructions of 8-byte messages that find a queue with room", crate::machine::processor()));
    let mut found = [0.0; 2];
    for ((log, operation), found) in logs.iter().zip(["send", "receive"]).zip(&mut found) {
        let text = fs::read_to_string(log).with_context(|| format!("valgrind left no log of the {operation}s"))?;
        let total =
            collected(&text).with_context(|| format!("valgrind counted nothing of the {operation}s:\n{text}"))?;
        *found = total as f64 / f64::from(options.count);
        report.add(Figure {
            variant: Some(operation.into()),
            bytes: Some(8),
            instructions: Some(*found),
            ranks: Some(2),
            ..Figure::of("instructions")
        });
    }
    if let Some(target) = &options.json {
        write_json(&report.into_figures(), target)?;
    }
    options.check.as_deref().map_or(Ok(()), |file| check(file, found))
}

/// This program as one rank under valgrind, which writes its count to `log`.
fn under_valgrind(log: &Path, count: u32) -> Result<Section> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!("counting instructions takes valgrind, which is not installed (on Debian: apt-get install valgrind)");
    }
    let program = std::env::current_exe().context("can't find this program to start it under valgrind")?;
    let mut log_option = std::ffi::OsString::from("--log-file=");
    log_option.push(log);
    Ok(Section::new("valgrind")
        .arguments(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arguments(["--toggle-collect=*counted_send*", "--toggle-collect=*counted_receive*"])
        .arguments([log_option, program.into_os_string()])
        .arguments(["instructions", "--counted", "--count", &count.to_string()]))
}

/// The total in callgrind's closing words.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok().filter(|&total| total > 0)
}

fn check(file: &Path, [send, receive]: [f64; 2]) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    let allowed: Allowed = serde_json::from_str(&text)
        .with_context(|| format!("{} should look like {{\"send\": 300, \"receive\": 300}}", file.display()))?;
    for (operation, found, allowed) in [("send", send, allowed.send), ("receive", receive, allowed.receive)] {
        ensure!(
            found <= allowed,
            "an eager {operation} takes {found:.1} instructions, more than the {allowed} that {} allows: find out why, or, if \
             it is worth it, raise the limit",
            file.display()
        );
    }
    Ok(())
}

/// A rank of the job under valgrind.
fn counted(count: u32) -> Result<()> {
    let universe = rwmpi::init()?;
    if let Err(error) = exchange(universe.world(), count) {
        universe.abort(1, &format!("{error:#}"));
    }
    universe.finalize()?;
    Ok(())
}

fn exchange(world: &Communicator, count: u32) -> Result<()> {
    let rank = world.rank();
    let mut link = open_link(world, 0)??;
    world.barrier()?;
    let mut left = count;
    for burst in 0.. {
        let warming_up = burst < WARM_UP;
        let messages = if warming_up { BURST } else { left.min(BURST) };
        if messages == 0 {
            break;
        }
        for message in 0..messages {
            if rank == 0 {
                let data = [u64::from(message)];
                if warming_up { world.send(&data, 1, DATA)? } else { counted_send(world, &data)? }
            }
        }
        if rank == 0 {
            link.end()?;
            world.recv::<u8>(&mut [], 1, DONE)?;
        } else {
            link.serve()?;
            for message in 0..messages {
                let mut data = [0];
                if warming_up {
                    world.recv(&mut data, 0, DATA)?;
                } else {
                    counted_receive(world, &mut data)?;
                }
                ensure!(data == [u64::from(message)], "message {message} arrived with {}", data[0]);
            }
            world.send::<u8>(&[], 0, DONE)?;
        }
        if !warming_up {
            left -= messages;
        }
    }
    Ok(())
}

/// What callgrind counts on rank 0, by this name.
#[inline(never)]
fn counted_send(world: &Communicator, data: &[u64; 1]) -> rwmpi::Result<()> {
    world.send(data, 1, DATA)
}

/// What callgrind counts on rank 1, by this name.
#[inline(never)]
fn counted_receive(world: &Communicator, data: &mut [u64; 1]) -> rwmpi::Result<()> {
    world.recv(data, 0, DATA).map(drop)
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
        let file = directory.0.join("allowed");
        fs::write(&file, r#"{"send": 100, "receive": 120}"#).unwrap();
        assert!(check(&file, [100.0, 120.0]).is_ok());
        assert!(check(&file, [100.5, 120.0]).is_err());
        assert!(check(&file, [99.0, 121.0]).is_err());
    }
}
