//! The exchange of faces: what a cell's ghost points hold comes from the ranks that own the neighbouring cells.
//!
//! Once a step every rank sends six messages, one in each direction, and receives six. A message has the two outermost
//! layers of points of all the rank's cells that have a neighbour there.

use super::decomposition::{Cell, Multipartition, Side};
use crate::cfd::{Block, Field, GHOST};
use rwmpi::{Buffer, Communicator, PersistentReceive, Result, Universe, scope};
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
pub struct FaceExchange {
    communicator: Communicator,
    /// For each direction, the layers that leave and those that arrive; none for a rank that is alone. The receives are
    /// posted always, but while their data is used.
    layers: Vec<(Buffer<f64>, PersistentReceive<f64>)>,
}

impl FaceExchange {
    /// For the cells of `partition`, which is that of the ranks of `world`. Collective.
    pub fn new(partition: &Multipartition, universe: &Universe, world: &Communicator) -> Result<Self> {
        let communicator = world.dup()?;
        let directions = if partition.slabs() == 1 { &[][..] } else { &DIRECTIONS };
        let layers = directions.iter().map(|&(axis, side, tag)| {
            let buffer = |side| {
                let layers =
                    bordering(partition, axis, side).map(|(_, cell)| points(&leaving(&cell.block, axis, side)));
                universe.alloc(5 * layers.sum::<usize>())
            };
            let source = partition.neighbour(axis, side.opposite());
            let mut receive = communicator.persistent_receive(buffer(side.opposite()), source, tag)?;
            receive.start()?;
            Ok((buffer(side), receive))
        });
        let layers = layers.collect::<Result<_>>()?;
        Ok(FaceExchange { communicator, layers })
    }

    /// Exchanges the faces of `fields`, one for each cell of `partition`. One rank alone sends nothing.
    pub fn exchange(&mut self, partition: &Multipartition, fields: &mut [Field]) -> Result<()> {
        let FaceExchange { communicator, layers } = self;
        scope(|scope| {
            for ((axis, side, tag), (outgoing, _)) in DIRECTIONS.into_iter().zip(layers) {
                let mut free = &mut outgoing[..];
                for (index, cell) in bordering(partition, axis, side) {
                    for_each_row(&mut fields[index], &leaving(&cell.block, axis, side), |row| {
                        take_mut(&mut free, row.len()).copy_from_slice(row);
                    });
                }
                // The scope waits for it.
                let _sent = communicator.isend(scope, outgoing, partition.neighbour(axis, side), tag)?;
            }
            Ok(())
        })?;
        for ((axis, side, _), (_, receive)) in DIRECTIONS.into_iter().zip(&mut self.layers) {
            receive.wait()?;
            let mut rest = &receive.buffer()?[..];
            for (index, cell) in bordering(partition, axis, side.opposite()) {
                for_each_row(&mut fields[index], &arriving(&cell.block, axis, side), |row| {
                    let (values, remaining) = rest.split_at(row.len());
                    row.copy_from_slice(values);
                    rest = remaining;
                });
            }
            receive.start()?;
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
