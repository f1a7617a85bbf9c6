//! The three-dimensional transform: three passes of one-dimensional ones, with exchanges between processes in between.
//!
//! The array has three layouts on a process, each with x running fastest (counts are the process's own; parts come from or
//! go to the processes of a group, in their order):
//! - *space*: parts of x, then y, z, x: whole lines along x. Where no process shares x, that is: y, z, x.
//! - *middle*: y, z, x: whole lines along y.
//! - *waves*: y, z, x: whole lines along z. An exchange delivers it as parts of z, then y, z, x.
//!
//! They are such that an exchange needs no packing: what goes to a process is contiguous.

use super::evolution::Evolution;
use super::fft::{Number, Plan};
use super::lines::{Along, Direction, Lines, load, store, transform_in_place};
use super::process_grid::{AsArray, Groups, ProcessGrid};
use crate::lanes::LANES;
use num_complex::Complex64;
use rwmpi::Result;

/// What a process needs to transform its part of the array.
pub struct Transform<B> {
    layout: Layout,
    plans: [Plan; 3],
    groups: Groups,
    /// The array in space; in between, any layout.
    space: B,
    /// Where an exchange puts its results.
    spare: B,
    block: Vec<Number>,
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

    fn along_y(&self) -> Along {
        Along { inner: self.extent[1], step: self.z * self.x, part: 0 }
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
        Transform { layout, plans, groups, space, spare, block: vec![Number::default(); longest] }
    }

    /// Which part of the array the process has.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The array in space.
    pub fn space(&mut self) -> &mut [Complex64] {
        &mut self.space
    }

    /// Transforms the array in space into `waves`. Collective.
    pub fn forward(&mut self, waves: &mut [Complex64]) -> Result<()> {
        if self.layout.grid.xy > 1 {
            (0..self.layout.z).for_each(|z| self.transform_x(Direction::Forward, z));
            self.groups.exchange_xy(&mut self.space, &mut self.spare)?;
            (0..self.layout.z).for_each(|z| self.transform_y(Direction::Forward, z));
        } else {
            for z in 0..self.layout.z {
                self.transform_x(Direction::Forward, z);
                self.transform_y(Direction::Forward, z);
            }
        }
        self.groups.exchange_yz(&mut self.space, &mut self.spare)?;
        let Transform { layout, plans: [_, _, plan], space, block, .. } = self;
        for lines in layout.lines_along_z() {
            load(space, lines.exchanged, Direction::Forward, &mut block[..plan.length()]);
            plan.transform(block);
            store(plan, block, Direction::Forward, waves, lines.waves);
        }
        Ok(())
    }

    /// Lets `waves` evolve by a time step and transforms them into space. Collective.
    pub fn evolve_and_invert(&mut self, waves: &mut [Complex64], evolution: &Evolution) -> Result<()> {
        let Transform { layout, plans: [_, _, plan], space, block, .. } = self;
        for lines in layout.lines_along_z() {
            evolution.step(waves, lines.waves, [lines.x, lines.y]);
            load(waves, lines.waves, Direction::Inverse, &mut block[..plan.length()]);
            plan.transform(block);
            store(plan, block, Direction::Inverse, space, lines.exchanged);
        }
        self.groups.exchange_yz(&mut self.space, &mut self.spare)?;
        if self.layout.grid.xy > 1 {
            (0..self.layout.z).for_each(|z| self.transform_y(Direction::Inverse, z));
            self.groups.exchange_xy(&mut self.space, &mut self.spare)?;
            (0..self.layout.z).for_each(|z| self.transform_x(Direction::Inverse, z));
        } else {
            for z in 0..self.layout.z {
                self.transform_y(Direction::Inverse, z);
                self.transform_x(Direction::Inverse, z);
            }
        }
        Ok(())
    }

    /// Transforms the lines along x of a plane across z.
    fn transform_x(&mut self, direction: Direction, z: usize) {
        let (layout, along) = (self.layout, self.layout.along_x());
        for y in (0..layout.space_y).step_by(LANES) {
            let count = LANES.min(layout.space_y - y);
            let lines = Lines { first: layout.line(y, z), across: layout.z * layout.x, count, along };
            transform_in_place(&self.plans[0], direction, &mut self.space, lines, &mut self.block);
        }
    }

    /// Transforms the lines along y of a plane across z.
    fn transform_y(&mut self, direction: Direction, z: usize) {
        let (layout, along) = (self.layout, self.layout.along_y());
        for x in (0..layout.x).step_by(LANES) {
            let lines = Lines { first: z * layout.x + x, across: 1, count: LANES.min(layout.x - x), along };
            transform_in_place(&self.plans[1], direction, &mut self.space, lines, &mut self.block);
        }
    }
}
