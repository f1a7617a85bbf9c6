//! Ghost points from other ranks: along each axis the outermost layers travel to the neighbours on both sides.
//!
//! Receives are posted before the layers are even computed. Layers of constant z lie in one piece, so they are sent
//! from where they are and received where they belong; the others go through buffers. Where the grid is not divided
//! along an axis, both neighbours are the rank itself, and it sends messages to itself like to any other.

use super::boundary::Boundary;
use super::decomposition::Decomposition;
use super::layers::{copy_in, copy_out, layer_points};
use super::shape::Shape;
use rwmpi::{ANY_SOURCE, Buffer, Communicator, Request, Result, Scope, Source, Universe};
use std::array;

/// The ways along an axis, as indices: towards lower coordinates and towards higher ones.
const DOWN: usize = 0;
const UP: usize = 1;

/// The boundary of a box that is a rank's part of the whole grid.
pub struct Exchange<'a> {
    neighbours: Neighbours<'a>,
    /// Layers on their way out, by the way they travel.
    outgoing: [Buffer<f64>; 2],
    /// Layers on their way in, along x and y.
    incoming: [[Buffer<f64>; 2]; 2],
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
        let ranks = array::from_fn(|axis| decomposition.neighbours(world.rank(), axis));
        let [length, rows, planes] = largest.extents();
        let buffers = || array::from_fn(|_| universe.alloc(planes * length.max(rows)));
        let neighbours = Neighbours { world, ranks, any_source };
        Exchange { neighbours, outgoing: buffers(), incoming: [buffers(), buffers()] }
    }
}

impl Boundary for Exchange<'_> {
    fn is_divided(&self, axis: usize) -> bool {
        let Neighbours { world, ranks, .. } = &self.neighbours;
        ranks[axis] != [world.rank(); 2]
    }

    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        let Exchange { neighbours, outgoing, incoming: [along_x, along_y] } = self;
        let plane = shape.plane(0).len();
        let (below, rest) = grid.split_at_mut(plane);
        let (inside, above) = rest.split_at_mut(shape.inside().len());
        rwmpi::scope(|scope| {
            let requests = neighbours.receive(scope, 2, [above, below])?;
            neighbours.refresh_in_pieces(1, shape, inside, outgoing, along_y, |inside, outgoing| {
                neighbours.refresh_in_pieces(0, shape, inside, outgoing, along_x, |inside, _| {
                    compute(inside);
                    Ok(())
                })
            })?;
            neighbours.send(2, [&inside[..plane], &inside[inside.len() - plane..]])?;
            rwmpi::wait_all(requests).map(drop)
        })
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
    /// Exchanges the layers along x or y, by way of the buffers, after `before` has made them.
    fn refresh_in_pieces(
        &self,
        axis: usize,
        shape: Shape,
        inside: &mut [f64],
        outgoing: &mut [Buffer<f64>; 2],
        incoming: &mut [Buffer<f64>; 2],
        before: impl FnOnce(&mut [f64], &mut [Buffer<f64>; 2]) -> Result<()>,
    ) -> Result<()> {
        let count = layer_points(shape, axis);
        let [from_above, from_below] = incoming;
        rwmpi::scope(|scope| {
            let requests = self.receive(scope, axis, [&mut from_above[..count], &mut from_below[..count]])?;
            before(inside, outgoing)?;
            let [down, up] = outgoing;
            copy_out(shape, axis, inside, [down, up]);
            self.send(axis, [&down[..count], &up[..count]])?;
            rwmpi::wait_all(requests).map(drop)
        })?;
        copy_in(shape, axis, [from_below, from_above], inside);
        Ok(())
    }

    /// Posts the receives of what travels down and up along `axis` to here, in the order in which [`Neighbours::send`]
    /// sends.
    fn receive<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        axis: usize,
        [from_above, from_below]: [&'scope mut [f64]; 2],
    ) -> Result<[Request<'scope>; 2]> {
        let [before, after] = self.ranks[axis];
        let source = |rank: usize| if self.any_source { ANY_SOURCE } else { Source::Rank(rank) };
        Ok([
            self.world.irecv(scope, from_below, source(before), tag(axis, UP))?,
            self.world.irecv(scope, from_above, source(after), tag(axis, DOWN))?,
        ])
    }

    /// Sends layers down and up along `axis`.
    fn send(&self, axis: usize, [down, up]: [&[f64]; 2]) -> Result<()> {
        let [before, after] = self.ranks[axis];
        self.world.send(up, after, tag(axis, UP))?;
        self.world.send(down, before, tag(axis, DOWN))
    }
}

/// A tag for each axis and way, as the definition has them.
fn tag(axis: usize, way: usize) -> i32 {
    let direction = if way == UP { 1 } else { -1 };
    100 * (direction + 2 + 10 * (axis as i32 + 1))
}

#[cfg(test)]
mod tests {
    #[test]
    fn tags_tell_axes_and_ways_apart() {
        let tags: Vec<i32> = (0..3).flat_map(|axis| [super::tag(axis, 0), super::tag(axis, 1)]).collect();
        assert_eq!(tags, [1100, 1300, 2100, 2300, 3100, 3300]);
    }
}
