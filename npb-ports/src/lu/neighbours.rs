//! What a block tells its neighbours: faces before the residual, single lines during the sweeps.

use super::Sweep;
use super::diagonals::Rectangle;
use super::process_grid::{ProcessGrid, Side};
use crate::cfd::{Block, Field, GHOST};
use rwmpi::{Buffer, Communicator, Result, Source, Universe, op};

/// The other blocks, as the solver sees them.
pub trait Neighbours {
    /// Fills the ghosts of `field` along x and y, two points deep, with the neighbours' outermost points.
    fn exchange_faces(&mut self, field: &mut Field) -> Result<()>;
    /// Waits for the lines of `v` beside the block that a sweep needs before it can do plane `k`.
    fn before_plane(&mut self, sweep: Sweep, v: &mut Field, k: usize) -> Result<()>;
    /// Hands on the block's last lines after a sweep has done plane `k`.
    fn after_plane(&mut self, sweep: Sweep, v: &Field, k: usize) -> Result<()>;
    /// Sums numbers over all blocks.
    fn sum<const N: usize>(&self, numbers: [f64; N]) -> Result<[f64; N]>;
}

/// Neighbours that are reached by messages.
pub struct Messages<'a> {
    world: &'a Communicator,
    grid: ProcessGrid,
    extent: [usize; 3],
    interior: Rectangle,
    any_source: bool,
    line: Vec<f64>,
    outgoing: Buffer<f64>,
    incoming: Buffer<f64>,
}

impl Side {
    fn opposite(self) -> Side {
        match self {
            Side::North => Side::South,
            Side::South => Side::North,
            Side::West => Side::East,
            Side::East => Side::West,
        }
    }

    /// Tag of messages that come from this side, as their receiver sees it.
    fn tag(self) -> i32 {
        match self {
            Side::South => 1,
            Side::North => 2,
            Side::East => 3,
            Side::West => 4,
        }
    }
}

impl<'a> Messages<'a> {
    /// For `block`, this rank's of `grid`. With `any_source`, the sweeps tell their neighbours apart by tags alone.
    pub fn new(
        world: &'a Communicator,
        universe: &Universe,
        grid: ProcessGrid,
        block: &Block,
        any_source: bool,
    ) -> Self {
        let face = 5 * GHOST * block.extent[0].max(block.extent[1]) * block.extent[2];
        let (outgoing, incoming) = (universe.alloc(face), universe.alloc(face));
        let interior = Rectangle::interior(block);
        Messages { world, grid, extent: block.extent, interior, any_source, line: Vec::new(), outgoing, incoming }
    }

    /// Sends the faces on side `to` and receives those from the opposite side.
    fn shift_faces(&mut self, field: &mut Field, to: Side) -> Result<()> {
        let from = to.opposite();
        let (source, destination) = (self.grid.neighbour(from), self.grid.neighbour(to));
        let last = self.extent[usize::from(matches!(to, Side::West | Side::East))];
        let (inside, outside) = match to {
            Side::South | Side::East => (last, 0),
            Side::North | Side::West => (GHOST, GHOST + last),
        };
        let face = |first| face_points(self.extent, to, first);
        let length = 5 * face(inside).count();
        if destination.is_some() {
            for (numbers, point) in self.outgoing.as_chunks_mut::<5>().0.iter_mut().zip(face(inside)) {
                *numbers = field.get(point);
            }
        }
        let Messages { world, outgoing, incoming, .. } = self;
        rwmpi::scope(|scope| {
            let request =
                source.map(|source| world.irecv(scope, &mut incoming[..length], source, from.tag())).transpose()?;
            if let Some(destination) = destination {
                world.send(&outgoing[..length], destination, from.tag())?;
            }
            request.map_or(Ok(()), |request| request.wait().map(drop))
        })?;
        if source.is_some() {
            for (numbers, point) in self.incoming.as_chunks::<5>().0.iter().zip(face_points(self.extent, to, outside)) {
                field.set(point, *numbers);
            }
        }
        Ok(())
    }

    /// The line of a plane that is `beyond` the interior (or its outermost) on a side.
    fn line(&self, side: Side, beyond: bool, k: usize) -> impl Iterator<Item = [usize; 3]> + use<> {
        let Rectangle { i, j } = self.interior.clone();
        let outward = usize::from(beyond);
        let (across_x, fixed, along) = match side {
            Side::North => (true, i.start - outward, j),
            Side::South => (true, i.end - 1 + outward, j),
            Side::West => (false, j.start - outward, i),
            Side::East => (false, j.end - 1 + outward, i),
        };
        along.map(move |place| if across_x { [fixed, place, k] } else { [place, fixed, k] })
    }
}

/// The points, in a field's indices, of two layers across the axis of `side`, the first of which is `first`.
fn face_points(extent: [usize; 3], side: Side, first: usize) -> impl Iterator<Item = [usize; 3]> {
    let across_x = matches!(side, Side::North | Side::South);
    let along = if across_x { extent[1] } else { extent[0] };
    (GHOST..GHOST + extent[2]).flat_map(move |k| {
        (GHOST..GHOST + along).flat_map(move |place| {
            (first..first + GHOST).map(move |layer| if across_x { [layer, place, k] } else { [place, layer, k] })
        })
    })
}

impl Neighbours for Messages<'_> {
    fn exchange_faces(&mut self, field: &mut Field) -> Result<()> {
        [Side::South, Side::North, Side::East, Side::West].into_iter().try_for_each(|to| self.shift_faces(field, to))
    }

    fn before_plane(&mut self, sweep: Sweep, v: &mut Field, k: usize) -> Result<()> {
        for side in sweep.comes_from() {
            let Some(neighbour) = self.grid.neighbour(side) else { continue };
            let source = if self.any_source { rwmpi::ANY_SOURCE } else { Source::Rank(neighbour) };
            let points = self.line(side, true, k);
            self.line.resize(5 * points.size_hint().0, 0.0);
            self.world.recv(&mut self.line, source, side.tag())?;
            for (numbers, point) in self.line.as_chunks::<5>().0.iter().zip(points) {
                v.set(point, *numbers);
            }
        }
        Ok(())
    }

    fn after_plane(&mut self, sweep: Sweep, v: &Field, k: usize) -> Result<()> {
        for from in sweep.comes_from() {
            let side = from.opposite();
            let Some(neighbour) = self.grid.neighbour(side) else { continue };
            let points = self.line(side, false, k);
            self.line.clear();
            self.line.extend(points.flat_map(|point| v.get(point)));
            self.world.send(&self.line, neighbour, from.tag())?;
        }
        Ok(())
    }

    fn sum<const N: usize>(&self, mut numbers: [f64; N]) -> Result<[f64; N]> {
        self.world.allreduce_in_place(&mut numbers, op::sum)?;
        Ok(numbers)
    }
}
