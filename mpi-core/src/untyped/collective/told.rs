//! What ranks tell each other of a collective, where the job is checked.

use rwmpi_collective::{Root, Sibling, Told};

use super::{Blocks, Collective, Elements};
use crate::Communicator;

fn bytes(elements: &Elements) -> u64 {
    elements.count().saturating_mul(elements.datatype().size())
}

impl Communicator {
    /// What all ranks have to do alike.
    pub(super) fn told(&self, collective: &Collective) -> Told {
        use Collective::{
            Allgather, Allreduce, Alltoall, Barrier, Broadcast, Gather, NeighbourAllgather, NeighbourAlltoall, Reduce,
            ReduceScatter, Scan, Scatter,
        };
        let of = |elements: &Option<Elements>| elements.as_ref().map(bytes);
        let bytes = match collective {
            Broadcast { data, .. } | ReduceScatter { data, .. } => Some(bytes(data)),
            Gather { part, all, even, .. } | Scatter { part, all, even, .. } => {
                of(part).or(all.as_ref().and_then(each)).filter(|_| *even)
            }
            Allgather { all, .. } => Some(self.total(all)),
            Alltoall { received, .. } => each(received),
            Reduce { data, result, .. } => of(data).or(of(result)),
            Allreduce { result, .. } | Scan { result, .. } => Some(bytes(result)),
            Barrier | NeighbourAllgather { .. } | NeighbourAlltoall { .. } => None,
        };
        let is_second = matches!(collective, Scan { exclusive: true, .. } | NeighbourAlltoall { .. });
        let root = match collective.root() {
            Some(Root::Rank(root)) => Some(root),
            _ => None,
        };
        let sibling = if is_second { Sibling::Second } else { Sibling::First };
        let operation = collective.reduction().map(|(operation, _)| operation.into());
        Told { call: collective.call(), sibling, root, operation, bytes }
    }

    /// How many bytes all ranks have there together.
    fn total(&self, blocks: &Blocks) -> u64 {
        match blocks {
            Blocks::Even(each) => bytes(each).saturating_mul(self.size() as u64),
            Blocks::Listed(all) => all.iter().fold(0, |sum, one| sum.saturating_add(bytes(one))),
        }
    }
}

/// How many bytes each rank has there, if they are as many by what the program says.
fn each(blocks: &Blocks) -> Option<u64> {
    match blocks {
        Blocks::Even(each) => Some(bytes(each)),
        Blocks::Listed(_) => None,
    }
}
