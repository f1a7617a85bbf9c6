//! What the ranks of a job do that shows a value: exchanges of each length, whose least time counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use rwmpi::{Buffer, Communicator, Universe, op};

use crate::arguments::{Memory, Tune};
use crate::report::Figure;

/// An exchange. Its length is that which the table speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exchange {
    /// A message to and fro.
    PingPong,
    /// Messages both ways at once.
    PingPing,
    /// Each rank's turn to be the root.
    Broadcast,
    /// The same.
    Reduce,
    /// Of a rank's data.
    Allreduce,
    /// Of a rank's part.
    Allgather,
    /// Of all parts together.
    AllgatherOfAll,
    /// Of a part.
    Alltoall,
    /// Of a rank's data.
    ReduceScatter,
}

/// A batch is this long at least.
const BATCH: Duration = Duration::from_micros(100);
/// How many exchanges there are before it counts.
const WARMING_UP: u64 = 4;

impl Exchange {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Exchange::PingPong => "ping-pong",
            Exchange::PingPing => "ping-ping",
            Exchange::Broadcast => "broadcast",
            Exchange::Reduce => "reduce",
            Exchange::Allreduce => "allreduce",
            Exchange::Allgather => "allgather",
            Exchange::AllgatherOfAll => "allgather-of-all",
            Exchange::Alltoall => "alltoall",
            Exchange::ReduceScatter => "reduce-scatter",
        }
    }

    /// How many numbers a rank gives and gets.
    fn numbers(self, bytes: usize, ranks: usize) -> (usize, usize) {
        let numbers = (bytes / size_of::<u64>()).max(1);
        match self {
            Exchange::Allgather => (numbers, numbers * ranks),
            Exchange::AllgatherOfAll => (numbers.div_ceil(ranks), numbers.div_ceil(ranks) * ranks),
            Exchange::Alltoall => (numbers * ranks, numbers * ranks),
            Exchange::ReduceScatter => (numbers.div_ceil(ranks) * ranks, numbers.div_ceil(ranks)),
            _ => (numbers, numbers),
        }
    }

    /// One of them; `number` counts them.
    fn run(self, world: &Communicator, number: u64, given: &mut [u64], got: &mut [u64]) -> rwmpi::Result<()> {
        let (rank, ranks) = (world.rank(), world.size());
        let root = (number % ranks as u64) as usize;
        match self {
            Exchange::PingPong if rank == 0 => {
                world.send(given, 1, 0)?;
                world.recv(got, 1, 0).map(drop)
            }
            Exchange::PingPong => {
                world.recv(got, 0, 0)?;
                world.send(given, 0, 0)
            }
            Exchange::PingPing => world.sendrecv(given, 1 - rank, 0, got, 1 - rank, 0).map(drop),
            Exchange::Broadcast => world.bcast(given, root),
            Exchange::Reduce => world.reduce(given, got, op::sum, root),
            Exchange::Allreduce => world.allreduce(given, got, op::sum),
            Exchange::Allgather | Exchange::AllgatherOfAll => world.allgather(given, got),
            Exchange::Alltoall => world.alltoall(given, got),
            Exchange::ReduceScatter => world.reduce_scatter_block(given, got, op::sum),
        }
    }
}

/// Numbers of a rank, where they are to lie.
enum Numbers {
    Shared(Buffer<u64>),
    Private(Vec<u64>),
}

impl Numbers {
    fn new(universe: &Universe, memory: Memory, len: usize) -> Self {
        match memory {
            Memory::Shared => Numbers::Shared(universe.alloc(len)),
            Memory::Private => Numbers::Private(vec![0; len]),
        }
    }

    fn slice(&mut self) -> &mut [u64] {
        match self {
            Numbers::Shared(numbers) => numbers,
            Numbers::Private(numbers) => numbers,
        }
    }
}

/// What each rank does; rank 0 returns the least time of each length.
pub fn measure(universe: &Universe, exchange: Exchange, options: &Tune) -> Result<Vec<Figure>> {
    let world = universe.world();
    let mut figures = Vec::new();
    for &bytes in &options.sizes.0 {
        let (given, got) = exchange.numbers(bytes, world.size());
        let mut given = Numbers::new(universe, options.common.memory, given);
        let mut got = Numbers::new(universe, options.common.memory, got);
        let mut number = 0;
        let mut batch = |exchanges: u64| -> rwmpi::Result<f64> {
            let start = Instant::now();
            for _ in 0..exchanges {
                exchange.run(world, number, given.slice(), got.slice())?;
                number += 1;
            }
            Ok(start.elapsed().as_secs_f64() / exchanges as f64)
        };
        batch(WARMING_UP)?;
        let once = world.bcast_value(batch(WARMING_UP)?, 0)?;
        let exchanges = (BATCH.as_secs_f64() / once).ceil().clamp(1.0, 1e6) as u64;
        let batches = (options.common.output.seconds.as_secs_f64() / once / exchanges as f64).clamp(3.0, 1e4) as u64;
        let mut least = f64::INFINITY;
        for _ in 0..batches {
            least = least.min(batch(exchanges)?);
        }
        figures.push(Figure { bytes: Some(bytes), min_us: Some(least * 1e6), ..Figure::of("tune") });
    }
    Ok(if world.rank() == 0 { figures } else { Vec::new() })
}
