//! The result of a run: gathered from all ranks, printed as scripts that read these benchmarks expect it, or as JSON.

use crate::outcome::Outcome;
use crate::traffic::{PairTraffic, Traffic};
use crate::verify::{Check, Verification};
use crate::{Benchmark, Class};
use rwmpi::{Communicator, Result, Universe, op};
use serde::Serialize;
use std::fmt;

/// A finished run.
#[derive(Clone, Debug, Serialize)]
pub struct BenchmarkResult {
    /// Which benchmark.
    pub benchmark: Benchmark,
    /// Its class.
    pub class: Class,
    /// The problem's size in the words of its definition.
    pub size: String,
    /// Number of processes.
    pub ranks: usize,
    /// How the job's messages travelled: `"sr"`, `"nsr"` or `"auto"`.
    pub protocol: &'static str,
    /// Timed iterations.
    pub iterations: u32,
    /// Time of the slowest rank in seconds.
    pub seconds: f64,
    /// Million operations per second, all ranks together.
    pub mops: f64,
    /// Million operations per second and process.
    pub mops_per_process: f64,
    /// Whether the results are right.
    pub verified: bool,
    /// What all ranks together sent in the timed section.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Who sent how much to whom in the timed section: a row per sender, a column per receiver.
    pub communication: Vec<Vec<PairTraffic>>,
    /// The verification in detail; not part of the JSON.
    #[serde(skip)]
    pub verification: Verification,
}

impl BenchmarkResult {
    /// Makes one result of all ranks' outcomes: the longest time, the sum of the traffic, rank 0's verification.
    pub(crate) fn gather(
        benchmark: Benchmark,
        class: Class,
        world: &Communicator,
        universe: &Universe,
        outcome: Outcome,
    ) -> Result<Self> {
        let seconds = world.allreduce_value(outcome.measurement.seconds, op::max)?;
        let traffic = outcome.measurement.traffic.sum_over_ranks(world)?;
        let communication = PairTraffic::gather(&outcome.measurement.sent_to, world)?;
        let mut verified = [u8::from(outcome.verification.passed())];
        world.bcast(&mut verified, 0)?;
        let mops = if seconds > 0.0 { outcome.operations / seconds / 1e6 } else { 0.0 };
        Ok(BenchmarkResult {
            benchmark,
            class,
            size: outcome.size,
            ranks: world.size(),
            protocol: universe.protocol().name(),
            iterations: outcome.iterations,
            seconds,
            mops,
            mops_per_process: mops / world.size() as f64,
            verified: verified == [1],
            traffic,
            communication,
            verification: outcome.verification,
        })
    }
}

impl fmt::Display for BenchmarkResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in self.verification.checks() {
            write_check(formatter, check)?;
        }
        let mut line =
            |name: &str, value: fmt::Arguments<'_>| writeln!(formatter, " {name} = {:>24}", value.to_string());
        line("Benchmark", format_args!("{}", self.benchmark.to_string().to_uppercase()))?;
        line("Class", format_args!("{}", self.class))?;
        line("Size", format_args!("{}", self.size))?;
        line("Iterations", format_args!("{}", self.iterations))?;
        line("Protocol", format_args!("{}", self.protocol))?;
        line("Messages", format_args!("{}", self.traffic.messages))?;
        line("Bytes", format_args!("{}", self.traffic.bytes))?;
        line("Remote-written messages", format_args!("{}", self.traffic.remote_write_messages))?;
        line("Remote-written bytes", format_args!("{}", self.traffic.remote_write_bytes))?;
        writeln!(formatter, " Time in seconds = {:12.2}", self.seconds)?;
        writeln!(formatter, " Total processes = {:12}", self.ranks)?;
        writeln!(formatter, " Mop/s total = {:12.2}", self.mops)?;
        writeln!(formatter, " Mop/s/process = {:12.2}", self.mops_per_process)?;
        writeln!(formatter, " Operation type = {}", self.benchmark.definition().operation_type)?;
        writeln!(formatter, " Verification = {}", if self.verified { "SUCCESSFUL" } else { "UNSUCCESSFUL" })
    }
}

fn write_check(formatter: &mut fmt::Formatter<'_>, check: &Check) -> fmt::Result {
    let Check { name, computed, reference, error, .. } = check;
    let verdict = if check.passed() { "right" } else { "WRONG" };
    writeln!(formatter, " {name}: {computed:.13e}, reference {reference:.13e}, error {error:.2e}: {verdict}")
}
