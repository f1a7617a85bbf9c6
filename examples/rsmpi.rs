//! What the examples of rsmpi show, in a function each: <https://github.com/rsmpi/rsmpi/tree/main/examples>.

use rwmpi::prelude::*;
use rwmpi::{Cartesian, Direction, Group};

fn main() -> rwmpi::Result<()> {
    let universe = rwmpi::init()?;
    let world = universe.world();
    point_to_point(world)?;
    derived_types(world)?;
    without_waiting(world)?;
    collectives(world)?;
    operations(world)?;
    parts_of_any_length(world)?;
    communicators(world)?;
    grids(world)?;
    println!("rank {} of {} is done after {:.3} s", world.rank(), world.size(), rwmpi::wtime());
    universe.finalize()
}

// ANCHOR: point_to_point
/// send_receive, any_process, matched_probe, ready_send: to the right, from the left.
pub fn point_to_point(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (received, status) = world.sendrecv_value(&vec![rank; 10], right, 0, ANY_SOURCE, 0)?;
    assert_eq!((received, status.source()), (vec![left; 10], Some(left)));
    let mut numbers = [rank, rank];
    world.sendrecv_replace(&mut numbers, right, 0, left, 0)?;
    assert_eq!(numbers, [left; 2]);
    Ok(())
}

/// complex_datatype, derive, structured, contiguous, trait_dyn_datatype.
pub fn derived_types(world: &Communicator) -> rwmpi::Result<()> {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Datatype)]
    struct Rectangle {
        name: [u8; 4],
        corner: (f64, f64),
        filled: bool,
        size: [u32; 2],
    }
    let sample = Rectangle { name: *b"rect", corner: (0.5, 1.5), filled: true, size: [3, 4] };
    let mut rectangles = if world.rank() == 0 { [sample; 5] } else { [Rectangle::default(); 5] };
    world.bcast(&mut rectangles, 0)?;
    assert_eq!(rectangles, [sample; 5]);
    Ok(())
}
// ANCHOR_END: point_to_point

// ANCHOR: without_waiting
/// immediate, immediate_multiple_requests, multiple_completion: many at once, waited for in any order.
pub fn without_waiting(world: &Communicator) -> rwmpi::Result<()> {
    let size = world.size();
    let (mut received, own) = (vec![usize::MAX; size], [world.rank()]);
    scope(|s| {
        let mut requests = Vec::new();
        for (rank, place) in received.chunks_mut(1).enumerate() {
            requests.push(world.irecv(s, place, rank, 0)?);
            requests.push(world.isend(s, &own, rank, 0)?);
        }
        while let Some((_, status)) = wait_any(&mut requests)? {
            assert!(status.source().is_none_or(|source| source < size));
        }
        Ok(())
    })?;
    assert!(received.into_iter().eq(0..size));
    let (barrier, sum) = (scope(|s| world.ibarrier(s)?.wait()), world.iallreduce_value(1, op::sum)?);
    barrier.and_then(|_| sum.wait()).map(|sum| assert_eq!(sum, size))
}
// ANCHOR_END: without_waiting

// ANCHOR: collectives
/// barrier, broadcast, gather, scatter, all_gather, all_to_all.
pub fn collectives(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    world.barrier()?;
    assert_eq!(world.bcast_value(1 << rank, 0)?, 1);
    let ranks: Vec<usize> = (0..size).collect();
    assert_eq!(world.gather_values(&rank, 0)?, (rank == 0).then(|| ranks.clone()));
    assert_eq!(world.scatter_values(&ranks, 0)?, rank);
    assert_eq!(world.allgather_values(&rank)?, ranks);
    assert_eq!(world.alltoall_values(&vec![rank; size])?, ranks);
    Ok(())
}

/// reduce, scan, user_operations.
pub fn operations(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    assert_eq!(world.reduce_value(rank, op::sum, 0)?, (rank == 0).then(|| (0..size).sum()));
    assert_eq!(world.allreduce_value(rank, op::max)?, size - 1);
    assert_eq!(world.allreduce_value(rank as u16, |a, b| a & b)?, 0);
    assert_eq!(world.scan_value(rank, op::sum)?, (0..=rank).sum());
    assert_eq!(world.exscan_value(rank, op::sum)?, (rank > 0).then(|| (0..rank).sum()));
    Ok(())
}

/// gather_varcount, scatter_varcount, all_gather_varcount, all_to_all_varcount: vectors say how long they are.
pub fn parts_of_any_length(world: &Communicator) -> rwmpi::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let parts: Vec<Vec<i32>> = (0..size).map(|rank| vec![rank as i32; rank]).collect();
    assert_eq!(world.allgather_values(&parts[rank])?, parts);
    assert_eq!(world.scatter_values(&parts, 0)?, parts[rank]);
    assert_eq!(world.alltoall_values(&parts)?, vec![parts[rank].clone(); size]);
    Ok(())
}
// ANCHOR_END: collectives

// ANCHOR: communicators
/// group, split, duplicate, comm_name, process_self.
pub fn communicators(world: &Communicator) -> rwmpi::Result<()> {
    let rank = world.rank();
    let parity = world.split(Some(rank as u32 % 2), 0)?.expect("everybody has a colour");
    assert_eq!(parity.rank(), rank / 2);
    let odd: Vec<usize> = (1..world.size()).step_by(2).collect();
    let group: Group = world.group().incl(&odd)?;
    let odd = world.create(&group)?;
    assert_eq!(odd.is_some(), rank % 2 == 1);
    let copy = world.dup()?;
    copy.set_name("copy");
    assert_eq!((copy.name().as_str(), copy.size()), ("copy", world.size()));
    Ok(())
}

/// cartesian.
pub fn grids(world: &Communicator) -> rwmpi::Result<()> {
    if world.size() >= 4
        && let Some(grid) = world.grid([2, 2], [false, true])?
    {
        let [x, y] = grid.place();
        let (column, row) = (grid.subgrid(&[true, false])?, grid.subgrid(&[false, true])?);
        assert_eq!((column.size(), column.rank(), row.size(), row.rank()), (2, x, 2, y));
        // The first dimension ends, the second one does not.
        assert_eq!(grid.neighbour(Direction::Up(0))?, (x == 0).then_some(grid.rank_at([1, y])?));
        assert_eq!(grid.neighbour(Direction::Up(1))?, Some(grid.rank_at([x, 1 - y])?));
    }
    let ring = world.create_cartesian(&Cartesian::new(&[world.size()], &[true])?)?.expect("there is room for all");
    let (left, right) = ring.shift(0, 1)?;
    let mut heard = [0];
    ring.sendrecv(&[ring.rank()], right, 0, &mut heard, left, 0)?;
    assert_eq!(ring.cartesian()?.coordinates(heard[0])?, [(ring.rank() + ring.size() - 1) % ring.size()]);
    Ok(())
}
// ANCHOR_END: communicators
