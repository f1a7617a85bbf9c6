//! The command line.

use crate::exchange::Exchange;
use clap::{Args, Parser, Subcommand, ValueEnum};
use rwmpi::Protocol;
use rwmpi_launcher::Transport;
use std::path::PathBuf;
use std::time::Duration;

/// Micro-benchmarks of rwmpi beside the physical limits of the machine.
///
/// Starts itself as a job, or joins one: `mpi-bench latency` and `mpiexec -n 2 mpi-bench latency` measure the same.
#[derive(Debug, Parser)]
#[command(name = "mpi-bench", version)]
pub struct Arguments {
    /// What to measure.
    #[command(subcommand)]
    pub command: Command,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The physical limit, without the library: a cache line from core to core, and copies through shared memory.
    Floor(Floor),
    /// Ping-pong: half of the round trip.
    Latency(Latency),
    /// One rank sends, the other receives: 64 messages at a time, or one after the other.
    Bandwidth(Bandwidth),
    /// 8-byte messages a second.
    Rate(Rate),
    /// Both ranks send at once.
    Pingping(Sized),
    /// Many messages with a tag each, matched in order and in reverse: time per match.
    Tags(Tags),
    /// A barrier of 2, 4 and 8 ranks.
    Barrier(Barrier),
    /// Ping-pong between every two cores that the ranks may use, and on each alone.
    Affinity(Affinity),
    /// How the times of single round trips are distributed.
    #[command(mut_arg("sizes", |sizes| sizes.default_value("8,512,64K")))]
    Histogram(Sized),
    /// What types cost over raw bytes: ping-pong and sums, in several types and by several operations.
    Abstraction(Sized),
    /// Ping-pong and ping-ping of ranks as threads, as processes and over TCP, in turn.
    Ways(Ways),
    /// What the size of sockets' buffers does to TCP within this machine, beside the library.
    SocketBuffers(SocketBuffers),
    /// Instructions per eager send and receive, counted by valgrind.
    Instructions(Instructions),
    /// Finds from which lengths other ways pay on this machine, in two minutes, and writes them into a file that
    /// RWMPI_TUNING can name.
    Tune(Tune),
    /// Other MPI libraries and ours, side by side: `cargo xtask compare`, in the sources of this program.
    Compare(Compare),
}

/// What every benchmark that runs as a job knows.
#[derive(Args, Debug)]
pub struct Common {
    /// How messages travel: sr, nsr or auto. In a job that mpiexec started, mpiexec decides.
    #[arg(long)]
    pub protocol: Option<Protocol>,
    /// What carries messages: auto, or tcp for TCP even within a node. In a job that mpiexec started, mpiexec decides.
    #[arg(long)]
    pub transport: Option<Transport>,
    /// Start the ranks as threads of one process. In a job that mpiexec started, mpiexec decides.
    #[arg(long, conflicts_with = "transport")]
    pub threads: bool,
    /// Where the messages lie.
    #[arg(long, value_enum, default_value_t = Memory::Shared)]
    pub memory: Memory,
    #[command(flatten)]
    pub output: Output,
    /// Where rank 0 leaves its figures for the process that started the job.
    #[arg(long, hide = true, value_name = "PATH")]
    pub figures: Option<PathBuf>,
}

/// How long to measure and where to tell.
#[derive(Args, Debug)]
pub struct Output {
    /// How long to measure each figure. A noisy machine makes it longer, up to four times.
    #[arg(long, default_value = "0.5", value_parser = seconds)]
    pub seconds: Duration,
    /// Write the figures as a JSON array, to a file or (`-`) to standard output; the table then goes to standard error.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Options of `floor`.
#[derive(Args, Debug)]
pub struct Floor {
    /// Message sizes of the copies: `4K-4M` (each power of two), `64K`, or several of these with commas.
    #[arg(long, default_value = "4K-4M", value_parser = sizes)]
    pub sizes: Sizes,
    #[command(flatten)]
    pub output: Output,
    /// The mapping to serve; given by the process that measures.
    #[arg(long, hide = true, value_name = "PATH")]
    pub serve: Option<String>,
}

/// Options of `latency`.
#[derive(Args, Debug)]
pub struct Latency {
    #[command(flatten)]
    pub sized: Sized,
    /// Post every receive before the message that it is for can be sent.
    #[arg(long)]
    pub preposted: bool,
}

/// Options of benchmarks of two ranks that run over message sizes.
#[derive(Args, Debug)]
pub struct Sized {
    /// Message sizes: `0-4M` (0 and each power of two), `8`, `64K`, or several of these with commas.
    #[arg(long, default_value = "0-4M", value_parser = sizes)]
    pub sizes: Sizes,
    #[command(flatten)]
    pub two: TwoRanks,
}

/// Options of benchmarks of two ranks.
#[derive(Args, Debug)]
pub struct TwoRanks {
    /// Ranks of the job to start: these benchmarks are between two.
    #[arg(short = 'n', default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=2))]
    pub ranks: u16,
    #[command(flatten)]
    pub common: Common,
}

/// Options of `bandwidth`.
#[derive(Args, Debug)]
pub struct Bandwidth {
    #[command(flatten)]
    pub sized: Sized,
    /// Blocking sends and receives, one after the other, up to a barrier.
    #[arg(long)]
    pub stream: bool,
}

/// Options of `rate`.
#[derive(Args, Debug)]
pub struct Rate {
    #[command(flatten)]
    pub two: TwoRanks,
    /// Blocking sends and receives, one after the other, up to a barrier.
    #[arg(long)]
    pub stream: bool,
}

/// Options of `tags`.
#[derive(Args, Debug)]
pub struct Tags {
    #[command(flatten)]
    pub two: TwoRanks,
    /// Messages in each round.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
}

/// Options of `barrier`.
#[derive(Args, Debug)]
pub struct Barrier {
    /// Ranks of the jobs to start, one job after the other.
    #[arg(short = 'n', default_value = "2,4,8", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(2..))]
    pub ranks: Vec<u16>,
    #[command(flatten)]
    pub common: Common,
}

/// Options of `affinity`.
#[derive(Args, Debug)]
#[command(mut_arg("sizes", |sizes| sizes.default_value("8,64K")))]
pub struct Affinity {
    #[command(flatten)]
    pub sized: Sized,
    /// Where rank 0 and rank 1 of this job run.
    #[arg(long, hide = true, value_delimiter = ',', num_args = 1)]
    pub cores: Vec<usize>,
}

impl Affinity {
    /// Where rank 0 and rank 1 run, if this is the job of one pair.
    pub fn pair(&self) -> Option<[usize; 2]> {
        self.cores.as_slice().try_into().ok()
    }
}

/// Options of `ways`.
#[derive(Args, Debug)]
pub struct Ways {
    /// Message sizes: `0-4M` (0 and each power of two), `8`, `64K`, or several of these with commas.
    #[arg(long, default_value = "0,8,64,512,4K,16K,64K-4M", value_parser = sizes)]
    pub sizes: Sizes,
    /// How often each way has its turn; the time for each figure is shared among them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,
    #[command(flatten)]
    pub output: Output,
}

/// Options of `socket-buffers`.
#[derive(Args, Debug)]
pub struct SocketBuffers {
    /// Message sizes: `1-4M` (each power of two), `8`, `64K`, or several of these with commas.
    #[arg(long, default_value = "8,4K,32K,128K,1M", value_parser = sizes)]
    pub sizes: Sizes,
    /// Buffer sizes, besides that which the kernel chooses.
    #[arg(long, default_value = "8K,32K,64K,256K,1M,4M", value_parser = sizes)]
    pub buffers: Sizes,
    #[command(flatten)]
    pub output: Output,
}

/// Options of `instructions`.
#[derive(Args, Debug)]
pub struct Instructions {
    /// Messages to count over.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,
    /// Write the figures as a JSON array, to a file or (`-`) to standard output; the table then goes to standard error.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Fail if an operation takes more instructions than this file allows.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Run the messages, to be counted from outside.
    #[arg(long, hide = true)]
    pub counted: Option<Calls>,
}

/// Options of `tune`.
#[derive(Args, Debug)]
pub struct Tune {
    /// The file to write.
    #[arg(long, default_value = "rwmpi-tuning.toml", value_name = "FILE")]
    pub out: PathBuf,
    /// Only values whose names contain this.
    #[arg(long, value_name = "PART")]
    pub only: Option<String>,
    /// What the ranks of this job do.
    #[arg(long, hide = true, value_enum)]
    pub exchange: Option<Exchange>,
    /// And of which lengths.
    #[arg(long, hide = true, default_value = "8", value_parser = sizes)]
    pub sizes: Sizes,
    #[command(flatten)]
    pub common: Common,
}

/// Options of `compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// What `cargo xtask compare` takes: part of a benchmark's name, `--rounds N`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Which calls `instructions` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Calls {
    /// `send` and `recv` of a number; the message is there before its receive.
    Blocking,
    /// As `blocking`, of bytes.
    Bytes,
    /// As `blocking`, of a derived type.
    Derived,
    /// `send_value` and `recv_value` of a number.
    Value,
    /// The same of a vector of one number, of whose length the receiver knows nothing.
    Vector,
    /// `isend` and `irecv`, each with its `wait`; the receive is posted before its message is sent.
    Nonblocking,
    /// `bcast` of a number by rank 0, which is there before rank 1 asks for it.
    Broadcast,
    /// `reduce` of numbers at rank 1, to which rank 0 has given its own already.
    Reduce,
}

/// Where messages lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Memory {
    /// In the heap that all ranks of the node can reach.
    Shared,
    /// In ordinary memory, out of the others' reach without the kernel.
    Private,
}

/// Message sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<usize>);

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sizes.join(","))
    }
}

impl Sizes {
    /// The largest.
    pub fn max(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// The largest message that can be asked for.
const SIZE_MAX: usize = 1 << 30;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    if !(0.001..=600.0).contains(&seconds) {
        return Err("between 0.001 and 600 seconds, please".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses `0-4M`, `8`, `64K,1M` and the like.
fn sizes(text: &str) -> Result<Sizes, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => all.push(size(part)?),
            Some((first, last)) => {
                let (first, last) = (size(first)?, size(last)?);
                if last < first {
                    return Err(format!("`{part}` ends before it begins"));
                }
                let powers = (0..usize::BITS - 1).map(|exponent| 1_usize << exponent);
                all.extend(std::iter::once(0).chain(powers).filter(|size| (first..=last).contains(size)));
            }
        }
    }
    if all.is_empty() {
        return Err(format!("`{text}` names no size: ranges run over 0 and the powers of two"));
    }
    Ok(Sizes(all))
}

/// Parses a number of bytes with an optional K, M or G (powers of 1024).
fn size(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: usize = digits.parse().map_err(|_| format!("`{text}` is not a size such as 8, 64K or 4M"))?;
    number
        .checked_mul(1 << shift)
        .filter(|&size| size <= SIZE_MAX)
        .ok_or_else(|| format!("`{text}` is more than the largest message, 1G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn ranges_run_over_powers_of_two() {
        assert_eq!(sizes("0-8").unwrap().0, [0, 1, 2, 4, 8]);
        assert_eq!(sizes("4K-16k").unwrap().0, [4096, 8192, 16384]);
        assert_eq!(sizes("3,1M,5-9").unwrap().0, [3, 1 << 20, 8]);
    }

    #[test]
    fn senseless_sizes_are_refused() {
        for text in ["", "x", "4M-4K", "5-7", "-1", "2G", "1K1", "99999999999999999999G"] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pairs_take_two_ranks() {
        assert!(Arguments::try_parse_from(["mpi-bench", "latency", "-n", "2"]).is_ok());
        assert!(Arguments::try_parse_from(["mpi-bench", "latency", "-n", "3"]).is_err());
        assert!(Arguments::try_parse_from(["mpi-bench", "barrier", "-n", "2,3"]).is_ok());
    }
}
