//! The benchmark `socket-buffers`: what the size of a TCP socket's buffers does to raw sockets within this machine,
//! beside the library, which leaves them to the kernel (McMPI thesis, section 5.2.5, figure 38; decision 0006).
//!
//! All sizes take turns, so that a machine that changes meanwhile does so for all.

use crate::arguments::SocketBuffers;
use crate::digits::microseconds;
use crate::launch::Job;
use crate::machine::{self, Pinned};
use crate::raw_socket::{RawSocket, can_have};
use crate::report::{Figure, Report, write_json};
use crate::rounds::{ROUNDS, merge};
use crate::statistics::Summary;
use crate::tcp_floor;
use crate::way::Way;
use anyhow::{Context, Result};
use rwmpi_launcher::{Output, Transport};
use std::time::{Duration, Instant};

const BENCHMARK: &str = "socket-buffers";
const RAW: &str = "raw socket";
const LIBRARY: &str = "rwmpi";
/// How messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// To and fro.
    PingPong,
    /// Many one after the other, and a byte back.
    Stream,
}

/// The patterns: titles, and what the library's benchmark is called and told.
const PATTERNS: [(Pattern, &str, &[&str]); 2] =
    [(Pattern::PingPong, "ping-pong", &["latency"]), (Pattern::Stream, "stream", &["bandwidth", "--stream"])];
/// Messages of a stream, and bytes of all of them: as in `bandwidth`.
const WINDOW: usize = 64;
const WINDOW_BYTES: usize = 4 << 20;
const WINDOW_LEAST: usize = 4;

/// Runs the benchmark.
pub fn run(options: &SocketBuffers) -> Result<()> {
    let report = Report::new(options.output.json.as_deref());
    report.say(&format!("{}; TCP within this machine", machine::processor()));
    let mut buffers = vec![None];
    for &buffer in &options.buffers.0 {
        if can_have(buffer)? {
            buffers.push(Some(buffer));
        } else {
            report.say(&format!("no buffers of {buffer} bytes: net.core.wmem_max and rmem_max allow less"));
        }
    }
    let cores = machine::allowed_cores()?;
    let (first, last) = cores.first().zip(cores.last()).context("no core to run on")?;
    let mut sockets = Vec::new();
    for buffer in buffers {
        sockets.push((buffer, RawSocket::open(buffer, *last)?));
    }
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let pinned = Pinned::to(*first)?;
        for &bytes in &options.sizes.0 {
            for (buffer, socket) in &mut sockets {
                for (pattern, ..) in PATTERNS {
                    found.push(raw(socket, *buffer, pattern, bytes, options.output.seconds / ROUNDS)?);
                }
            }
        }
        drop(pinned);
        for (pattern, ..) in PATTERNS {
            found.extend(library(options, pattern)?);
        }
    }
    for (_, socket) in sockets {
        socket.close()?;
    }
    let figures = merge(&found);
    for (_, title, _) in PATTERNS {
        table(&report, &figures, &options.sizes.0, title);
    }
    options.output.json.as_deref().map_or(Ok(()), |target| write_json(&figures, target))
}

fn titles(pattern: Pattern) -> (&'static str, &'static [&'static str]) {
    let (_, title, arguments) = PATTERNS[pattern as usize];
    (title, arguments)
}

/// Raw sockets for about `time`.
fn raw(
    socket: &mut RawSocket,
    buffer: Option<usize>,
    pattern: Pattern,
    bytes: usize,
    time: Duration,
) -> Result<Figure> {
    let window = match pattern {
        Pattern::PingPong => 1,
        Pattern::Stream => (WINDOW_BYTES / bytes.max(1)).clamp(WINDOW_LEAST, WINDOW),
    };
    let mut samples = Vec::new();
    let begin = Instant::now();
    while samples.is_empty() || begin.elapsed() < time {
        socket.exchange(tcp_floor::Pattern { bytes: bytes.max(1), window }, &mut samples)?;
    }
    let mut figure = Figure { bytes: Some(bytes), samples: Some(samples.len()), ..figure(RAW, pattern, buffer) };
    figure.time(Summary::of(&mut samples).context("no sample")?);
    Ok(figure)
}

fn figure(whose: &str, pattern: Pattern, buffer: Option<usize>) -> Figure {
    Figure {
        variant: Some(format!("{whose}, {}", titles(pattern).0)),
        way: Some(Way::Tcp),
        buffer_bytes: buffer,
        ..Figure::of(BENCHMARK)
    }
}

/// The library, as it is.
fn library(options: &SocketBuffers, pattern: Pattern) -> Result<Vec<Figure>> {
    let (sizes, seconds) = (options.sizes.to_string(), (options.output.seconds / ROUNDS).as_secs_f64().max(0.001));
    let more = ["--sizes".into(), sizes.into(), "--seconds".into(), seconds.to_string().into()];
    let job = Job {
        arguments: titles(pattern).1.iter().map(Into::into).chain(more).collect(),
        ranks: 2,
        transport: Some(Transport::Tcp),
        output: Output::Capture,
        ..Job::default()
    };
    // Sockets do not care much whether cores are near.
    let plain = |found: Figure| Figure {
        benchmark: BENCHMARK.into(),
        variant: figure(LIBRARY, pattern, None).variant,
        regime: None,
        regime_ns: None,
        floor_ratio: None,
        ..found
    };
    Ok(job.run()?.0.into_iter().map(plain).collect())
}

/// Shows one pattern: a row for each buffer, a column for each size.
fn table(report: &Report, figures: &[Figure], sizes: &[usize], title: &str) {
    let streams = title == titles(Pattern::Stream).0;
    report.say(&format!("\n{title}, {}", if streams { "MB/s by the first sextile" } else { "first sextile in us" }));
    let line = |name: String, cells: Vec<String>| {
        cells.into_iter().fold(format!("{name:<24}"), |line, cell| format!("{line}  {cell:>9}"))
    };
    report.say(&line("buffers \\ message bytes".into(), sizes.iter().map(usize::to_string).collect()));
    let of_title = || figures.iter().filter(|it| it.variant.as_deref().is_some_and(|variant| variant.ends_with(title)));
    let mut rows: Vec<_> = of_title().map(|figure| (figure.variant.as_deref(), figure.buffer_bytes)).collect();
    rows.sort_by_key(|&(variant, buffer)| (variant.is_some_and(|variant| variant.starts_with(LIBRARY)), buffer));
    rows.dedup();
    for row in rows {
        let cell = |bytes: usize| {
            let found =
                of_title().find(|it| (it.variant.as_deref(), it.buffer_bytes, it.bytes) == (row.0, row.1, Some(bytes)));
            found.and_then(|figure| figure.sextile1_us).map_or("-".into(), |time| match streams {
                true => format!("{:.1}", bytes as f64 / time),
                false => microseconds(time),
            })
        };
        let whose = row.0.and_then(|variant| variant.split(',').next()).unwrap_or_default();
        let buffer = row.1.map_or("kernel's own".into(), |buffer| buffer.to_string());
        report.say(&line(format!("{whose}, {buffer}"), sizes.iter().map(|&bytes| cell(bytes)).collect()));
    }
}
