//! Grids and graphs: who is whose neighbour, and that messages along them arrive.

use rwmpi::{
    Cartesian, Destination, Direction, Edge, ErrorClass, Graph, Result, Source, Universe, balanced_dimensions,
};

use super::Check;
use super::communicators::members;

/// The checks of this suite.
pub const CHECKS: &[Check] = &[
    ("a_grid_shifts_data_along_its_dimensions", a_grid_shifts_data_along_its_dimensions),
    ("grids_fall_into_subgrids", grids_fall_into_subgrids),
    ("neighbours_on_a_grid_exchange_values", neighbours_on_a_grid_exchange_values),
    ("grids_may_leave_ranks_over", grids_may_leave_ranks_over),
    ("graphs_are_known_everywhere", graphs_are_known_everywhere),
    ("adjacent_edges_make_a_graph", adjacent_edges_make_a_graph),
    ("edges_reach_both_their_ends", edges_reach_both_their_ends),
];

fn a_grid_shifts_data_along_its_dimensions(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let mut dimensions = [0, 0];
    balanced_dimensions(world.size(), &mut dimensions)?;
    let grid = Cartesian::new(&dimensions, &[true, false])?;
    let torus = world.create_cartesian(&grid)?.expect("all ranks fit");
    assert_eq!(torus.cartesian()?.dimensions(), dimensions);
    let place = torus.cartesian()?.coordinates(torus.rank())?;
    for (dimension, displacement) in [(0, 1), (0, -2), (1, 1), (1, -1)] {
        let (source, destination) = torus.shift(dimension, displacement)?;
        let mut received = [-1i64; 2];
        let sent = [place[0] as i64, place[1] as i64];
        torus.sendrecv(&sent, destination, 0, &mut received, source, 0)?;
        let mut expected = [place[0] as i64, place[1] as i64];
        expected[dimension] -= displacement;
        expected[0] = expected[0].rem_euclid(dimensions[0] as i64);
        if !(0..dimensions[1] as i64).contains(&expected[1]) {
            expected = [-1; 2];
        }
        assert_eq!(received, expected);
    }
    // A copy has the same topology; one without has none.
    assert_eq!(torus.dup()?.topology(), torus.topology());
    assert_eq!(world.shift(0, 1).unwrap_err().class(), ErrorClass::Topology);
    assert_eq!(torus.graph().unwrap_err().class(), ErrorClass::Topology);
    let neighbours = torus.neighbours()?;
    let (below, above) = torus.shift(1, 1)?;
    assert_eq!(neighbours.sources[2..], [below, Source::from(above)]);
    Ok(())
}

fn grids_fall_into_subgrids(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let mut dimensions = [0, 0];
    balanced_dimensions(world.size(), &mut dimensions)?;
    let grid = world.create_cartesian(&Cartesian::new(&dimensions, &[false, true])?)?.expect("all ranks fit");
    let row = grid.subgrid(&[false, true])?;
    let start = grid.rank() / dimensions[1] * dimensions[1];
    assert_eq!(members(&row, universe)?, (start..start + dimensions[1]).collect::<Vec<_>>());
    assert_eq!((row.cartesian()?.dimensions(), row.cartesian()?.periodic()), (&dimensions[1..], &[true][..]));
    let alone = grid.subgrid(&[false, false])?;
    assert_eq!((alone.size(), alone.cartesian()?.dimensions().len()), (1, 0));
    assert_eq!(grid.subgrid(&[true]).err().map(|error| error.class()), Some(ErrorClass::Argument));
    Ok(())
}

fn neighbours_on_a_grid_exchange_values(universe: &Universe) -> Result<()> {
    let world = universe.world();
    for periodic in [[true, false], [false, true]] {
        let grid = world.grid([0, 0], periodic)?.expect("all ranks have a place");
        let (place, dimensions) = (grid.place(), grid.dimensions()?);
        assert_eq!((dimensions.iter().product(), grid.rank_at(place)?), (world.size(), grid.rank()));
        let heard =
            grid.exchange(|direction| format!("{} {direction:?} {}", grid.rank(), "x".repeat(place[0] * 40)))?;
        let expected = (0..2).flat_map(|axis| [Direction::Down(axis), Direction::Up(axis)]).filter_map(|direction| {
            let neighbour = grid.neighbour(direction).unwrap()?;
            let row = grid.cartesian().unwrap().coordinates(neighbour).unwrap()[0];
            Some((direction, format!("{neighbour} {:?} {}", direction.opposite(), "x".repeat(row * 40))))
        });
        assert_eq!(heard, expected.collect::<Vec<_>>());
        let plain = grid.exchange(|direction| (grid.rank(), direction.axis()))?;
        for (direction, (neighbour, axis)) in plain {
            assert_eq!((Some(neighbour), axis), (grid.neighbour(direction)?, direction.axis()));
        }
        assert!(grid.neighbour(Direction::Up(2)).is_err());
        assert!(grid.neighbour_alltoall_values(&[1]).is_err());
    }
    Ok(())
}

fn grids_may_leave_ranks_over(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let smaller = Cartesian::new(&[size.div_ceil(2)], &[false])?;
    assert_eq!(world.create_cartesian(&smaller)?.is_some(), rank < size.div_ceil(2));
    let point = world.create_cartesian(&Cartesian::new(&[], &[])?)?;
    assert_eq!(point.is_some(), rank == 0);
    let larger = Cartesian::new(&[size, 2], &[false, false])?;
    assert_eq!(world.create_cartesian(&larger).err().map(|error| error.class()), Some(ErrorClass::Argument));
    Ok(())
}

fn graphs_are_known_everywhere(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // A star: rank 0 knows everybody, everybody knows rank 0.
    let index: Vec<usize> = (0..size).map(|rank| size - 1 + rank).collect();
    let edges: Vec<usize> = (1..size).chain(std::iter::repeat_n(0, size - 1)).collect();
    let star = world.create_graph(&Graph::new(&index, &edges)?)?.expect("all ranks fit");
    let graph = star.graph()?;
    assert_eq!((graph.index(), graph.edges()), (&index[..], &edges[..]));
    let neighbours = graph.neighbours(rank)?;
    assert_eq!(neighbours.len(), if rank == 0 { size - 1 } else { 1 });
    for &neighbour in neighbours {
        star.send_value(&rank, neighbour, 0)?;
    }
    for &neighbour in neighbours {
        assert_eq!(star.recv_value::<usize>(neighbour, 0)?.0, neighbour);
    }
    let one = world.create_graph(&Graph::new(&[0], &[])?)?;
    assert_eq!(one.is_some(), rank == 0);
    Ok(())
}

fn adjacent_edges_make_a_graph(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (weights, none) = ([3, 4], None);
    let ring = world.create_distributed_graph_adjacent((&[left], Some(&[7])), (&[right, right], Some(&weights)))?;
    let graph = ring.distributed_graph()?;
    assert_eq!((graph.sources(), graph.source_weights()), (&[left][..], &[7][..]));
    assert_eq!((graph.destinations(), graph.destination_weights()), (&[right, right][..], &weights[..]));
    assert!(graph.weighted());
    let plain = world.create_distributed_graph_adjacent((&[left], none), (&[], none))?;
    assert!(!plain.distributed_graph()?.weighted());
    assert_eq!(plain.neighbours()?.sources, [Source::Rank(left)]);
    let refused = |sources: &[usize], weights: Option<&[i32]>| {
        let made = world.create_distributed_graph_adjacent((sources, weights), (&[], None));
        made.err().map(|error| error.class())
    };
    assert_eq!(refused(&[size], None), Some(ErrorClass::Rank));
    assert_eq!(refused(&[left], Some(&[-1])), Some(ErrorClass::Argument));
    assert_eq!(refused(&[left], Some(&[])), Some(ErrorClass::Argument));
    Ok(())
}

fn edges_reach_both_their_ends(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Rank r gives the edges that leave the next rank, to everybody.
    let source = (rank + 1) % size;
    let edges: Vec<Edge> = (0..size)
        .map(|destination| Edge { source, destination, weight: (source * 100 + destination) as i32 })
        .collect();
    let full = world.create_distributed_graph(&edges, true)?;
    let graph = full.distributed_graph()?;
    assert_eq!(graph.destinations(), (0..size).collect::<Vec<_>>());
    let weights: Vec<i32> = (0..size).map(|destination| (rank * 100 + destination) as i32).collect();
    assert_eq!(graph.destination_weights(), weights);
    // Edges come in the order of who gave them: rank 0 gave those of rank 1.
    let sources: Vec<usize> = (0..size).map(|giver| (giver + 1) % size).collect();
    assert_eq!(graph.sources(), sources);
    let weights: Vec<i32> = sources.iter().map(|source| (source * 100 + rank) as i32).collect();
    assert_eq!(graph.source_weights(), weights);
    assert_eq!(full.neighbours()?.destinations, (0..size).map(Destination::Rank).collect::<Vec<_>>());
    let plain = world.create_distributed_graph(&[], false)?;
    assert_eq!(plain.distributed_graph()?.sources().len(), 0);
    let wrong = Edge { source: 0, destination: size, weight: 0 };
    assert_eq!(
        world.create_distributed_graph(&[wrong], false).err().map(|error| error.class()),
        Some(ErrorClass::Rank)
    );
    Ok(())
}
