//! Process topologies (MPI-5.0 chapter 8): who is whose neighbour.
//!
//! A topology is a value that a communicator carries. Ranks are never reordered: on one node every place is as good as
//! any other.

mod cartesian;
mod distributed;
mod graph;

pub use cartesian::{Cartesian, balanced_dimensions};
pub use distributed::{DistributedGraph, Edge};
pub use graph::Graph;

use crate::{Destination, Source};

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
