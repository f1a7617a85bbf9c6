//! Collectives on elements of datatypes (MPI-5.0 chapter 6 and section 8.6): blocking, nonblocking and persistent,
//! within one group, between two, and among neighbours.
//!
//! A [`Collective`] says what is to be done. [`Communicator::collective`] does it; [`Communicator::start_collective`]
//! starts it; [`Communicator::persistent_collective`] makes a request that can be started again and again. A [`Form`]
//! does or starts what needs no more than its description.

mod check;
mod form;
mod perform;
mod request;
mod staged;
mod told;

pub use rwmpi_collective::{
    Allgather, Allreduce, Alltoall, Barrier, Broadcast, Consecutive, Gather, Reduce, ReduceScatter, Root, Scan, Scatter,
};
use rwmpi_collective::{Groups, Team};

pub use form::{Blocking, Form, Nonblocking};
pub use request::PersistentCollective;
pub use staged::Blocks;

use super::Elements;
use crate::activity::Call;
use crate::collective::CallForm;
use crate::reduction::{Applied, Operation};
use crate::{Communicator, Result};

/// A collective and its arguments. Where data are `None`, they stand where the result goes (MPI_IN_PLACE), or the call
/// has none at this rank.
#[derive(Clone, Debug)]
pub enum Collective {
    /// MPI_Barrier.
    Barrier,
    /// MPI_Bcast.
    Broadcast {
        /// Read at the root, written elsewhere.
        data: Elements,
        /// Who has the data.
        root: Root,
    },
    /// MPI_Gather, MPI_Gatherv.
    Gather {
        /// What this rank gives.
        part: Option<Elements>,
        /// Where the root puts it, by rank; `None` elsewhere.
        all: Option<Blocks>,
        /// Who gathers.
        root: Root,
        /// Whether all ranks give as much (MPI_Gather): the same on all.
        even: bool,
    },
    /// MPI_Scatter, MPI_Scatterv.
    Scatter {
        /// What the root gives, by rank; `None` elsewhere.
        all: Option<Blocks>,
        /// Where this rank's part goes.
        part: Option<Elements>,
        /// Who scatters.
        root: Root,
        /// Whether all ranks get as much (MPI_Scatter): the same on all.
        even: bool,
    },
    /// MPI_Allgather, MPI_Allgatherv.
    Allgather {
        /// What this rank gives.
        part: Option<Elements>,
        /// Where everything goes, by rank.
        all: Blocks,
    },
    /// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw.
    Alltoall {
        /// What each rank gets.
        sent: Option<Blocks>,
        /// Where what each rank gives goes.
        received: Blocks,
    },
    /// MPI_Reduce.
    Reduce {
        /// What this rank gives.
        data: Option<Elements>,
        /// Where the root puts the result; `None` elsewhere.
        result: Option<Elements>,
        /// How it is combined.
        operation: Operation,
        /// Who gets the result.
        root: Root,
    },
    /// MPI_Allreduce.
    Allreduce {
        /// What this rank gives.
        data: Option<Elements>,
        /// Where the result goes.
        result: Elements,
        /// How it is combined.
        operation: Operation,
    },
    /// MPI_Reduce_scatter, MPI_Reduce_scatter_block.
    ReduceScatter {
        /// What this rank gives: the elements for all ranks, one after the other. In place, they begin where `result`
        /// does.
        data: Elements,
        /// Where its part of the result goes.
        result: Elements,
        /// How many elements of the result each rank gets.
        counts: Vec<u64>,
        /// How they are combined.
        operation: Operation,
    },
    /// MPI_Scan, MPI_Exscan.
    Scan {
        /// What this rank gives.
        data: Option<Elements>,
        /// Where the result goes.
        result: Elements,
        /// How they are combined.
        operation: Operation,
        /// Whether the caller's own data do not count (MPI_Exscan).
        exclusive: bool,
    },
    /// MPI_Neighbor_allgather, MPI_Neighbor_allgatherv.
    NeighbourAllgather {
        /// What every neighbour gets.
        part: Elements,
        /// Where what each neighbour gives goes.
        all: Blocks,
    },
    /// MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallw.
    NeighbourAlltoall {
        /// What each neighbour gets.
        sent: Blocks,
        /// Where what each neighbour gives goes.
        received: Blocks,
    },
}

impl Collective {
    fn call(&self) -> Call {
        match self {
            Collective::Barrier => Call::Barrier,
            Collective::Broadcast { .. } => Call::Broadcast,
            Collective::Gather { .. } => Call::Gather,
            Collective::Scatter { .. } => Call::Scatter,
            Collective::Allgather { .. } => Call::Allgather,
            Collective::Alltoall { .. } => Call::Alltoall,
            Collective::Reduce { .. } => Call::Reduce,
            Collective::Allreduce { .. } => Call::Allreduce,
            Collective::ReduceScatter { .. } => Call::ReduceScatter,
            Collective::Scan { .. } => Call::Scan,
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => Call::Neighbours,
        }
    }

    fn root(&self) -> Option<Root> {
        match self {
            Collective::Broadcast { root, .. }
            | Collective::Gather { root, .. }
            | Collective::Scatter { root, .. }
            | Collective::Reduce { root, .. } => Some(*root),
            _ => None,
        }
    }

    /// The operation, and an example of the elements that it combines, if there are any.
    fn reduction(&self) -> Option<(&Operation, Option<&Elements>)> {
        match self {
            Collective::Reduce { data, result, operation, .. } => Some((operation, data.as_ref().or(result.as_ref()))),
            Collective::Allreduce { result, operation, .. }
            | Collective::ReduceScatter { result, operation, .. }
            | Collective::Scan { result, operation, .. } => Some((operation, Some(result))),
            _ => None,
        }
    }

    /// What elements of the program it names, block by block.
    fn elements(&self) -> impl Iterator<Item = &Elements> {
        let (single, blocks): ([Option<&Elements>; 2], [Option<&Blocks>; 2]) = match self {
            Collective::Barrier => ([None; 2], [None; 2]),
            Collective::Broadcast { data, .. } => ([Some(data), None], [None; 2]),
            Collective::Gather { part, all, .. } | Collective::Scatter { all, part, .. } => {
                ([part.as_ref(), None], [all.as_ref(), None])
            }
            Collective::Allgather { part, all } => ([part.as_ref(), None], [Some(all), None]),
            Collective::Alltoall { sent, received } => ([None; 2], [sent.as_ref(), Some(received)]),
            Collective::Reduce { data, result, .. } => ([data.as_ref(), result.as_ref()], [None; 2]),
            Collective::Allreduce { data, result, .. } | Collective::Scan { data, result, .. } => {
                ([data.as_ref(), Some(result)], [None; 2])
            }
            Collective::ReduceScatter { data, result, .. } => ([Some(data), Some(result)], [None; 2]),
            Collective::NeighbourAllgather { part, all } => ([Some(part), None], [Some(all), None]),
            Collective::NeighbourAlltoall { sent, received } => ([None; 2], [Some(sent), Some(received)]),
        };
        single.into_iter().flatten().chain(blocks.into_iter().flatten().flat_map(Blocks::named))
    }
}

/// With whom a neighbourhood collective exchanges.
#[derive(Debug)]
struct Neighbourhood {
    sources: Vec<Option<usize>>,
    destinations: Vec<Option<usize>>,
    grid: bool,
}

/// A collective whose arguments have been checked.
#[derive(Debug)]
struct Prepared {
    collective: Collective,
    operation: Option<Applied>,
    neighbourhood: Option<Neighbourhood>,
}

impl Prepared {
    /// Whether all ranks have to give or expect as many bytes, so that those who do not are to come to its end, and to
    /// hear of it.
    fn is_of_one_length(&self) -> bool {
        use Collective::{Allreduce, Broadcast, Gather, Reduce, ReduceScatter, Scan};
        match self.collective {
            Broadcast { .. } | Reduce { .. } | Allreduce { .. } | ReduceScatter { .. } | Scan { .. } => true,
            Gather { even, .. } => even,
            _ => false,
        }
    }
}

/// The groups that take part.
#[derive(Clone, Copy)]
enum Ranks<'a> {
    One(Team<'a>),
    Two(Groups<'a>),
}

impl Communicator {
    /// Does it (MPI-5.0 chapter 6). Every rank of the communicator makes the same call.
    ///
    /// # Errors
    /// Arguments that can't be used; data that do not fit where they go; what the transport reports.
    pub fn collective(&self, collective: Collective) -> Result<()> {
        let call = collective.call();
        let prepared = self.prepare(collective)?;
        let ranks = self.ranks(self.next_team().map_err(self.failed(call))?);
        self.compare_calls(CallForm::Blocking, || self.told(&prepared.collective)).map_err(self.failed(call))?;
        self.process().block_on(|| perform::perform(&prepared, ranks)).map_err(self.failed(call))
    }

    /// Those of `local`, and of the remote group if there is one.
    fn ranks<'a>(&'a self, local: Team<'a>) -> Ranks<'a> {
        match self.remote_group() {
            None => Ranks::One(local),
            Some(remote) => Ranks::Two(Groups { local, remote: Team { peers: remote.peers(), ..local } }),
        }
    }
}
