//! Exchanges between the ranks of a job: point to point, and collective ones.

use clap::ValueEnum;
use rwmpi::{Communicator, op};

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
    pub fn numbers(self, bytes: usize, ranks: usize) -> (usize, usize) {
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
    pub fn run(self, world: &Communicator, number: u64, given: &mut [u64], got: &mut [u64]) -> rwmpi::Result<()> {
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
