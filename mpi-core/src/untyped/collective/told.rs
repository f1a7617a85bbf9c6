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
        let told = Told::new(collective.call());
        let told = match collective.root() {
            Some(Root::Rank(root)) => told.root(root),
            _ => told,
        };
        let of = |elements: &Option<Elements>| elements.as_ref().map(bytes);
        match collective {
            Collective::Barrier => told,
            Collective::Broadcast { data, .. } => told.bytes(Some(bytes(data))),
            Collective::Gather { part, all, even, .. } | Collective::Scatter { part, all, even, .. } => {
                told.bytes(of(part).or(all.as_ref().and_then(each)).filter(|_| *even))
            }
            Collective::Allgather { all, .. } => told.bytes(Some(self.total(all))),
            Collective::Alltoall { received, .. } => told.bytes(each(received)),
            Collective::Reduce { data, result, operation, .. } => {
                told.operation(Some(operation.into())).bytes(of(data).or(of(result)))
            }
            Collective::Allreduce { result, operation, .. } => {
                told.operation(Some(operation.into())).bytes(Some(bytes(result)))
            }
            Collective::ReduceScatter { data, operation, .. } => {
                told.operation(Some(operation.into())).bytes(Some(bytes(data)))
            }
            Collective::Scan { result, operation, exclusive, .. } => {
                let sibling = if *exclusive { Sibling::Second } else { Sibling::First };
                told.sibling(sibling).operation(Some(operation.into())).bytes(Some(bytes(result)))
            }
            Collective::NeighbourAllgather { .. } => told,
            Collective::NeighbourAlltoall { .. } => told.sibling(Sibling::Second),
        }
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
