//! Graphs of which every rank knows its own edges (MPI-5.0 section 8.5.4).

use super::Neighbours;
use crate::{Destination, Source};

/// An edge as its origin names it: from one rank to another.
#[doc = example!(2
    "let there = rwmpi::Edge { source: 0, destination: 1, weight: 1 };"
    "let back = rwmpi::Edge { source: 1, destination: 0, ..there };"
    "let known = if rank == 0 { vec![there, back] } else { vec![] };"
    "let ring = world.create_distributed_graph(&known, false)?;"
    "assert_eq!(ring.distributed_graph()?.destinations(), [1 - rank]);"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rank that it leaves.
    pub source: usize,
    /// The rank that it leads to.
    pub destination: usize,
    /// How much it will be used, if edges have weights.
    pub weight: i32,
}

/// The edges into and out of one rank.
#[doc = example!(2
    "let other = [1 - rank];"
    "let ring = world.create_distributed_graph_adjacent((&other, Some(&[1])), (&other, Some(&[3])))?;"
    "let own = ring.distributed_graph()?;"
    "assert_eq!((own.sources(), own.source_weights()), (&other[..], &[1][..]));"
    "assert_eq!((own.destinations(), own.destination_weights()), (&other[..], &[3][..]));"
    "assert!(own.weighted());"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistributedGraph {
    pub(crate) sources: Vec<usize>,
    pub(crate) source_weights: Vec<i32>,
    pub(crate) destinations: Vec<usize>,
    pub(crate) destination_weights: Vec<i32>,
    pub(crate) weighted: bool,
}

impl DistributedGraph {
    /// The ranks that edges come from.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// The weights of these edges; empty unless [`DistributedGraph::weighted`].
    pub fn source_weights(&self) -> &[i32] {
        &self.source_weights
    }

    /// The ranks that edges lead to.
    pub fn destinations(&self) -> &[usize] {
        &self.destinations
    }

    /// The weights of these edges; empty unless [`DistributedGraph::weighted`].
    pub fn destination_weights(&self) -> &[i32] {
        &self.destination_weights
    }

    /// Whether edges have weights.
    pub fn weighted(&self) -> bool {
        self.weighted
    }

    pub(crate) fn neighbours(&self) -> Neighbours {
        Neighbours {
            sources: self.sources.iter().map(|&rank| Source::Rank(rank)).collect(),
            destinations: self.destinations.iter().map(|&rank| Destination::Rank(rank)).collect(),
        }
    }
}
