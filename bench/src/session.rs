//! A rank of a benchmark job, and the one way in which everything is sampled.
//!
//! Rank 0 leads: it decides how often a batch is repeated and when there is enough, and tells the others by broadcast.
//! Batches run in *windows* of about 10 ms; between two windows the floor is measured, and the samples of a window are
//! kept only if it was the same before and after. Samples of the two regimes are never mixed: each regime gives a
//! figure of its own.

use crate::arguments::{Common, Memory};
use crate::digits::rounded;
use crate::distribution::Distribution;
use crate::floor::LINE;
use crate::floor_watch::FloorWatch;
use crate::machine;
use crate::message::Message;
use crate::regime::{Regime, steady};
use crate::report::{Figure, Report};
use crate::statistics::Summary;
use crate::tcp_floor::{Pattern, RawConnection, Ways};
use crate::way::Way;
use anyhow::{Context, Result, bail, ensure};
use rwmpi::{Communicator, Universe};
use std::time::{Duration, Instant};

/// How long batches run between two looks at the floor.
const WINDOW: Duration = Duration::from_millis(10);
/// A batch is this long at least: a hundred times what reading the clock takes.
const BATCH: Duration = Duration::from_micros(10);
/// No batch has more iterations, no window more batches.
const ITERATIONS_MOST: u64 = 1 << 20;
const BATCHES_MOST: u128 = 10_000;
/// How long the raw connection is measured beside each window, in each of its ways.
const RAW: Duration = Duration::from_millis(5);
/// The raw copies are measured beside this many windows: one alone may have been interrupted.
const COPIED: u32 = 5;
/// With fewer samples than this, the measurement goes on if it may.
const ENOUGH: usize = 150;

/// What a batch's time is compared with. In a job over TCP it is a raw connection, on which as many messages go one way
/// before the other answers.
#[derive(Clone, Copy, PartialEq)]
pub enum Limit {
    /// A cache line's way, or for longer messages the faster of the two raw copies.
    Message { window: usize },
    /// A cache line's way.
    Line { window: usize },
    /// Nothing physical.
    None,
}

/// What rank 0 tells the others to do.
#[derive(Clone, Copy)]
enum Step {
    /// Run `batches` batches of `iterations` iterations.
    Run { iterations: u64, batches: u64 },
    /// Take part in measuring the floor.
    Floor,
    /// Take part in measuring the raw connection.
    Connection,
    /// The figure is complete.
    Done,
}

impl Step {
    fn encode(self) -> [u64; 3] {
        match self {
            Step::Done => [0, 0, 0],
            Step::Run { iterations, batches } => [1, iterations, batches],
            Step::Floor => [2, 0, 0],
            Step::Connection => [3, 0, 0],
        }
    }

    fn decode(words: [u64; 3]) -> Result<Self> {
        match words {
            [0, ..] => Ok(Step::Done),
            [1, iterations, batches] => Ok(Step::Run { iterations, batches }),
            [2, ..] => Ok(Step::Floor),
            [3, ..] => Ok(Step::Connection),
            _ => {
                bail!("rank 0 asks for {words:?}, which no step of a benchmark is: do all ranks run the same program?")
            }
        }
    }
}

/// The samples of one regime; of an unknown one where there is no floor.
struct Bucket {
    regime: Option<Regime>,
    windows: u32,
    samples: Vec<f64>,
    /// The least of the cache line's way, µs.
    line_us: f64,
    /// The least of the raw copies' time, µs.
    copy_us: f64,
    /// What messages took on the raw connection, µs.
    raw: Ways,
}

impl Bucket {
    fn of(regime: Option<Regime>) -> Self {
        Bucket {
            regime,
            windows: 0,
            samples: Vec::new(),
            line_us: f64::INFINITY,
            copy_us: f64::INFINITY,
            raw: Ways::default(),
        }
    }

    fn add(&mut self, samples: &mut Vec<f64>, line_us: impl Iterator<Item = f64>, copy_us: Option<f64>) {
        self.windows += 1;
        self.samples.append(samples);
        self.line_us = line_us.fold(self.line_us, f64::min);
        self.copy_us = self.copy_us.min(copy_us.unwrap_or(f64::INFINITY));
    }

    /// The physical limit, µs.
    fn limit_us(&self) -> f64 {
        if self.copy_us.is_finite() { self.copy_us } else { self.line_us }
    }
}

/// This rank and its means.
pub struct Session<'a> {
    universe: &'a Universe,
    /// The watch on the floor, or why there is none.
    floor: Result<FloorWatch, String>,
    /// In a job of two over TCP.
    raw: Option<RawConnection>,
    way: Way,
    memory: Memory,
    seconds: Duration,
    /// Rank 0's only.
    report: Option<Report>,
    clock_us: f64,
}

impl<'a> Session<'a> {
    /// Takes part in the job. Messages will be `largest` bytes at most.
    pub fn begin(universe: &'a Universe, common: &Common, largest: usize) -> Result<Self> {
        let world = universe.world();
        if let Some(wanted) = common.protocol {
            ensure!(
                wanted == universe.protocol(),
                "the job was started with protocol {}, not {}: tell mpiexec, or let mpi-bench start the job",
                universe.protocol().name(),
                wanted.name()
            );
        }
        let report = (world.rank() == 0).then(|| Report::new(common.output.json.as_deref()));
        let floor = FloorWatch::open(world, largest)?;
        let way = Way::of_job(world)?;
        let has_raw = floor.is_ok() && world.size() == 2 && way == Way::Tcp;
        let mut session = Session {
            floor,
            raw: has_raw.then(|| RawConnection::open(world)).transpose()?,
            way,
            memory: common.memory,
            seconds: common.output.seconds,
            report,
            clock_us: crate::floor::clock_cost_us(),
            universe,
        };
        session.introduce()?;
        Ok(session)
    }

    /// All ranks of the job.
    pub fn world(&self) -> Communicator {
        self.universe.world().clone()
    }

    /// What reading the clock twice takes, µs.
    pub fn clock_us(&self) -> f64 {
        self.clock_us
    }

    /// A message of `bytes` bytes in the memory that was asked for.
    pub fn message(&self, bytes: usize) -> Message {
        match self.memory {
            Memory::Shared => Message::Shared(self.universe.alloc(bytes)),
            Memory::Private => Message::Private(vec![0; bytes]),
        }
    }

    /// Moves rank 0 and rank 1 to these cores, and the floor with them. Messages will be `largest` bytes at most.
    /// Collective.
    pub fn move_to(&mut self, cores: [usize; 2], largest: usize) -> Result<()> {
        let world = self.universe.world();
        if let Some(&core) = cores.get(world.rank()) {
            machine::pin(&[core])?;
        }
        self.floor = FloorWatch::open(world, largest)?;
        Ok(())
    }

    /// An empty figure of `benchmark` in this job.
    pub fn figure(&self, benchmark: &str) -> Figure {
        Figure {
            ranks: Some(self.universe.world().size()),
            protocol: Some(self.universe.protocol().name().into()),
            memory: Some(memory_name(self.memory).into()),
            way: Some(self.way),
            ..Figure::of(benchmark)
        }
    }

    /// What was found: on rank 0 all figures, elsewhere none.
    pub fn into_figures(self) -> Vec<Figure> {
        self.report.map(Report::into_figures).unwrap_or_default()
    }

    /// Repeats `batch` until there are enough samples, and reports them as `figure`. `batch` is given a number of
    /// iterations and appends samples (µs each, the time of one operation); only rank 0's are used.
    pub fn measure(
        &mut self,
        figure: &Figure,
        limit: Limit,
        mut batch: impl FnMut(u64, &mut Vec<f64>) -> Result<()>,
    ) -> Result<()> {
        if self.report.is_some() {
            return self.lead(figure, limit, &mut batch);
        }
        let world = self.world();
        let mut unused = Vec::new();
        loop {
            let mut words = [0; 3];
            world.bcast(&mut words, 0)?;
            match Step::decode(words)? {
                Step::Done => return Ok(()),
                Step::Floor => match &mut self.floor {
                    Ok(watch) => watch.follow()?,
                    Err(reason) => bail!("rank 0 measures a floor that this rank has no part in: {reason}"),
                },
                Step::Connection => match &mut self.raw {
                    Some(raw) => raw.serve()?,
                    None => bail!("rank 0 measures a raw connection that this rank has no part in"),
                },
                Step::Run { iterations, batches } => {
                    for _ in 0..batches {
                        batch(iterations, &mut unused)?;
                    }
                    unused.clear();
                }
            }
        }
    }

    fn lead(
        &mut self,
        figure: &Figure,
        limit: Limit,
        batch: &mut dyn FnMut(u64, &mut Vec<f64>) -> Result<()>,
    ) -> Result<()> {
        let pattern = match limit {
            Limit::Message { window } | Limit::Line { window } => {
                self.raw.is_some().then(|| Pattern { bytes: figure.bytes.unwrap_or(1).max(1), window })
            }
            Limit::None => None,
        };
        let is_message = matches!(limit, Limit::Message { .. }) && pattern.is_none();
        let copy_bytes = figure.bytes.filter(|&bytes| is_message && bytes > LINE);
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut dropped = 0;
        let (mut iterations, mut batches) = (1, 3);
        let begin = Instant::now();
        let mut before = self.look()?;
        loop {
            let mut samples = Vec::new();
            let least = self.run(batch, iterations, batches, &mut samples)?;
            batches = (WINDOW.as_nanos() / least.as_nanos().max(1)).clamp(1, BATCHES_MOST) as u64;
            if least < BATCH && iterations < ITERATIONS_MOST {
                // Also warms up. Judged anew in each window: on a busy machine the first ones may have been
                // interrupted.
                (iterations, batches) = (2 * iterations, 3);
                continue;
            }
            let after = self.look()?;
            let regime = before.zip(after).map(|(before, after)| steady(before, after));
            if regime == Some(None) {
                dropped += samples.len();
            } else {
                let regime = regime.flatten();
                let at = buckets.iter().position(|bucket| bucket.regime == regime).unwrap_or_else(|| {
                    buckets.push(Bucket::of(regime));
                    buckets.len() - 1
                });
                let copy_us = match copy_bytes {
                    Some(bytes) if buckets[at].windows < COPIED => self.floor_step(|watch| watch.copy(bytes))?,
                    _ => None,
                };
                buckets[at].add(&mut samples, before.into_iter().chain(after), copy_us);
                if let Some(pattern) = pattern {
                    self.raw_step(pattern, &mut buckets[at].raw)?;
                }
            }
            before = after;
            let found = buckets.iter().map(|bucket| bucket.samples.len()).max().unwrap_or(0);
            let patience = if found < ENOUGH { 4 } else { 1 };
            if begin.elapsed() >= self.seconds * patience {
                break;
            }
        }
        self.tell(Step::Done)?;
        self.publish(figure, limit, buckets, dropped)
    }

    /// Runs one window; returns what the fastest of its batches took.
    fn run(
        &mut self,
        batch: &mut dyn FnMut(u64, &mut Vec<f64>) -> Result<()>,
        iterations: u64,
        batches: u64,
        samples: &mut Vec<f64>,
    ) -> Result<Duration> {
        self.tell(Step::Run { iterations, batches })?;
        let mut least = Duration::MAX;
        for _ in 0..batches {
            let start = Instant::now();
            batch(iterations, samples)?;
            least = least.min(start.elapsed());
        }
        Ok(least)
    }

    fn tell(&self, step: Step) -> Result<()> {
        self.universe.world().bcast(&mut step.encode(), 0)?;
        Ok(())
    }

    fn publish(&mut self, figure: &Figure, limit: Limit, buckets: Vec<Bucket>, mut dropped: usize) -> Result<()> {
        let report = self.report.as_mut().expect("only rank 0 leads");
        if buckets.is_empty() {
            report.add_dropped(figure.clone(), dropped);
        }
        for mut bucket in buckets {
            let mut figure = figure.clone();
            let summary = Summary::of(&mut bucket.samples).context("a benchmark measured nothing")?;
            figure.time(summary);
            if figure.benchmark == "rate" {
                figure.messages_per_second = Some(rounded(1e6 / summary.min.max(1e-6), 0));
            }
            if figure.benchmark == "histogram" {
                figure.distribution = Distribution::of(&bucket.samples);
            }
            if let Some(regime) = bucket.regime {
                figure.neighbourhood(regime, bucket.line_us);
                let ways = bucket.raw.each_mut().map(|way| Summary::of(way));
                let raw = |of: fn(Summary) -> f64| ways.iter().flatten().map(|way| of(*way)).min_by(f64::total_cmp);
                figure.floor_min_us = raw(|way| way.min).map(|time| rounded(time, 5));
                figure.floor_median_us = raw(|way| way.median).map(|time| rounded(time, 5));
                let limit_us = figure.floor_min_us.unwrap_or(bucket.limit_us());
                figure.floor_ratio = (limit != Limit::None).then(|| rounded(summary.min / limit_us, 3));
            }
            figure.samples = Some(bucket.samples.len());
            figure.dropped = Some(std::mem::take(&mut dropped));
            report.add(figure);
        }
        Ok(())
    }
}

/// The floor.
impl Session<'_> {
    /// Rank 0's first line: the machine, the regime, the protocol.
    fn introduce(&mut self) -> Result<()> {
        let Some(report) = &self.report else {
            return self.floor.as_mut().map_or(Ok(()), FloorWatch::follow);
        };
        let (world, name) = (self.universe.world(), self.universe.protocol().name().to_uppercase());
        let (cores, regime) = match &mut self.floor {
            Ok(watch) => {
                let line_us = watch.line()?;
                (watch.cores(), Regime::describe(line_us))
            }
            Err(reason) => (machine::allowed_cores()?.len(), format!("near or far unknown: {reason}")),
        };
        let (processor, memory) = (machine::processor(), memory_name(self.memory));
        let ranks = format!("{} ranks {}", world.size(), self.way.describe());
        report.say(&format!("{processor}, {cores} cores; {regime}; protocol {name}, {memory} memory, {ranks}"));
        Ok(())
    }

    /// Rank 0: the cache line's way at this moment, µs.
    fn look(&mut self) -> Result<Option<f64>> {
        self.floor_step(FloorWatch::line)
    }

    /// Rank 0: samples of the raw connection.
    fn raw_step(&mut self, pattern: Pattern, samples: &mut Ways) -> Result<()> {
        self.tell(Step::Connection)?;
        let Some(raw) = &mut self.raw else { return Ok(()) };
        raw.lead(pattern, RAW, samples)?;
        raw.end()
    }

    /// Rank 0: a measurement of the floor, if there is one.
    fn floor_step(&mut self, work: impl FnOnce(&mut FloorWatch) -> Result<f64>) -> Result<Option<f64>> {
        if self.floor.is_ok() {
            self.tell(Step::Floor)?;
        }
        self.floor.as_mut().ok().map(work).transpose()
    }
}

/// A memory's name in reports.
fn memory_name(memory: Memory) -> &'static str {
    match memory {
        Memory::Shared => "shared",
        Memory::Private => "private",
    }
}
