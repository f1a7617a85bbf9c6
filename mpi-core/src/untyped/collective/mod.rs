//! Collectives on elements of datatypes (MPI-5.0 chapter 6 and section 8.6): blocking, nonblocking and persistent, within one group,
//! between two, and among neighbours.
//!
//! A [`Collective`] says what is to be done. [`Communicator::collective`] does it; [`Communicator::start_collective`] starts it;
//! [`Communicator::persistent_collective`] makes a request that can be started again and again.

mod elements;
mod perform;
mod request;

pub use crate::collective::Root;
use crate::collective::{Groups, Team};
pub use elements::{Blocks, Elements};
pub use request::{CollectiveRequest, PersistentCollective};

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::reduction::{Applied, Operation};
use crate::{Communicator, Destination, Result, Source, Topology};

/// A collective and its arguments. Where data are `None`, they stand where the result goes (MPI_IN_PLACE), or the call has none
/// at this rank.
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
    },
    /// MPI_Scatter, MPI_Scatterv.
    Scatter {
        /// What the root gives, by rank; `None` elsewhere.
        all: Option<Blocks>,
        /// Where this rank's part goes.
        part: Option<Elements>,
        /// Who scatters.
        root: Root,
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
        /// What this rank gives: the elements for all ranks, one after the other. In place, they begin where `result` does.
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

    /// The operation, and an example of the elements that it combines.
    fn reduction(&self) -> Option<(&Operation, &Elements)> {
        match self {
            Collective::Reduce { data, result, operation, .. } => {
                data.as_ref().or(result.as_ref()).map(|elements| (operation, elements))
            }
            Collective::Allreduce { result, operation, .. }
            | Collective::ReduceScatter { result, operation, .. }
            | Collective::Scan { result, operation, .. } => Some((operation, result)),
            _ => None,
        }
    }

    /// Bytes of data that this rank gives, or gets if it gives none: for who watches.
    fn bytes(&self) -> usize {
        let even = |blocks: &Blocks| match blocks {
            Blocks::Even(first) => first.bytes(),
            Blocks::Listed(blocks) => blocks.iter().map(Elements::bytes).sum(),
        };
        match self {
            Collective::Barrier => 0,
            Collective::Broadcast { data, .. } | Collective::ReduceScatter { data, .. } => data.bytes(),
            Collective::Gather { part, .. } | Collective::Scatter { part, .. } => {
                part.as_ref().map_or(0, Elements::bytes)
            }
            Collective::Reduce { data, result, .. } => data.as_ref().or(result.as_ref()).map_or(0, Elements::bytes),
            Collective::Allreduce { result, .. } | Collective::Scan { result, .. } => result.bytes(),
            Collective::Allgather { all, .. } => even(all),
            Collective::Alltoall { received, .. } => even(received),
            Collective::NeighbourAllgather { part, .. } => part.bytes(),
            Collective::NeighbourAlltoall { sent, .. } => even(sent),
        }
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
        let ranks = self.ranks(self.next_collective(), true);
        self.process().block_on(perform::perform(&prepared, ranks)).map_err(self.failed(call))
    }

    /// Checks the arguments, as far as one rank can.
    fn prepare(&self, collective: Collective) -> Result<Prepared> {
        let call = collective.call();
        self.begin(call, collective.bytes());
        if let Some(root) = collective.root() {
            self.check_rooted(call, root)?;
        }
        let operation = collective.reduction().map(|(operation, elements)| operation.on(elements.datatype()));
        let neighbourhood = match collective {
            Collective::NeighbourAllgather { .. } | Collective::NeighbourAlltoall { .. } => {
                Some(self.neighbourhood()?)
            }
            Collective::Scan { .. } if self.is_inter() => {
                let what = "an intercommunicator has no order of ranks to scan along".to_string();
                return Err(Error::argument(ErrorClass::Communicator, self, call, what));
            }
            _ => None,
        };
        let in_place = matches!(
            &collective,
            Collective::Allgather { part: None, .. }
                | Collective::Alltoall { sent: None, .. }
                | Collective::Allreduce { data: None, .. }
        );
        if in_place && self.is_inter() {
            let what = "on an intercommunicator data can't be in place".to_string();
            return Err(Error::argument(ErrorClass::Buffer, self, call, what));
        }
        Ok(Prepared { operation: operation.transpose()?, collective, neighbourhood })
    }

    fn check_rooted(&self, call: Call, root: Root) -> Result<()> {
        let ranks = self.remote_size().unwrap_or(self.size());
        let what = match root {
            Root::Rank(root) if root < ranks => return Ok(()),
            Root::Rank(root) => format!("root {root} is out of range; the ranks are 0 to {}", ranks - 1),
            _ if self.is_inter() => return Ok(()),
            _ => "MPI_ROOT and MPI_PROC_NULL name roots of intercommunicators only".to_string(),
        };
        Err(Error::argument(ErrorClass::Root, self, call, what))
    }

    fn neighbourhood(&self) -> Result<Neighbourhood> {
        let neighbours = self.neighbours()?;
        let source = |source: &Source| match *source {
            Source::Rank(rank) => Some(rank),
            _ => None,
        };
        let destination = |destination: &Destination| match *destination {
            Destination::Rank(rank) => Some(rank),
            Destination::Null => None,
        };
        Ok(Neighbourhood {
            sources: neighbours.sources.iter().map(source).collect(),
            destinations: neighbours.destinations.iter().map(destination).collect(),
            grid: matches!(self.topology(), Some(Topology::Cartesian(_))),
        })
    }

    fn ranks(&self, tag: u32, waits: bool) -> Ranks<'_> {
        let local = self.team(tag, waits);
        match self.remote_group() {
            None => Ranks::One(local),
            Some(remote) => Ranks::Two(Groups { local, remote: Team { peers: remote.peers(), ..local } }),
        }
    }
}
