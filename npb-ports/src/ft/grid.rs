//! How the grid lies on the ranks, and the transposes between the two ways in which it does.
//!
//! The ranks form a grid of `ranks_z` by `ranks_y`; up to as many ranks as there are planes, `ranks_y` is 1 (the definition's
//! one-dimensional decomposition: slabs), beyond, each plane is shared by `ranks_y` ranks (pencils). In *space* order a rank
//! holds a range of z and a range of y; in *wave* order all z, and ranges of y and x. x varies fastest in both, so a line along any
//! axis has its neighbours beside it.

use rwmpi::{Communicator, Result, Universe};

use super::Complex;
use super::lines::{Direction, Layout, Plan};

/// Points along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// One rank's share, with all that a transform needs.
pub struct Grid {
    pub extent: Extent,
    ranks_y: usize,
    ranks_z: usize,
    /// This rank's place in the grid of ranks.
    pub place_y: usize,
    pub place_z: usize,
    /// The ranks that share this rank's planes, and those that share its range of y.
    along_y: Communicator,
    along_z: Communicator,
    plans: [Plan; 3],
    packed: rwmpi::Buffer<Complex>,
    unpacked: rwmpi::Buffer<Complex>,
}

impl Grid {
    /// Shares the grid among the ranks of `world`.
    pub fn new(world: &Communicator, universe: &Universe, extent: Extent) -> Result<Self> {
        let ranks_z = world.size().min(extent.z);
        let ranks_y = world.size() / ranks_z;
        let (place_z, place_y) = (world.rank() / ranks_y, world.rank() % ranks_y);
        let with_colour = |colour: usize, key: usize| {
            let part = world.split(Some(colour as u32), key as i32)?;
            Ok(part.expect("every rank names a colour"))
        };
        let local = extent.x * extent.y * extent.z / world.size();
        Ok(Grid {
            extent,
            ranks_y,
            ranks_z,
            place_y,
            place_z,
            along_y: with_colour(place_z, place_y)?,
            along_z: with_colour(place_y, place_z)?,
            plans: [extent.x, extent.y, extent.z].map(Plan::new),
            packed: universe.alloc(local),
            unpacked: universe.alloc(local),
        })
    }

    /// Points that this rank holds.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Planes, and rows in each, of this rank in space order.
    pub fn space_shape(&self) -> (usize, usize) {
        (self.extent.z / self.ranks_z, self.extent.y / self.ranks_y)
    }

    /// Rows in each plane, and points in each row, of this rank in wave order; there it holds every plane.
    pub fn wave_shape(&self) -> (usize, usize) {
        (self.extent.y / self.ranks_z, self.extent.x / self.ranks_y)
    }

    /// From space to wave order.
    pub fn forward(&mut self, data: &mut [Complex]) -> Result<()> {
        let direction = Direction::Forward;
        self.transform_x(data, direction);
        if self.ranks_y > 1 {
            self.gather_y(data)?;
        }
        self.transform_y(data, direction);
        self.gather_z(data)?;
        self.transform_z(data, direction);
        Ok(())
    }

    /// From wave to space order.
    pub fn inverse(&mut self, data: &mut [Complex]) -> Result<()> {
        let direction = Direction::Inverse;
        self.transform_z(data, direction);
        self.scatter_z(data)?;
        self.transform_y(data, direction);
        if self.ranks_y > 1 {
            self.scatter_y(data)?;
        }
        self.transform_x(data, direction);
        Ok(())
    }

    fn transform_x(&mut self, data: &mut [Complex], direction: Direction) {
        let x = self.extent.x;
        self.plans[0].transform(data, Layout { along: 1, across: x, lines: data.len() / x }, direction);
    }

    fn transform_y(&mut self, data: &mut [Complex], direction: Direction) {
        let (_, x) = self.wave_shape();
        for plane in data.chunks_exact_mut(self.extent.y * x) {
            self.plans[1].transform(plane, Layout { along: x, across: 1, lines: x }, direction);
        }
    }

    fn transform_z(&mut self, data: &mut [Complex], direction: Direction) {
        let (y, x) = self.wave_shape();
        self.plans[2].transform(data, Layout { along: y * x, across: 1, lines: y * x }, direction);
    }

    /// All of y for a range of x, where the rank had all of x for a range of y. Only where each rank has one plane.
    fn gather_y(&mut self, data: &mut [Complex]) -> Result<()> {
        let part = self.extent.x / self.ranks_y;
        let chunk = data.len() / self.ranks_y;
        for (row, line) in data.chunks_exact(self.extent.x).enumerate() {
            for (rank, piece) in line.chunks_exact(part).enumerate() {
                self.packed[rank * chunk + row * part..][..part].copy_from_slice(piece);
            }
        }
        self.along_y.alltoall(&self.packed, data)
    }

    /// The way back from [`Grid::gather_y`].
    fn scatter_y(&mut self, data: &mut [Complex]) -> Result<()> {
        let part = self.extent.x / self.ranks_y;
        let chunk = data.len() / self.ranks_y;
        self.along_y.alltoall(data, &mut self.unpacked)?;
        for (row, line) in data.chunks_exact_mut(self.extent.x).enumerate() {
            for (rank, piece) in line.chunks_exact_mut(part).enumerate() {
                piece.copy_from_slice(&self.unpacked[rank * chunk + row * part..][..part]);
            }
        }
        Ok(())
    }

    /// All of z for a range of y, where the rank had all of y for a range of z.
    fn gather_z(&mut self, data: &mut [Complex]) -> Result<()> {
        if self.ranks_z == 1 {
            return Ok(());
        }
        let (y, x) = self.wave_shape();
        let chunk = data.len() / self.ranks_z;
        for (plane, rows) in data.chunks_exact(self.extent.y * x).enumerate() {
            for (rank, piece) in rows.chunks_exact(y * x).enumerate() {
                self.packed[rank * chunk + plane * y * x..][..y * x].copy_from_slice(piece);
            }
        }
        self.along_z.alltoall(&self.packed, data)
    }

    /// The way back from [`Grid::gather_z`].
    fn scatter_z(&mut self, data: &mut [Complex]) -> Result<()> {
        if self.ranks_z == 1 {
            return Ok(());
        }
        let (y, x) = self.wave_shape();
        let chunk = data.len() / self.ranks_z;
        self.along_z.alltoall(data, &mut self.unpacked)?;
        for (plane, rows) in data.chunks_exact_mut(self.extent.y * x).enumerate() {
            for (rank, piece) in rows.chunks_exact_mut(y * x).enumerate() {
                piece.copy_from_slice(&self.unpacked[rank * chunk + plane * y * x..][..y * x]);
            }
        }
        Ok(())
    }
}
