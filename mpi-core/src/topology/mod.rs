//! Process topologies (MPI-5.0 chapter 8): who is whose neighbour.
//!
//! A topology is a value that a communicator carries. Ranks are never reordered: on one node every place is as good as
//! any other.

mod cartesian;
mod create;
mod distributed;
mod graph;
mod grid;

pub use cartesian::{Cartesian, balanced_dimensions};
pub use distributed::{DistributedGraph, Edge};
pub use graph::Graph;
pub use grid::{Direction, Grid};

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::{Communicator, Destination, Result, Source};

/// What a communicator knows about neighbours (MPI_Topo_test).
#[doc = example!(2
    "let ring = world.create_cartesian(&rwmpi::Cartesian::new(&[2], &[true])?)?.expect(\"there is room\");"
    "assert!(matches!(ring.topology(), Some(rwmpi::Topology::Cartesian(_))));"
    "assert_eq!((ring.cartesian()?.size(), ring.graph().is_err()), (2, true));"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "MPI_Topo_test")]
pub enum Topology {
    /// A grid.
    Cartesian(Cartesian),
    /// A graph that every rank knows whole.
    Graph(Graph),
    /// A graph of which every rank knows its own edges.
    Distributed(DistributedGraph),
}

/// From whom a rank receives and to whom it sends in neighbourhood collectives, in the order of their buffers (MPI-5.0
/// section 8.6).
///
/// On a grid, what is sent in direction `i` of a dimension arrives at its receiver in the opposite direction's place,
/// `i ^ 1`; this matters where both neighbours are the same rank.
#[doc = example!(3
    "let line = world.create_cartesian(&rwmpi::Cartesian::new(&[3], &[false])?)?.expect(\"there is room\");"
    "let rwmpi::Neighbours { sources, destinations, .. } = line.neighbours()?;"
    "assert_eq!(sources.iter().filter(|source| source.rank().is_some()).count(), if rank == 1 { 2 } else { 1 });"
    "assert_eq!(destinations[1].rank(), line.shift(0, 1)?.1.rank());"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// From whom.
    pub sources: Vec<Source>,
    /// To whom.
    pub destinations: Vec<Destination>,
}

impl Communicator {
    /// Its grid.
    ///
    /// # Errors
    /// If it has none.
    pub fn cartesian(&self) -> Result<&Cartesian> {
        match self.topology() {
            Some(Topology::Cartesian(grid)) => Ok(grid),
            _ => Err(self.wrong_topology("a grid (Cartesian topology)")),
        }
    }

    /// Its graph.
    ///
    /// # Errors
    /// If it has none.
    pub fn graph(&self) -> Result<&Graph> {
        match self.topology() {
            Some(Topology::Graph(graph)) => Ok(graph),
            _ => Err(self.wrong_topology("a graph")),
        }
    }

    /// Its distributed graph.
    ///
    /// # Errors
    /// If it has none.
    #[doc = example!(1
        "let own = [0];"
        "let alone = world.create_distributed_graph_adjacent((&own, None), (&own, None))?;"
        "assert_eq!(alone.distributed_graph()?.sources(), own);"
        "assert!(world.distributed_graph().is_err());"
    )]
    pub fn distributed_graph(&self) -> Result<&DistributedGraph> {
        match self.topology() {
            Some(Topology::Distributed(graph)) => Ok(graph),
            _ => Err(self.wrong_topology("a distributed graph")),
        }
    }

    /// With whom neighbourhood collectives exchange.
    ///
    /// # Errors
    /// If the communicator has no topology.
    pub fn neighbours(&self) -> Result<Neighbours> {
        match self.topology() {
            Some(Topology::Cartesian(grid)) => Ok(grid.neighbours(self.rank())),
            Some(Topology::Graph(graph)) => Ok(graph.both_ways(self.rank())),
            Some(Topology::Distributed(graph)) => Ok(graph.neighbours()),
            None => Err(self.wrong_topology("a topology")),
        }
    }

    /// Whom to receive from and whom to send to when all ranks of a grid pass data `displacement` steps up along
    /// `dimension` (MPI_Cart_shift).
    ///
    /// # Errors
    /// If the communicator has no grid, or the grid no such dimension.
    #[doc(alias = "MPI_Cart_shift")]
    pub fn shift(&self, dimension: usize, displacement: i64) -> Result<(Source, Destination)> {
        self.cartesian()?.shift(self.rank(), dimension, displacement)
    }

    #[cold]
    fn wrong_topology(&self, wanted: &str) -> Error {
        let what = format!("this call needs {wanted}, which the communicator does not have");
        Error::argument(ErrorClass::Topology, self, Call::Topology, what)
    }
}
