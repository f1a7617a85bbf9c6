//! Making communicators with topologies (MPI-5.0 section 8.5). All are collective over the old communicator.

use crate::activity::Call;
use crate::error::{Error, ErrorClass};
use crate::topology::{Cartesian, DistributedGraph, Edge, Graph, Topology};
use crate::{Communicator, Parts, Result};

impl Communicator {
    /// The first ranks of this communicator as a grid; `None` for those left over (MPI_Cart_create).
    ///
    /// # Errors
    /// If the grid has more ranks than this communicator, or this is an intercommunicator.
    #[doc = example!(4
        "let grid = world.create_cartesian(&rwmpi::Cartesian::new(&[2, 2], &[true, false])?)?.expect(\"four ranks\");"
        "assert_eq!(grid.cartesian()?.coordinates(rank)?, [rank / 2, rank % 2]);"
    )]
    #[doc(alias = "MPI_Cart_create")]
    pub fn create_cartesian(&self, grid: &Cartesian) -> Result<Option<Communicator>> {
        self.check_topology_fits(grid.size(), "grid")?;
        self.with_topology(grid.size(), Topology::Cartesian(grid.clone()))
    }

    /// The first ranks of this communicator as a graph; `None` for those left over (MPI_Graph_create).
    ///
    /// # Errors
    /// If the graph has more ranks than this communicator, or this is an intercommunicator.
    #[doc = example!(3
        "let star = world.create_graph(&rwmpi::Graph::new(&[2, 3, 4], &[1, 2, 0, 0])?)?.expect(\"it is for all\");"
        "assert_eq!(star.graph()?.neighbours(star.rank())?.len(), if rank == 0 { 2 } else { 1 });"
    )]
    #[doc(alias = "MPI_Graph_create")]
    pub fn create_graph(&self, graph: &Graph) -> Result<Option<Communicator>> {
        self.check_topology_fits(graph.size(), "graph")?;
        self.with_topology(graph.size(), Topology::Graph(graph.clone()))
    }

    /// A communicator of the subgrid of the dimensions `kept` in which the caller lies (MPI_Cart_sub).
    ///
    /// # Errors
    /// If this communicator has no grid, or there are not as many flags as dimensions.
    #[doc = example!(4
        "let grid = world.grid([2, 2], [false; 2])?.expect(\"four ranks\");"
        "let row = grid.subgrid(&[false, true])?;"
        "assert_eq!((row.rank(), row.size()), (rank % 2, 2));"
    )]
    #[doc(alias = "MPI_Cart_sub")]
    pub fn subgrid(&self, kept: &[bool]) -> Result<Communicator> {
        let (which, number, subgrid) = self.cartesian()?.subgrid(self.rank(), kept)?;
        self.split_with_topology(which as u32, number as i32, Topology::Cartesian(subgrid))
    }

    /// The same ranks with a distributed graph, each rank giving the edges into and out of itself
    /// (MPI_Dist_graph_create_adjacent). Weights: one for each edge, or (on all ranks) none.
    ///
    /// # Errors
    /// If an edge leads nowhere, weights are negative or not as many as edges, or this is an intercommunicator.
    #[doc = example!(2
        "// Each names those whom it hears and those who hear it."
        "let other = [1 - rank];"
        "let ring = world.create_distributed_graph_adjacent((&other, None), (&other, Some(&[3])))?;"
        "assert_eq!(ring.distributed_graph()?.destinations(), other);"
    )]
    #[doc(alias = "MPI_Dist_graph_create_adjacent")]
    pub fn create_distributed_graph_adjacent(
        &self,
        sources: (&[usize], Option<&[i32]>),
        destinations: (&[usize], Option<&[i32]>),
    ) -> Result<Communicator> {
        self.check_topology_fits(0, "graph")?;
        for (ranks, weights) in [sources, destinations] {
            ranks.iter().try_for_each(|&rank| self.check_node(rank))?;
            if let Some(weights) = weights {
                if weights.len() != ranks.len() {
                    let what = format!("{} weights were given for {} edges", weights.len(), ranks.len());
                    return Err(self.refuse(ErrorClass::Argument, what));
                }
                weights.iter().try_for_each(|&weight| self.check_weight(weight))?;
            }
        }
        let graph = DistributedGraph {
            sources: sources.0.to_vec(),
            source_weights: sources.1.unwrap_or_default().to_vec(),
            destinations: destinations.0.to_vec(),
            destination_weights: destinations.1.unwrap_or_default().to_vec(),
            weighted: sources.1.is_some() || destinations.1.is_some(),
        };
        self.with_graph(graph)
    }

    /// The same ranks with a distributed graph, each rank giving any edges (MPI_Dist_graph_create). `weighted` is the
    /// same everywhere; without it, weights are ignored. A rank's neighbours come in the order of the ranks that gave
    /// the edges.
    ///
    /// # Errors
    /// If an edge leads nowhere, a weight is negative, or this is an intercommunicator.
    #[doc = example!(2
        "// Rank 0 knows all edges."
        "let edges = [rwmpi::Edge { source: 0, destination: 1, weight: 3 }];"
        "let graph = world.create_distributed_graph(if rank == 0 { &edges } else { &[] }, true)?;"
        "assert_eq!(graph.distributed_graph()?.sources().len(), rank);"
    )]
    #[doc(alias = "MPI_Dist_graph_create")]
    pub fn create_distributed_graph(&self, edges: &[Edge], weighted: bool) -> Result<Communicator> {
        self.check_topology_fits(0, "graph")?;
        for edge in edges {
            self.check_node(edge.source)?;
            self.check_node(edge.destination)?;
            if weighted {
                self.check_weight(edge.weight)?;
            }
        }
        let mut graph = DistributedGraph { weighted, ..DistributedGraph::default() };
        let outgoing = self.deliver(edges, |edge| (edge.source, [edge.destination as i64, i64::from(edge.weight)]))?;
        let incoming = self.deliver(edges, |edge| (edge.destination, [edge.source as i64, i64::from(edge.weight)]))?;
        for [destination, weight] in outgoing {
            graph.destinations.push(destination as usize);
            graph.destination_weights.extend(weighted.then_some(weight as i32));
        }
        for [source, weight] in incoming {
            graph.sources.push(source as usize);
            graph.source_weights.extend(weighted.then_some(weight as i32));
        }
        self.with_graph(graph)
    }

    /// Sends of each edge a record to a rank; gives the records for this rank, in the order of their senders.
    fn deliver(&self, edges: &[Edge], record: impl Fn(&Edge) -> (usize, [i64; 2])) -> Result<Vec<[i64; 2]>> {
        let starts = |counts: &[usize]| -> Vec<usize> {
            counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect()
        };
        let mut records: Vec<(usize, [i64; 2])> = edges.iter().map(record).collect();
        records.sort_by_key(|&(rank, _)| rank);
        let mut sent = vec![0usize; self.size()];
        records.iter().for_each(|&(rank, _)| sent[rank] += 1);
        let mut received = vec![0usize; self.size()];
        self.alltoall(&sent, &mut received)?;
        let mut arrived = vec![[0; 2]; received.iter().sum()];
        let records: Vec<[i64; 2]> = records.into_iter().map(|(_, record)| record).collect();
        let (sent_starts, received_starts) = (starts(&sent), starts(&received));
        let sent = Parts { counts: &sent, starts: &sent_starts };
        let received = Parts { counts: &received, starts: &received_starts };
        self.alltoallv(&records, sent, &mut arrived, received)?;
        Ok(arrived)
    }

    fn with_graph(&self, graph: DistributedGraph) -> Result<Communicator> {
        let made = self.with_topology(self.size(), Topology::Distributed(graph))?;
        Ok(made.expect("all ranks belong to a distributed graph"))
    }

    fn check_topology_fits(&self, ranks: usize, what: &str) -> Result<()> {
        self.check_intra()?;
        if ranks > self.size() {
            let what = format!("the {what} has {ranks} ranks, but the communicator only {}", self.size());
            return Err(self.refuse(ErrorClass::Argument, what));
        }
        Ok(())
    }

    fn check_node(&self, rank: usize) -> Result<()> {
        if rank >= self.size() {
            let what = format!("an edge names rank {rank}; the ranks are 0 to {}", self.size() - 1);
            return Err(self.refuse(ErrorClass::Rank, what));
        }
        Ok(())
    }

    fn check_weight(&self, weight: i32) -> Result<()> {
        if weight < 0 {
            return Err(self.refuse(ErrorClass::Argument, format!("an edge has the negative weight {weight}")));
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, class: ErrorClass, what: String) -> Error {
        Error::argument(class, self, Call::Topology, what)
    }
}
