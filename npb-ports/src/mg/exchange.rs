//! Ghost points from other ranks: along each axis the outermost layers travel to the neighbours on both sides.
//!
//! Receives are posted before anything is sent. Layers of constant z lie in one piece, so they are sent from where they are
//! and received where they belong; the others go through buffers. Where the grid is not divided along an axis, both
//! neighbours are the rank itself, and it sends messages to itself like to any other.

use super::boundary::Boundary;
use super::decomposition::Decomposition;
use super::shape::Shape;
use rwmpi::{ANY_SOURCE, Buffer, Communicator, Result, Source, Universe};

/// The ways along an axis, as indices: towards lower coordinates and towards higher ones.
const DOWN: usize = 0;
const UP: usize = 1;

/// The boundary of a box that is a rank's part of the whole grid.
pub struct Exchange<'a> {
    neighbours: Neighbours<'a>,
    /// Layers on their way out, and in, by the way they travel.
    outgoing: [Buffer<f64>; 2],
    incoming: [Buffer<f64>; 2],
}

impl<'a> Exchange<'a> {
    /// For grids up to `largest`, this rank's part of the finest one.
    pub fn new(
        world: &'a Communicator,
        universe: &Universe,
        decomposition: &Decomposition,
        largest: Shape,
        any_source: bool,
    ) -> Self {
        let ranks = std::array::from_fn(|axis| decomposition.neighbours(world.rank(), axis));
        let [length, rows, planes] = largest.extents();
        let buffer = || universe.alloc(planes * length.max(rows));
        let neighbours = Neighbours { world, ranks, any_source };
        Exchange { neighbours, outgoing: [buffer(), buffer()], incoming: [buffer(), buffer()] }
    }

    /// Exchanges the layers along x or y, by way of the buffers.
    fn refresh_in_pieces(&mut self, axis: usize, shape: Shape, grid: &mut [f64]) -> Result<()> {
        let last = shape.interior[axis];
        let [down, up] = &mut self.outgoing;
        let count = copy_out(shape, axis, 1, grid, down);
        copy_out(shape, axis, last, grid, up);
        let [from_above, from_below] = &mut self.incoming;
        let incoming = [&mut from_above[..count], &mut from_below[..count]];
        self.neighbours.swap(axis, [&down[..count], &up[..count]], incoming)?;
        copy_in(shape, axis, last + 1, from_above, grid);
        copy_in(shape, axis, 0, from_below, grid);
        Ok(())
    }

    /// Exchanges the layers along z, from place to place.
    fn refresh_planes(&mut self, shape: Shape, grid: &mut [f64]) -> Result<()> {
        let plane = shape.plane(0).len();
        let (from_below, rest) = grid.split_at_mut(plane);
        let (inside, from_above) = rest.split_at_mut(shape.interior[2] * plane);
        let outgoing = [&inside[..plane], &inside[inside.len() - plane..]];
        self.neighbours.swap(2, outgoing, [from_above, from_below])
    }
}

impl Boundary for Exchange<'_> {
    fn refresh(&mut self, shape: Shape, grid: &mut [f64]) -> Result<()> {
        self.refresh_in_pieces(0, shape, grid)?;
        self.refresh_in_pieces(1, shape, grid)?;
        self.refresh_planes(shape, grid)
    }
}

/// Whom to exchange layers with.
struct Neighbours<'a> {
    world: &'a Communicator,
    /// `[before, after]` along each axis.
    ranks: [[usize; 2]; 3],
    any_source: bool,
}

impl Neighbours<'_> {
    /// Sends `outgoing` down and up along `axis`, and receives in `incoming` what travels down and up to here.
    fn swap(&self, axis: usize, outgoing: [&[f64]; 2], incoming: [&mut [f64]; 2]) -> Result<()> {
        let [before, after] = self.ranks[axis];
        let source = |rank: usize| if self.any_source { ANY_SOURCE } else { Source::Rank(rank) };
        let [from_above, from_below] = incoming;
        rwmpi::scope(|scope| {
            let going_down = self.world.irecv(scope, from_above, source(after), tag(axis, DOWN))?;
            let going_up = self.world.irecv(scope, from_below, source(before), tag(axis, UP))?;
            self.world.send(outgoing[UP], after, tag(axis, UP))?;
            self.world.send(outgoing[DOWN], before, tag(axis, DOWN))?;
            going_down.wait()?;
            going_up.wait()?;
            Ok(())
        })
    }
}

/// A tag for each axis and way, as the definition has them.
fn tag(axis: usize, way: usize) -> i32 {
    let direction = if way == UP { 1 } else { -1 };
    100 * (direction + 2 + 10 * (axis as i32 + 1))
}

/// Copies the layer `index` along x or y to `buffer`; returns how many points it has. The ghosts of a layer belong to it
/// along the axes that were done before.
fn copy_out(shape: Shape, axis: usize, index: usize, grid: &[f64], buffer: &mut [f64]) -> usize {
    let [length, _, _] = shape.extents();
    let [_, rows, planes] = shape.interior;
    if axis == 0 {
        let points = shape.interior_rows().map(|(y, z)| grid[shape.row(y, z)][index]);
        buffer.iter_mut().zip(points).for_each(|(place, point)| *place = point);
        rows * planes
    } else {
        let pieces = buffer.chunks_exact_mut(length).zip(1..=planes);
        pieces.for_each(|(piece, z)| piece.copy_from_slice(&grid[shape.row(index, z)]));
        length * planes
    }
}

/// Copies `buffer` to the layer `index` along x or y.
fn copy_in(shape: Shape, axis: usize, index: usize, buffer: &[f64], grid: &mut [f64]) {
    let [length, _, _] = shape.extents();
    if axis == 0 {
        for ((y, z), point) in shape.interior_rows().zip(buffer) {
            grid[shape.row(y, z)][index] = *point;
        }
    } else {
        for (piece, z) in buffer.chunks_exact(length).zip(1..=shape.interior[2]) {
            grid[shape.row(index, z)].copy_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, copy_in, copy_out};

    #[test]
    fn layers_are_put_back_where_they_came_from() {
        let shape = Shape { interior: [2, 3, 4] };
        let grid: Vec<f64> = (0..shape.points()).map(|point| point as f64).collect();
        for (axis, points) in [(0, 3 * 4), (1, 4 * 4)] {
            let (mut copy, mut buffer) = (vec![-1.0; grid.len()], vec![0.0; 64]);
            assert_eq!(copy_out(shape, axis, 1, &grid, &mut buffer), points);
            copy_in(shape, axis, 1, &buffer, &mut copy);
            let touched = copy.iter().zip(&grid).filter(|(copy, original)| copy == original);
            assert_eq!(touched.count(), points);
        }
    }

    #[test]
    fn tags_tell_axes_and_ways_apart() {
        let tags: Vec<i32> = (0..3).flat_map(|axis| [super::tag(axis, 0), super::tag(axis, 1)]).collect();
        assert_eq!(tags, [1100, 1300, 2100, 2300, 3100, 3300]);
    }
}
