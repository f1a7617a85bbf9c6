//! Virtual topologies (MPI-5.0 chapter 8, but for the neighbourhood collectives).

use rwmpi_core::{
    Cartesian, Destination, Edge, Error, ErrorClass, Graph, Result, Source, Topology, balanced_dimensions,
};

use crate::argument::{Array, Out, OutArray, c_int};
use crate::error::Outcome;
use crate::info::hints;
use crate::interface::Abi;
use crate::number::{count, flags, not_negative, numbers, rank_number};
use crate::rank::rank;

/// Writes numbers to an array of the program's that has room for `room`.
fn fill(what: &str, array: OutArray<c_int>, room: usize, values: impl ExactSizeIterator<Item = usize>) -> Outcome {
    if values.len() > room {
        let what = format!("the array for {what} has room for {room} elements; {} are needed", values.len());
        return Err(Error::new(ErrorClass::Argument, what));
    }
    values.enumerate().try_for_each(|(place, value)| array.set(place, value as c_int))
}

fn grid_of(dimensions: c_int, extents: Array<c_int>, periodic: Array<c_int>) -> Result<Cartesian> {
    let len = not_negative("the number of dimensions", dimensions, ErrorClass::Dimensions)?;
    Cartesian::new(&numbers("extent", extents, len, ErrorClass::Dimensions)?, &flags(periodic, len)?)
}

/// MPI_Cart_create (MPI-5.0 section 8.5.1).
pub fn cart_create<A: Abi>(
    communicator: A::Handle,
    dimensions: c_int,
    extents: Array<c_int>,
    periodic: Array<c_int>,
    _reorder: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let grid = entry.core.create_cartesian(&grid_of(dimensions, extents, periodic)?)?;
    made.set(rank.add_made::<A>(grid, &entry)?)
}

/// MPI_Dims_create (MPI-5.0 section 8.5.2).
pub fn dims_create<A: Abi>(ranks: c_int, dimensions: c_int, extents: OutArray<c_int>) -> Outcome {
    rank()?;
    let ranks = not_negative("the number of nodes", ranks, ErrorClass::Dimensions)?;
    let len = not_negative("the number of dimensions", dimensions, ErrorClass::Dimensions)?;
    let given = |place| not_negative("extent", extents.get(place)?, ErrorClass::Dimensions);
    let mut chosen = (0..len).map(given).collect::<Result<Vec<usize>>>()?;
    balanced_dimensions(ranks, &mut chosen)?;
    fill("extents", extents, len, chosen.into_iter())
}

/// MPI_Topo_test (MPI-5.0 section 8.5.5).
pub fn topo_test<A: Abi>(communicator: A::Handle, status: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    status.set(match entry.core.topology() {
        Some(Topology::Cartesian(_)) => A::CART,
        Some(Topology::Graph(_)) => A::GRAPH,
        Some(Topology::Distributed(_)) => A::DIST_GRAPH,
        None => A::UNDEFINED,
    })
}

/// MPI_Cartdim_get (MPI-5.0 section 8.5.5).
pub fn cartdim_get<A: Abi>(communicator: A::Handle, dimensions: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    dimensions.set(entry.core.cartesian()?.dimensions().len() as c_int)
}

/// MPI_Cart_get (MPI-5.0 section 8.5.5).
pub fn cart_get<A: Abi>(
    communicator: A::Handle,
    room: c_int,
    extents: OutArray<c_int>,
    periodic: OutArray<c_int>,
    coordinates: OutArray<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let (grid, room) = (entry.core.cartesian()?, count("the room for dimensions", room)?);
    fill("extents", extents, room, grid.dimensions().iter().copied())?;
    fill("periods", periodic, room, grid.periodic().iter().map(|&ring| usize::from(ring)))?;
    fill("coordinates", coordinates, room, grid.coordinates(entry.core.rank())?.into_iter())
}

/// MPI_Cart_rank (MPI-5.0 section 8.5.5).
pub fn cart_rank<A: Abi>(communicator: A::Handle, coordinates: Array<c_int>, number: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let grid = entry.core.cartesian()?;
    let coordinates = coordinates.slice(grid.dimensions().len())?;
    let coordinates: Vec<i64> = coordinates.iter().copied().map(i64::from).collect();
    number.set(grid.rank_at(&coordinates)? as c_int)
}

/// MPI_Cart_coords (MPI-5.0 section 8.5.5).
pub fn cart_coords<A: Abi>(
    communicator: A::Handle,
    number: c_int,
    room: c_int,
    coordinates: OutArray<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let place = entry.core.cartesian()?.coordinates(rank_number("rank", number)?)?;
    fill("coordinates", coordinates, count("the room for coordinates", room)?, place.into_iter())
}

/// MPI_Cart_shift (MPI-5.0 section 8.5.6).
pub fn cart_shift<A: Abi>(
    communicator: A::Handle,
    dimension: c_int,
    displacement: c_int,
    source: Out<c_int>,
    destination: Out<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    entry.core.cartesian()?;
    let dimension = count("the dimension", dimension)?;
    let (from, to) = entry.core.shift(dimension, displacement.into())?;
    source.set(if let Source::Rank(rank) = from { rank as c_int } else { A::PROC_NULL })?;
    destination.set(if let Destination::Rank(rank) = to { rank as c_int } else { A::PROC_NULL })
}

/// MPI_Cart_sub (MPI-5.0 section 8.5.7).
pub fn cart_sub<A: Abi>(communicator: A::Handle, kept: Array<c_int>, made: Out<A::Handle>) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let kept = flags(kept, entry.core.cartesian()?.dimensions().len())?;
    made.set(rank.add_communicator::<A>(entry.core.subgrid(&kept)?, &entry)?)
}

/// The caller's rank in a topology of `ranks` ranks: ranks are never reordered.
fn place_in<A: Abi>(communicator: A::Handle, ranks: usize, number: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    if ranks > entry.core.size() {
        let what = format!("the topology has {ranks} ranks, but the communicator only {}", entry.core.size());
        return Err(Error::new(ErrorClass::Argument, what));
    }
    let place = entry.core.rank();
    number.set(if place < ranks { place as c_int } else { A::UNDEFINED })
}

/// MPI_Cart_map (MPI-5.0 section 8.5.8).
pub fn cart_map<A: Abi>(
    communicator: A::Handle,
    dimensions: c_int,
    extents: Array<c_int>,
    _periodic: Array<c_int>,
    number: Out<c_int>,
) -> Outcome {
    rank()?.any_communicator::<A>(communicator)?;
    // Which dimensions are rings does not matter here, and programs may pass none.
    let len = not_negative("the number of dimensions", dimensions, ErrorClass::Dimensions)?;
    let extents = numbers("extent", extents, len, ErrorClass::Dimensions)?;
    // Nobody has a place in a grid without places, as in MPICH: examples of rsmpi ask for one.
    let ranks = if extents.contains(&0) { 0 } else { Cartesian::new(&extents, &vec![false; len])?.size() };
    place_in::<A>(communicator, ranks, number)
}

fn graph_of(ranks: c_int, index: Array<c_int>, edges: Array<c_int>) -> Result<Graph> {
    let len = count("the number of nodes", ranks)?;
    let index = numbers("an entry of the index", index, len, ErrorClass::Argument)?;
    let edges = numbers("an edge", edges, index.last().copied().unwrap_or(0), ErrorClass::Argument)?;
    Graph::new(&index, &edges)
}

/// MPI_Graph_create (MPI-5.0 section 8.5.3).
pub fn graph_create<A: Abi>(
    communicator: A::Handle,
    ranks: c_int,
    index: Array<c_int>,
    edges: Array<c_int>,
    _reorder: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let graph = entry.core.create_graph(&graph_of(ranks, index, edges)?)?;
    made.set(rank.add_made::<A>(graph, &entry)?)
}

/// MPI_Graphdims_get (MPI-5.0 section 8.5.5).
pub fn graphdims_get<A: Abi>(communicator: A::Handle, ranks: Out<c_int>, edges: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let graph = entry.core.graph()?;
    ranks.set(graph.size() as c_int)?;
    edges.set(graph.edges().len() as c_int)
}

/// MPI_Graph_get (MPI-5.0 section 8.5.5).
pub fn graph_get<A: Abi>(
    communicator: A::Handle,
    index_room: c_int,
    edge_room: c_int,
    index: OutArray<c_int>,
    edges: OutArray<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let graph = entry.core.graph()?;
    fill("the index", index, count("the room for the index", index_room)?, graph.index().iter().copied())?;
    fill("edges", edges, count("the room for edges", edge_room)?, graph.edges().iter().copied())
}

/// MPI_Graph_neighbors_count (MPI-5.0 section 8.5.5).
pub fn graph_neighbors_count<A: Abi>(communicator: A::Handle, number: c_int, neighbours: Out<c_int>) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    neighbours.set(entry.core.graph()?.neighbours(rank_number("rank", number)?)?.len() as c_int)
}

/// MPI_Graph_neighbors (MPI-5.0 section 8.5.5).
pub fn graph_neighbors<A: Abi>(
    communicator: A::Handle,
    number: c_int,
    room: c_int,
    neighbours: OutArray<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let found = entry.core.graph()?.neighbours(rank_number("rank", number)?)?;
    fill("neighbours", neighbours, count("the room for neighbours", room)?, found.iter().copied())
}

/// MPI_Graph_map (MPI-5.0 section 8.5.8).
pub fn graph_map<A: Abi>(
    communicator: A::Handle,
    ranks: c_int,
    index: Array<c_int>,
    edges: Array<c_int>,
    number: Out<c_int>,
) -> Outcome {
    rank()?.any_communicator::<A>(communicator)?;
    place_in::<A>(communicator, graph_of(ranks, index, edges)?.size(), number)
}

/// The weights of `len` edges; none if the program says MPI_UNWEIGHTED.
fn weights_of<'a, A: Abi>(weights: Array<c_int>, len: usize) -> Result<Option<&'a [c_int]>> {
    let [unweighted, empty] = A::WEIGHTS;
    match () {
        () if weights.is(unweighted) => Ok(None),
        () if weights.is(empty) => {
            if len > 0 {
                let what = format!("MPI_WEIGHTS_EMPTY was given for {len} edges: it is for none");
                return Err(Error::new(ErrorClass::Argument, what));
            }
            Ok(Some(&[]))
        }
        () => Ok(Some(weights.slice(len)?)),
    }
}

/// MPI_Dist_graph_create_adjacent (MPI-5.0 section 8.5.4).
pub fn dist_graph_create_adjacent<A: Abi>(
    communicator: A::Handle,
    incoming: c_int,
    sources: Array<c_int>,
    source_weights: Array<c_int>,
    outgoing: c_int,
    destinations: Array<c_int>,
    destination_weights: Array<c_int>,
    info: A::Handle,
    _reorder: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let incoming = count("the number of incoming edges", incoming)?;
    let outgoing = count("the number of outgoing edges", outgoing)?;
    let sources = numbers("source", sources, incoming, ErrorClass::Rank)?;
    let destinations = numbers("destination", destinations, outgoing, ErrorClass::Rank)?;
    hints::<A>(info)?;
    let graph = entry.core.create_distributed_graph_adjacent(
        (&sources, weights_of::<A>(source_weights, incoming)?),
        (&destinations, weights_of::<A>(destination_weights, outgoing)?),
    )?;
    made.set(rank.add_communicator::<A>(graph, &entry)?)
}

/// MPI_Dist_graph_create (MPI-5.0 section 8.5.4).
pub fn dist_graph_create<A: Abi>(
    communicator: A::Handle,
    len: c_int,
    sources: Array<c_int>,
    degrees: Array<c_int>,
    destinations: Array<c_int>,
    weights: Array<c_int>,
    info: A::Handle,
    _reorder: c_int,
    made: Out<A::Handle>,
) -> Outcome {
    let rank = rank()?;
    let entry = rank.parent::<A>(communicator, made)?;
    let len = count("the number of sources", len)?;
    let sources = numbers("source", sources, len, ErrorClass::Rank)?;
    let degrees = numbers("degree", degrees, len, ErrorClass::Argument)?;
    let destinations = numbers("destination", destinations, degrees.iter().sum(), ErrorClass::Rank)?;
    let weights = weights_of::<A>(weights, destinations.len())?;
    hints::<A>(info)?;
    let sources = sources.iter().zip(degrees).flat_map(|(&source, degree)| std::iter::repeat_n(source, degree));
    let edges: Vec<Edge> = sources
        .zip(destinations)
        .enumerate()
        .map(|(place, (source, destination))| Edge {
            source,
            destination,
            weight: weights.map_or(0, |weights| weights[place]),
        })
        .collect();
    let graph = entry.core.create_distributed_graph(&edges, weights.is_some())?;
    made.set(rank.add_communicator::<A>(graph, &entry)?)
}

/// MPI_Dist_graph_neighbors_count (MPI-5.0 section 8.5.5).
pub fn dist_graph_neighbors_count<A: Abi>(
    communicator: A::Handle,
    incoming: Out<c_int>,
    outgoing: Out<c_int>,
    weighted: Out<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let graph = entry.core.distributed_graph()?;
    incoming.set(graph.sources().len() as c_int)?;
    outgoing.set(graph.destinations().len() as c_int)?;
    weighted.set(graph.weighted().into())
}

/// Ranks and weights of neighbours, as far as the program has room.
fn neighbours<A: Abi>(
    room: usize,
    found: (&[usize], &[i32]),
    ranks: OutArray<c_int>,
    weights: OutArray<c_int>,
) -> Outcome {
    let (found, found_weights) = found;
    fill("neighbours", ranks, room, found.iter().take(room).copied())?;
    if !weights.is(A::WEIGHTS[0]) {
        found_weights.iter().take(room).enumerate().try_for_each(|(place, &weight)| weights.set(place, weight))?;
    }
    Ok(())
}

/// MPI_Dist_graph_neighbors (MPI-5.0 section 8.5.5).
pub fn dist_graph_neighbors<A: Abi>(
    communicator: A::Handle,
    incoming: c_int,
    sources: OutArray<c_int>,
    source_weights: OutArray<c_int>,
    outgoing: c_int,
    destinations: OutArray<c_int>,
    destination_weights: OutArray<c_int>,
) -> Outcome {
    let entry = rank()?.any_communicator::<A>(communicator)?;
    let graph = entry.core.distributed_graph()?;
    let incoming = count("the room for sources", incoming)?;
    neighbours::<A>(incoming, (graph.sources(), graph.source_weights()), sources, source_weights)?;
    let outgoing = count("the room for destinations", outgoing)?;
    neighbours::<A>(outgoing, (graph.destinations(), graph.destination_weights()), destinations, destination_weights)
}
