//! Graphs of which every rank knows its own edges (MPI-5.0 section 8.5.4).

use super::Neighbours;
use crate::{Destination, Source};

/// An edge as its origin names it: from one rank to another.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistributedGraph {
    pub(super) sources: Vec<usize>,
    pub(super) source_weights: Vec<i32>,
    pub(super) destinations: Vec<usize>,
    pub(super) destination_weights: Vec<i32>,
    pub(super) weighted: bool,
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

    pub(super) fn neighbours(&self) -> Neighbours {
        Neighbours {
            sources: self.sources.iter().map(|&rank| Source::Rank(rank)).collect(),
            destinations: self.destinations.iter().map(|&rank| Destination::Rank(rank)).collect(),
        }
    }
}
