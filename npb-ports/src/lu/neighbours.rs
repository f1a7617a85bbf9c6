//! What a block tells its neighbours: faces before the residual, single lines during the sweeps.

use super::Sweep;
use super::diagonals::Rectangle;
use super::process_grid::{ProcessGrid, Side};
use crate::cfd::{Block, Field, GHOST};
use rwmpi::{ANY_SOURCE, Buffer, Communicator, PersistentReceive, Result, Source, Universe, op};

/// The other blocks, as the solver sees them.
pub trait Neighbours {
    /// Fills the ghosts of `field` along x and y, two points deep, with the neighbours' outermost points.
    fn exchange_faces(&mut self, field: &mut Field) -> Result<()>;
    /// A sweep begins.
    fn begin(&mut self, sweep: Sweep) -> Result<()>;
    /// Waits for the lines of `v` beside the block that a sweep needs before it can do plane `k`, which `rest` planes
    /// follow.
    fn before_plane(&mut self, sweep: Sweep, v: &mut Field, k: usize, rest: usize) -> Result<()>;
    /// Hands on the block's last lines after a sweep has done plane `k`.
    fn after_plane(&mut self, sweep: Sweep, v: &Field, k: usize) -> Result<()>;
    /// Sums numbers over all blocks.
    fn sum<const N: usize>(&self, numbers: [f64; N]) -> Result<[f64; N]>;
}

/// Neighbours that are reached by messages.
///
/// Whatever comes from a neighbour next, its receive is posted before the work that this process does meanwhile.
pub struct Messages<'a> {
    world: &'a Communicator,
    grid: ProcessGrid,
    extent: [usize; 3],
    interior: Rectangle,
    lines: Vec<Inlet>,
    faces: Vec<Inlet>,
    outgoing_line: Vec<f64>,
    outgoing_face: Buffer<f64>,
}

/// What comes from one side.
struct Inlet {
    side: Side,
    receive: PersistentReceive<f64>,
    posted: bool,
}

impl Inlet {
    /// Posts the receive, if that has not been done.
    fn expect(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.posted, true) { Ok(()) } else { self.receive.start() }
    }

    /// Waits for what has been expected: five numbers for each point.
    fn take(&mut self) -> Result<&[[f64; 5]]> {
        self.posted = false;
        self.receive.wait()?;
        Ok(self.receive.buffer()?.as_chunks().0)
    }
}

/// Posts the receives of what comes from these sides.
fn expect(inlets: &mut [Inlet], sides: [Side; 2]) -> Result<()> {
    inlets.iter_mut().filter(|inlet| sides.contains(&inlet.side)).try_for_each(Inlet::expect)
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

    /// Whether a layer on this side is one across x, not y.
    fn across_x(self) -> bool {
        matches!(self, Side::North | Side::South)
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
    ) -> Result<Self> {
        let interior = Rectangle::interior(block);
        let inlets = |any_source: bool, length: &dyn Fn(Side) -> usize| {
            let neighbours = Side::ALL.into_iter().filter_map(|side| Some((side, grid.neighbour(side)?)));
            let inlet = |(side, neighbour): (Side, usize)| {
                let source = if any_source { ANY_SOURCE } else { Source::Rank(neighbour) };
                let receive = world.persistent_receive(universe.alloc(length(side)), source, side.tag())?;
                Ok(Inlet { side, receive, posted: false })
            };
            neighbours.map(inlet).collect::<Result<Vec<_>>>()
        };
        let line = |side: Side| 5 * if side.across_x() { interior.j.len() } else { interior.i.len() };
        let face = |side: Side| 5 * face_points(block.extent, side, 0).count();
        let longest = Side::ALL.map(face).into_iter().max().unwrap_or(0);
        Ok(Messages {
            world,
            grid,
            extent: block.extent,
            lines: inlets(any_source, &line)?,
            faces: inlets(false, &face)?,
            outgoing_line: Vec::new(),
            outgoing_face: universe.alloc(longest),
            interior,
        })
    }

    fn send_face(&mut self, field: &Field, to: Side) -> Result<()> {
        let Some(destination) = self.grid.neighbour(to) else { return Ok(()) };
        let inside = match to {
            Side::North | Side::West => GHOST,
            Side::South => self.extent[0],
            Side::East => self.extent[1],
        };
        let mut length = 0;
        let places = self.outgoing_face.as_chunks_mut::<5>().0.iter_mut();
        for (numbers, point) in places.zip(face_points(self.extent, to, inside)) {
            *numbers = field.get(point);
            length += numbers.len();
        }
        self.world.send(&self.outgoing_face[..length], destination, to.opposite().tag())
    }
}

/// The line of a plane that is `beyond` the interior (or its outermost) on a side.
fn line(interior: &Rectangle, side: Side, beyond: bool, k: usize) -> impl Iterator<Item = [usize; 3]> + use<> {
    let Rectangle { i, j } = interior.clone();
    let outward = usize::from(beyond);
    let (fixed, along) = match side {
        Side::North => (i.start - outward, j),
        Side::South => (i.end - 1 + outward, j),
        Side::West => (j.start - outward, i),
        Side::East => (j.end - 1 + outward, i),
    };
    along.map(move |place| if side.across_x() { [fixed, place, k] } else { [place, fixed, k] })
}

/// The points, in a field's indices, of two layers across the axis of `side`, the first of which is `first`.
fn face_points(extent: [usize; 3], side: Side, first: usize) -> impl Iterator<Item = [usize; 3]> {
    let across_x = side.across_x();
    let along = if across_x { extent[1] } else { extent[0] };
    (GHOST..GHOST + extent[2]).flat_map(move |k| {
        (GHOST..GHOST + along).flat_map(move |place| {
            (first..first + GHOST).map(move |layer| if across_x { [layer, place, k] } else { [place, layer, k] })
        })
    })
}

impl Neighbours for Messages<'_> {
    fn exchange_faces(&mut self, field: &mut Field) -> Result<()> {
        self.faces.iter_mut().try_for_each(Inlet::expect)?;
        Side::ALL.into_iter().try_for_each(|to| self.send_face(field, to))?;
        for inlet in &mut self.faces {
            let outside = match inlet.side {
                Side::North | Side::West => 0,
                Side::South => GHOST + self.extent[0],
                Side::East => GHOST + self.extent[1],
            };
            let points = face_points(self.extent, inlet.side, outside);
            inlet.take()?.iter().zip(points).for_each(|(numbers, point)| field.set(point, *numbers));
        }
        Ok(())
    }

    fn begin(&mut self, sweep: Sweep) -> Result<()> {
        if sweep == Sweep::Upper {
            // No more lines come from where the lower sweep came from, but faces.
            expect(&mut self.faces, Sweep::Lower.comes_from())?;
        }
        expect(&mut self.lines, sweep.comes_from())
    }

    fn before_plane(&mut self, sweep: Sweep, v: &mut Field, k: usize, rest: usize) -> Result<()> {
        for inlet in self.lines.iter_mut().filter(|inlet| sweep.comes_from().contains(&inlet.side)) {
            let points = line(&self.interior, inlet.side, true, k);
            inlet.take()?.iter().zip(points).for_each(|(numbers, point)| v.set(point, *numbers));
            if rest > 0 {
                inlet.expect()?;
            }
        }
        if sweep == Sweep::Upper && rest <= 1 {
            // Faces follow the last lines, which are expected.
            expect(&mut self.faces, sweep.comes_from())?;
        }
        Ok(())
    }

    fn after_plane(&mut self, sweep: Sweep, v: &Field, k: usize) -> Result<()> {
        for from in sweep.comes_from() {
            let side = from.opposite();
            let Some(neighbour) = self.grid.neighbour(side) else { continue };
            let points = line(&self.interior, side, false, k);
            self.outgoing_line.clear();
            self.outgoing_line.extend(points.flat_map(|point| v.get(point)));
            self.world.send(&self.outgoing_line, neighbour, from.tag())?;
        }
        Ok(())
    }

    fn sum<const N: usize>(&self, mut numbers: [f64; N]) -> Result<[f64; N]> {
        self.world.allreduce_in_place(&mut numbers, op::sum)?;
        Ok(numbers)
    }
}
