//! The topology that a communicator carries: who is whose neighbour on it.

use super::Communicator;
use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::topology::{Cartesian, DistributedGraph, Graph, Neighbours, Topology};
use crate::{Destination, Result, Source};

impl Communicator {
    /// Its topology, if it was made with one (MPI_Topo_test).
    #[doc = example!(2
        "let ring = world.create_cartesian(&rwmpi::Cartesian::new(&[2], &[true])?)?.expect(\"there is room\");"
        "assert!(matches!(ring.topology(), Some(rwmpi::Topology::Cartesian(_))));"
        "assert_eq!((ring.cartesian()?.size(), ring.graph().is_err()), (2, true));"
        "let (from, to) = ring.shift(0, 1)?;"
        "assert_eq!((from.rank(), to.rank()), (Some(1 - rank), Some(1 - rank)));"
        "assert_eq!(ring.neighbours()?.sources.len(), 2);"
    )]
    #[doc(alias = "MPI_Topo_test")]
    pub fn topology(&self) -> Option<&Topology> {
        self.shared.topology.as_ref()
    }

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
