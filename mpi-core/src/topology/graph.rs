//! Graphs that every rank knows whole (MPI-5.0 section 8.5.3).

use super::Neighbours;
use crate::error::{Error, ErrorClass};
use crate::{Destination, Result, Source};

/// A graph over ranks 0, 1, …: who is a neighbour of whom. Edges have a direction, and may repeat.
#[doc = example!(1
    "// 0 beside 1 and 2, these beside 0."
    "let graph = rwmpi::Graph::new(&[2, 3, 4], &[1, 2, 0, 0])?;"
    "assert_eq!((graph.size(), graph.index(), graph.edges()), (3, &[2, 3, 4][..], &[1, 2, 0, 0][..]));"
    "assert_eq!(graph.neighbours(0)?, [1, 2]);"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each rank end in `edges`.
    index: Vec<usize>,
    edges: Vec<usize>,
}

impl Graph {
    /// The neighbours of rank `i` are `edges[index[i - 1]..index[i]]`.
    ///
    /// # Errors
    /// If `index` decreases or does not end at the length of `edges`, or an edge leads to no rank.
    pub fn new(index: &[usize], edges: &[usize]) -> Result<Self> {
        let refuse = |what: String| Err(Error::new(ErrorClass::Argument, what));
        if let Some(rank) = (1..index.len()).find(|&rank| index[rank] < index[rank - 1]) {
            return refuse(format!("the index of the graph falls from {} to {}", index[rank - 1], index[rank]));
        }
        let (end, len) = (index.last().copied().unwrap_or(0), edges.len());
        if end != len {
            return refuse(format!("the index of the graph ends at {end}, but there are {len} edges"));
        }
        if let Some(edge) = edges.iter().find(|&&edge| edge >= index.len()) {
            return refuse(format!("an edge of the graph leads to rank {edge}; it has {} ranks", index.len()));
        }
        Ok(Graph { index: index.to_vec(), edges: edges.to_vec() })
    }

    /// How many ranks it has.
    pub fn size(&self) -> usize {
        self.index.len()
    }

    /// Where each rank's neighbours end in [`Graph::edges`].
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    /// All edges, by the rank that they leave.
    pub fn edges(&self) -> &[usize] {
        &self.edges
    }

    /// The neighbours of a rank (MPI_Graph_neighbors).
    ///
    /// # Errors
    /// If the graph has no such rank.
    #[doc(alias = "MPI_Graph_neighbors")]
    pub fn neighbours(&self, rank: usize) -> Result<&[usize]> {
        if rank >= self.size() {
            let what = format!("rank {rank} is out of range; the graph has {} ranks, counted from 0", self.size());
            return Err(Error::new(ErrorClass::Rank, what));
        }
        let start = if rank == 0 { 0 } else { self.index[rank - 1] };
        Ok(&self.edges[start..self.index[rank]])
    }

    /// In neighbourhood collectives a rank both sends to and receives from its neighbours.
    pub(crate) fn both_ways(&self, rank: usize) -> Neighbours {
        let neighbours = self.neighbours(rank).unwrap_or_default();
        Neighbours {
            sources: neighbours.iter().map(|&rank| Source::Rank(rank)).collect(),
            destinations: neighbours.iter().map(|&rank| Destination::Rank(rank)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_finds_its_neighbours() {
        // The example of MPI-5.0 section 8.5.3.
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
        let expected: [&[usize]; 4] = [&[1, 3], &[0], &[3], &[0, 2]];
        for (rank, neighbours) in expected.into_iter().enumerate() {
            assert_eq!(graph.neighbours(rank).unwrap(), neighbours);
            assert_eq!(graph.both_ways(rank).sources.len(), neighbours.len());
        }
        assert_eq!(graph.neighbours(4).unwrap_err().class(), ErrorClass::Rank);
    }

    #[test]
    fn graphs_that_can_not_be_are_refused() {
        for (index, edges) in [(&[2, 1][..], &[0][..]), (&[1, 2], &[0]), (&[1, 2], &[0, 2]), (&[], &[0])] {
            assert_eq!(Graph::new(index, edges).unwrap_err().class(), ErrorClass::Argument);
        }
        assert_eq!(Graph::new(&[], &[]).unwrap().size(), 0);
    }
}
