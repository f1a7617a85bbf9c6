//! What shows each value of the tuning table.

use rwmpi_launcher::Transport;

use crate::arguments::Memory;
use crate::exchange::Exchange;

/// What a value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From which length on data go another way.
    Length,
    /// In pieces of which length long data go.
    Portion,
}

/// How many ranks show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// So many, each with a processor.
    Beside(usize),
    /// Twice as many as there are processors.
    InTurns,
}

impl Ranks {
    /// Their number; `None` if there are not enough processors.
    pub fn number(self, processors: usize) -> Option<usize> {
        match self {
            Ranks::Beside(ranks) => (ranks <= processors).then_some(ranks),
            Ranks::InTurns => Some(2 * processors.clamp(2, 8)),
        }
    }
}

/// A value, and the exchanges that it is about.
#[derive(Debug)]
pub struct Subject {
    pub row: &'static str,
    pub kind: Kind,
    pub exchanges: &'static [Exchange],
    pub ranks: Ranks,
    pub memory: Memory,
    pub transport: Transport,
}

const fn length(row: &'static str, exchanges: &'static [Exchange], ranks: Ranks) -> Subject {
    Subject { row, kind: Kind::Length, exchanges, ranks, memory: Memory::Shared, transport: Transport::Auto }
}

const TWO: Ranks = Ranks::Beside(2);
const THREE: Ranks = Ranks::Beside(3);

/// All that are measured, in this order.
pub const SUBJECTS: &[Subject] = &[
    length("single_copy_min", &[Exchange::PingPong], TWO),
    length("passed_max", &[Exchange::PingPong], TWO),
    length("both_copy_min", &[Exchange::PingPong], TWO),
    length("both_copy_min_both_ways", &[Exchange::PingPing], TWO),
    Subject { memory: Memory::Private, ..length("kernel_copy_min", &[Exchange::PingPong], TWO) },
    Subject { transport: Transport::Tcp, ..length("network_pull_min", &[Exchange::PingPong], TWO) },
    length("slots_below", &[Exchange::Reduce, Exchange::Allreduce, Exchange::Alltoall], TWO),
    length("broadcast_slots_below", &[Exchange::Broadcast], TWO),
    length("broadcast_read_min", &[Exchange::Broadcast], THREE),
    length("allgather_of_two_slots_below", &[Exchange::Allgather], TWO),
    length("allgather_read_min", &[Exchange::AllgatherOfAll], THREE),
    length("allgather_slots_below", &[Exchange::Allgather], Ranks::Beside(5)),
    length("alltoall_read_min", &[Exchange::Alltoall], THREE),
    length("reduce_read_min", &[Exchange::Allreduce], THREE),
    length("reduce_in_turns_max", &[Exchange::Reduce], Ranks::InTurns),
    length("allreduce_in_turns_max", &[Exchange::Allreduce], Ranks::InTurns),
    length("parts_in_turns_max", &[Exchange::ReduceScatter], Ranks::InTurns),
    Subject { kind: Kind::Portion, ..length("reduction_portion", &[Exchange::Allreduce], TWO) },
    Subject { kind: Kind::Portion, ..length("broadcast_chunk_min", &[Exchange::Broadcast], TWO) },
];
