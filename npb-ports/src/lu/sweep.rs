//! The two triangular sweeps of one iteration over a block.

use super::blocks::Blocks;
use super::diagonals::Rectangle;
use super::kernels::{Strip, Terms, lower, upper};
use super::process_grid::Side;
use crate::cfd::{Block, Field, GHOST, Row};
use std::ops::Range;

/// Which of the two triangular systems is solved, and so in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// From low to high indices.
    Lower,
    /// From high to low indices.
    Upper,
}

/// What both sweeps work on.
pub struct Fields<'a> {
    /// The unknowns. The upper sweep corrects them.
    pub u: &'a mut Field,
    /// Their [`crate::cfd::Primitive`]s, valid next to the block too.
    pub primitives: &'a mut Field,
    /// The residual before the lower sweep; its result, which the upper sweep starts from.
    pub v: &'a mut Field,
}

/// Products with off-diagonal blocks that wait for the points which will subtract them.
pub struct Sweeper {
    blocks: Blocks,
    interior: Rectangle,
    planes: Range<usize>,
    /// For the next diagonal's points at the same j.
    along_x: Row,
    /// For the next diagonal's points one j further; and of the diagonal before.
    along_y: [Row; 2],
    /// For the next plane: a row for every diagonal, by the sum of its indices.
    along_z: Vec<Row>,
}

impl Sweep {
    /// The two sides of a block that its neighbours must have done before it.
    pub fn comes_from(self) -> [Side; 2] {
        match self {
            Sweep::Lower => [Side::North, Side::West],
            Sweep::Upper => [Side::South, Side::East],
        }
    }
}

impl Sweeper {
    /// For `block`.
    pub fn new(blocks: Blocks, block: &Block) -> Self {
        let row = Row::new(block.extent[1]);
        let interior = block.interior(2);
        Sweeper {
            blocks,
            interior: Rectangle::interior(block),
            planes: interior.start + GHOST..interior.end + GHOST,
            along_x: row.clone(),
            along_y: [row.clone(), row.clone()],
            along_z: vec![row; block.extent[0] + block.extent[1] + 4 * GHOST],
        }
    }

    /// The planes across z in the order of the sweep.
    pub fn planes(&self, sweep: Sweep) -> impl ExactSizeIterator<Item = usize> + use<> {
        let (first, last) = (self.planes.start, self.planes.end - 1);
        self.planes.clone().map(move |k| match sweep {
            Sweep::Lower => k,
            Sweep::Upper => last - (k - first),
        })
    }

    /// Forgets the plane before: the next one is the sweep's first.
    pub fn begin(&mut self) {
        for row in &mut self.along_z {
            row.data_mut().0.fill(0.0);
        }
    }

    /// Sweeps over plane `k`. The lines of `v` beside the interior that the sweep comes from must be valid.
    pub fn plane(&mut self, sweep: Sweep, fields: &mut Fields<'_>, k: usize) {
        let sums = self.interior.grown(1).diagonals().map(|diagonal| diagonal.sum);
        // Two corners of the grown rectangle have no neighbour in the interior.
        match sweep {
            Sweep::Lower => sums.skip(1).for_each(|sum| self.diagonal(sweep, fields, sum, k)),
            Sweep::Upper => sums.rev().skip(1).for_each(|sum| self.diagonal(sweep, fields, sum, k)),
        }
    }

    fn diagonal(&mut self, sweep: Sweep, fields: &mut Fields<'_>, sum: usize, k: usize) {
        let (around, inside) = (self.interior.grown(1).diagonal(sum), self.interior.diagonal(sum));
        let Fields { u, primitives, v } = fields;
        self.along_y.swap(0, 1);
        let [y_before, y] = &mut self.along_y;
        let (x, stride) = self.along_x.data_mut();
        let (y_before, y, z) = (y_before.data_mut().0, y.data_mut().0, self.along_z[sum].data_mut().0);
        let terms = Terms { x, y_before, y, z };
        let first = around.j.start;
        let strip = Strip {
            field: v.index(around.first(k)),
            field_stride: v.component_stride(),
            first,
            stride,
            count: around.j.len(),
            start: inside.j.start.saturating_sub(first),
            end: inside.j.end.saturating_sub(first),
        };
        match sweep {
            Sweep::Lower => lower(&self.blocks, u.data(), primitives.data(), v.data_mut(), terms, strip),
            Sweep::Upper => upper(&self.blocks, u.data_mut(), primitives.data_mut(), v.data_mut(), terms, strip),
        }
    }
}
