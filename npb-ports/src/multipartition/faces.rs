//! The exchange of faces: what a cell's ghost points hold comes from the ranks that own the neighbouring cells.
//!
//! Once a step every rank sends six messages, one in each direction, and receives six. A message has the two outermost
//! layers of points of all the rank's cells that have a neighbour there.

use super::decomposition::{Cell, Multipartition, Side};
use super::messages::{Incoming, Mail, Outgoing};
use crate::cfd::{Block, Field, GHOST};
use rwmpi::{Buffer, Result};
use std::array::from_fn;
use std::ops::Range;

/// The directions that faces travel in, and the tags of their messages.
const DIRECTIONS: [(usize, Side, i32); 6] = [
    (0, Side::High, 2000),
    (0, Side::Low, 3000),
    (1, Side::High, 4000),
    (1, Side::Low, 5000),
    (2, Side::Low, 6000),
    (2, Side::High, 7000),
];

/// A box of points, by indices that count from a cell's first ghost point.
type Region = [Range<usize>; 3];

/// Fills ghost points with the neighbours' values.
pub struct FaceExchange<'u> {
    mail: Mail<'u>,
    /// For each direction, the layers that leave and those that arrive.
    buffers: [(Buffer<f64>, Buffer<f64>); 6],
}

impl<'u> FaceExchange<'u> {
    /// For the cells of `partition`.
    pub fn new(partition: &Multipartition, mail: Mail<'u>) -> Self {
        let buffers = DIRECTIONS.map(|(axis, side, _)| {
            let buffer = |side| {
                let layers =
                    bordering(partition, axis, side).map(|(_, cell)| points(&leaving(&cell.block, axis, side)));
                mail.buffer(5 * layers.sum::<usize>())
            };
            (buffer(side), buffer(side.opposite()))
        });
        FaceExchange { buffers, mail }
    }

    /// Exchanges the faces of `fields`, one for each cell of `partition`. One rank alone sends nothing.
    pub fn exchange(&mut self, partition: &Multipartition, fields: &mut [Field]) -> Result<()> {
        if partition.slabs() == 1 {
            return Ok(());
        }
        for ((axis, side, _), (outgoing, _)) in DIRECTIONS.into_iter().zip(&mut self.buffers) {
            let mut free = &mut outgoing[..];
            for (index, cell) in bordering(partition, axis, side) {
                for_each_row(&mut fields[index], &leaving(&cell.block, axis, side), |row| {
                    take_mut(&mut free, row.len()).copy_from_slice(row);
                });
            }
        }
        let (incoming, outgoing): (Vec<_>, Vec<_>) = DIRECTIONS
            .into_iter()
            .zip(&mut self.buffers)
            .map(|((axis, side, tag), (data, buffer))| {
                let source = partition.neighbour(axis, side.opposite());
                let destination = partition.neighbour(axis, side);
                (Incoming { source, tag, buffer }, Outgoing { destination, tag, data })
            })
            .unzip();
        self.mail.exchange(incoming, outgoing, || ())?;
        for ((axis, side, _), (_, incoming)) in DIRECTIONS.into_iter().zip(&self.buffers) {
            let mut rest = &incoming[..];
            for (index, cell) in bordering(partition, axis, side.opposite()) {
                for_each_row(&mut fields[index], &arriving(&cell.block, axis, side), |row| {
                    let (values, remaining) = rest.split_at(row.len());
                    row.copy_from_slice(values);
                    rest = remaining;
                });
            }
        }
        Ok(())
    }
}

/// The cells that have a neighbour on that side, with their places among the rank's cells.
fn bordering(partition: &Multipartition, axis: usize, side: Side) -> impl Iterator<Item = (usize, &Cell)> {
    partition.cells().iter().enumerate().filter(move |(_, cell)| partition.has_neighbour(cell, axis, side))
}

/// The outermost layers of a block's own points on one side, as deep as the ghosts are.
fn leaving(block: &Block, axis: usize, side: Side) -> Region {
    let mut region = from_fn(|axis| GHOST..GHOST + block.extent[axis]);
    region[axis] = match side {
        Side::Low => GHOST..2 * GHOST,
        Side::High => block.extent[axis]..block.extent[axis] + GHOST,
    };
    region
}

/// The ghost points that layers travelling towards `side` end in: those on the opposite side of the block.
fn arriving(block: &Block, axis: usize, side: Side) -> Region {
    let mut region = from_fn(|axis| GHOST..GHOST + block.extent[axis]);
    region[axis] = match side {
        Side::High => 0..GHOST,
        Side::Low => block.extent[axis] + GHOST..block.extent[axis] + 2 * GHOST,
    };
    region
}

fn points(region: &Region) -> usize {
    region.iter().map(ExactSizeIterator::len).product()
}

/// Calls `action` with every row along x of the region, component by component.
fn for_each_row(field: &mut Field, region: &Region, mut action: impl FnMut(&mut [f64])) {
    let [columns, rows, planes] = region.clone();
    for k in planes {
        for j in rows.clone() {
            field.points_mut([columns.start, j, k], columns.len()).into_iter().for_each(&mut action);
        }
    }
}

/// Cuts the first `length` elements off `slice`.
fn take_mut<'a>(slice: &mut &'a mut [f64], length: usize) -> &'a mut [f64] {
    let (first, rest) = std::mem::take(slice).split_at_mut(length);
    *slice = rest;
    first
}
