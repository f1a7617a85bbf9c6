//! The three-dimensional transform: three passes of one-dimensional ones, with exchanges between processes in between.
//!
//! The array has three layouts on a process, each with x running fastest (counts are the process's own; parts come from
//! or go to the processes of a group, in their order):
//! - *space*: parts of x, then y, z, x: whole lines along x. Where no process shares x, that is: y, z, x.
//! - *middle*: y, z, x: whole lines along y.
//! - *waves*: y, z, x: whole lines along z. An exchange delivers it as parts of z, then y, z, x.
//!
//! They are such that an exchange needs no packing: what goes to a process is contiguous.

use super::evolution::Evolution;
use super::fft::{Block, Plan};
use super::lines::{Along, Direction, Lines, load, store};
use super::process_grid::{AsArray, Groups, ProcessGrid};
use crate::lanes::LANES;
use num_complex::Complex64;
use rwmpi::Result;

/// A process's part of the array, and what it needs to transform it.
pub struct Transform<B> {
    passes: Passes,
    groups: Groups,
    /// The array in space; in between, any layout.
    space: B,
    /// Where an exchange puts its results.
    spare: B,
}

/// The transforms of lines, and room for them.
struct Passes {
    layout: Layout,
    plans: [Plan; 3],
    /// A plane across z: near enough to memory's fast levels to be transformed twice, and with rows that don't compete
    /// for the same places in caches.
    plane: Vec<Complex64>,
    block: Block,
}

/// Sizes of a process's part of the array.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Of the whole array.
    pub extent: [usize; 3],
    /// This process among the others.
    pub grid: ProcessGrid,
    /// Lines along x that a process has of each plane across z, in space.
    pub space_y: usize,
    /// Points along x, in the middle and of waves.
    pub x: usize,
    /// Points along y, of waves.
    pub waves_y: usize,
    /// Planes across z, in space and in the middle.
    pub z: usize,
}

impl Layout {
    /// The part of the process that `grid` says.
    pub fn new(extent: [usize; 3], grid: ProcessGrid) -> Self {
        let [nx, ny, nz] = extent;
        Layout { extent, grid, space_y: ny / grid.xy, x: nx / grid.xy, waves_y: ny / grid.yz, z: nz / grid.yz }
    }

    /// Numbers that a process has.
    pub fn numbers(&self) -> usize {
        self.x * self.extent[1] * self.z
    }

    /// Place in space of the first number of the line along x with these own indices.
    pub fn line(&self, y: usize, z: usize) -> usize {
        (y * self.z + z) * self.x
    }

    /// Where the numbers of a line along x are in space.
    pub fn along_x(&self) -> Along {
        Along { inner: self.x, step: 1, part: self.space_y * self.z * self.x }
    }

    /// From a row of a plane to the next where it is worked on: no power of two.
    fn plane_row(&self) -> usize {
        self.x + LANES
    }

    fn along_z(&self) -> Along {
        Along { inner: self.extent[2], step: self.x, part: 0 }
    }

    /// Along z as an exchange delivers and takes it.
    fn along_z_in_parts(&self) -> Along {
        Along { inner: self.z, step: self.x, part: self.waves_y * self.z * self.x }
    }

    /// All lines along z of a process.
    fn lines_along_z(self) -> impl Iterator<Item = LinesAlongZ> {
        let starts = (0..self.waves_y).flat_map(move |y| (0..self.x).step_by(LANES).map(move |x| (x, y)));
        starts.map(move |(x, y)| {
            let lines = |planes: usize, along: Along| Lines {
                first: y * planes * self.x + x,
                across: 1,
                count: LANES.min(self.x - x),
                along,
            };
            let exchanged = lines(self.z, self.along_z_in_parts());
            LinesAlongZ { x, y, exchanged, waves: lines(self.extent[2], self.along_z()) }
        })
    }
}

/// Lines along z that lie side by side along x.
struct LinesAlongZ {
    /// Own index of the first along x.
    x: usize,
    /// Their own index along y.
    y: usize,
    /// Their place before or after an exchange.
    exchanged: Lines,
    /// Their place in waves.
    waves: Lines,
}

impl<B: AsArray> Transform<B> {
    /// `space` is memory for [`Layout::numbers`] numbers, and so is `spare` where processes exchange anything.
    pub fn new(layout: Layout, groups: Groups, space: B, spare: B) -> Self {
        let plans = layout.extent.map(Plan::new);
        let longest = layout.extent.into_iter().max().unwrap_or(0);
        let plane = vec![Complex64::ZERO; layout.plane_row() * layout.extent[1]];
        Transform { passes: Passes { layout, plans, plane, block: Block::new(longest) }, groups, space, spare }
    }

    /// Which part of the array the process has.
    pub fn layout(&self) -> &Layout {
        &self.passes.layout
    }

    /// The array in space.
    pub fn space(&mut self) -> &mut [Complex64] {
        &mut self.space
    }

    /// Transforms the array in space into `waves`. Collective.
    pub fn forward(&mut self, waves: &mut [Complex64]) -> Result<()> {
        let Transform { passes, groups, space, spare } = self;
        let planes = 0..passes.layout.z;
        if passes.layout.grid.xy > 1 {
            groups.exchange_xy(space, spare, |space| {
                planes.clone().for_each(|z| passes.transform_x(Direction::Forward, space, z));
            })?;
        }
        groups.exchange_yz(space, spare, |space| {
            planes.for_each(|z| passes.transform_plane(Direction::Forward, space, z));
        })?;
        passes.space_to_waves(space, waves);
        Ok(())
    }

    /// Transforms `waves`, as they are after the time that `evolution` stands for, into space. Collective.
    pub fn inverse(&mut self, waves: &[Complex64], evolution: &Evolution) -> Result<()> {
        let Transform { passes, groups, space, spare } = self;
        let planes = 0..passes.layout.z;
        groups.exchange_yz(space, spare, |space| passes.waves_to_space(waves, evolution, space))?;
        if passes.layout.grid.xy == 1 {
            planes.for_each(|z| passes.transform_plane(Direction::Inverse, space, z));
            return Ok(());
        }
        groups.exchange_xy(space, spare, |space| {
            planes.clone().for_each(|z| passes.transform_plane(Direction::Inverse, space, z));
        })?;
        planes.for_each(|z| passes.transform_x(Direction::Inverse, space, z));
        Ok(())
    }
}

impl Passes {
    /// Transforms all lines along z.
    fn space_to_waves(&mut self, space: &[Complex64], waves: &mut [Complex64]) {
        let Passes { layout, plans: [_, _, plan], block, .. } = self;
        for lines in layout.lines_along_z() {
            load(plan, Direction::Forward, space, lines.exchanged, block);
            plan.transform(block);
            store(plan, Direction::Forward, block, waves, lines.waves);
        }
    }

    /// Shrinks the waves and transforms them along z.
    fn waves_to_space(&mut self, waves: &[Complex64], evolution: &Evolution, space: &mut [Complex64]) {
        let Passes { layout, plans: [_, _, plan], block, .. } = self;
        for lines in layout.lines_along_z() {
            load(plan, Direction::Inverse, waves, lines.waves, block);
            evolution.shrink(block, [lines.x, lines.y]);
            plan.transform(block);
            store(plan, Direction::Inverse, block, space, lines.exchanged);
        }
    }

    /// Transforms the lines along x of a plane across z that come in parts.
    fn transform_x(&mut self, direction: Direction, space: &mut [Complex64], z: usize) {
        let Passes { layout, plans: [plan, ..], block, .. } = self;
        for y in (0..layout.space_y).step_by(LANES) {
            let count = LANES.min(layout.space_y - y);
            let across = layout.z * layout.x;
            let lines = Lines { first: layout.line(y, z), across, count, along: layout.along_x() };
            load(plan, direction, space, lines, block);
            plan.transform(block);
            store(plan, direction, block, space, lines);
        }
    }

    /// Transforms the lines along y of a plane across z, and those along x if they are whole.
    ///
    /// Lines along x go through memory in order, so they are taken from or put into space directly.
    fn transform_plane(&mut self, direction: Direction, space: &mut [Complex64], z: usize) {
        match (self.layout.grid.xy, direction) {
            (1, Direction::Forward) => {
                self.transform_x_of_plane(direction, space, z);
                self.transform_y_of_plane(direction);
                self.store_plane(space, z);
            }
            (1, Direction::Inverse) => {
                self.load_plane(space, z);
                self.transform_y_of_plane(direction);
                self.transform_x_of_plane(direction, space, z);
            }
            _ => {
                self.load_plane(space, z);
                self.transform_y_of_plane(direction);
                self.store_plane(space, z);
            }
        }
    }

    fn load_plane(&mut self, space: &[Complex64], z: usize) {
        let Passes { layout, plane, .. } = self;
        for (y, row) in plane.chunks_exact_mut(layout.plane_row()).enumerate() {
            row[..layout.x].copy_from_slice(&space[layout.line(y, z)..][..layout.x]);
        }
    }

    fn store_plane(&mut self, space: &mut [Complex64], z: usize) {
        let Passes { layout, plane, .. } = self;
        for (y, row) in plane.chunks_exact(layout.plane_row()).enumerate() {
            space[layout.line(y, z)..][..layout.x].copy_from_slice(&row[..layout.x]);
        }
    }

    fn transform_y_of_plane(&mut self, direction: Direction) {
        let Passes { layout, plans: [_, plan, _], plane, block, .. } = self;
        let along = Along { inner: layout.extent[1], step: layout.plane_row(), part: 0 };
        for x in (0..layout.x).step_by(LANES) {
            let lines = Lines { first: x, across: 1, count: LANES.min(layout.x - x), along };
            load(plan, direction, plane, lines, block);
            plan.transform(block);
            store(plan, direction, block, plane, lines);
        }
    }

    /// Forward from space to the plane, inverse from the plane to space.
    fn transform_x_of_plane(&mut self, direction: Direction, space: &mut [Complex64], z: usize) {
        let Passes { layout, plans: [plan, ..], plane, block, .. } = self;
        for y in (0..layout.space_y).step_by(LANES) {
            let (count, along) = (LANES.min(layout.space_y - y), layout.along_x());
            let across = layout.z * layout.x;
            let in_space = Lines { first: layout.line(y, z), across, count, along };
            let in_plane = Lines { first: y * layout.plane_row(), across: layout.plane_row(), count, along };
            match direction {
                Direction::Forward => load(plan, direction, space, in_space, block),
                Direction::Inverse => load(plan, direction, plane, in_plane, block),
            }
            plan.transform(block);
            match direction {
                Direction::Forward => store(plan, direction, block, plane, in_plane),
                Direction::Inverse => store(plan, direction, block, space, in_space),
            }
        }
    }
}
