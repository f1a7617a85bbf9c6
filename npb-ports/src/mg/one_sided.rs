//! Ghost points that the neighbours put there: along each axis each rank opens its memory to both neighbours, and puts
//! its outermost layers into theirs. Nobody receives anything.

use super::boundary::Boundary;
use super::decomposition::Decomposition;
use super::layers::{copy_in, copy_out, layer_points};
use super::shape::Shape;
use rwmpi::{Buffer, Communicator, Result, Universe, Window};
use std::array;
use std::ops::Range;

/// The sides of a box along an axis, as indices.
const BELOW: usize = 0;
const ABOVE: usize = 1;

/// The boundary of a box that is a rank's part of the whole grid.
pub struct OneSided {
    rank: usize,
    /// `[below, above]` along each axis.
    neighbours: [[usize; 2]; 3],
    /// A place for each axis and side.
    window: Window<'static, f64>,
    /// Points that each place has room for.
    room: usize,
    /// Layers on their way out, by where they go.
    outgoing: [Buffer<f64>; 2],
}

impl OneSided {
    /// For grids up to `largest`, this rank's part of the finest one. Collective.
    pub fn new(
        world: &Communicator,
        universe: &Universe,
        decomposition: &Decomposition,
        largest: Shape,
    ) -> Result<Self> {
        let [length, rows, planes] = largest.extents();
        let room = length.max(rows) * planes.max(rows);
        Ok(OneSided {
            rank: world.rank(),
            neighbours: array::from_fn(|axis| decomposition.neighbours(world.rank(), axis)),
            window: Window::allocate(world, 3 * 2 * room, 0.0)?,
            room,
            outgoing: array::from_fn(|_| universe.alloc(room)),
        })
    }

    /// Where a layer comes that belongs to the ghosts of that side.
    fn place(&self, axis: usize, side: usize, points: usize) -> Range<usize> {
        let start = (2 * axis + side) * self.room;
        start..start + points
    }

    /// Puts the layers that go down and up along `axis` into the neighbours' memory, and waits until they have put
    /// theirs here.
    fn exchange(&self, axis: usize, [down, up]: [&[f64]; 2]) -> Result<()> {
        let [below, above] = self.neighbours[axis];
        let others = if below == above { &self.neighbours[axis][..1] } else { &self.neighbours[axis] };
        let exposure = self.window.post(others)?;
        let access = self.window.start(others)?;
        // What goes down is the neighbour's from above.
        access.target(above)?.put(self.place(axis, BELOW, up.len()).start, up)?;
        access.target(below)?.put(self.place(axis, ABOVE, down.len()).start, down)?;
        access.complete()?;
        exposure.wait()
    }

    /// Along x or y, by way of buffers.
    fn refresh_in_pieces(&mut self, axis: usize, shape: Shape, inside: &mut [f64]) -> Result<()> {
        let points = layer_points(shape, axis);
        let [down, up] = &mut self.outgoing;
        copy_out(shape, axis, inside, [down, up]);
        let [down, up] = &self.outgoing;
        self.exchange(axis, [&down[..points], &up[..points]])?;
        let places = [BELOW, ABOVE].map(|side| self.place(axis, side, points));
        let arrived = self.window.lock_local()?;
        copy_in(shape, axis, places.map(|place| &arrived[place]), inside);
        Ok(())
    }
}

impl Boundary for OneSided {
    fn is_divided(&self, axis: usize) -> bool {
        self.neighbours[axis] != [self.rank; 2]
    }

    fn refresh(&mut self, shape: Shape, grid: &mut [f64], compute: impl FnOnce(&mut [f64])) -> Result<()> {
        const Z: usize = 2;
        let plane = shape.plane(0).len();
        let (below, rest) = grid.split_at_mut(plane);
        let (inside, above) = rest.split_at_mut(shape.inside().len());
        compute(inside);
        for axis in 0..Z {
            self.refresh_in_pieces(axis, shape, inside)?;
        }
        self.exchange(Z, [&inside[..plane], &inside[inside.len() - plane..]])?;
        let places = [BELOW, ABOVE].map(|side| self.place(Z, side, plane));
        let arrived = self.window.lock_local()?;
        for (ghosts, place) in [below, above].into_iter().zip(places) {
            ghosts.copy_from_slice(&arrived[place]);
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        self.window.free()
    }
}
