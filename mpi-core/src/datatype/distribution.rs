//! Parts of arrays: subarrays and distributed arrays (MPI-5.0 sections 5.1.3 and 5.1.4).

use super::shape::{Shape, fits};
use crate::{Error, ErrorClass, Result};

/// Which index of an array is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last.
    C,
    /// The first.
    Fortran,
}

/// How one dimension of an array is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribute {
    /// A block for each process; of at least so many indices as said, or as many as it takes.
    Block(Option<i64>),
    /// Blocks of so many indices, or 1, one process after the other.
    Cyclic(Option<i64>),
    /// Not at all. The argument that comes with it has no meaning.
    None(Option<i64>),
}

/// A distributed array, as one process sees it.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// How many processes there are.
    pub processes: i64,
    /// Which one's part is meant.
    pub rank: i64,
    /// The array's size in each dimension.
    pub sizes: Box<[i64]>,
    /// How each dimension is dealt out.
    pub distribute: Box<[Distribute]>,
    /// How many processes share each dimension. They are numbered in the order of C.
    pub grid: Box<[i64]>,
    /// Which index is contiguous.
    pub order: Order,
}

/// The dimensions, the contiguous one first.
fn by_stride(dimensions: usize, order: Order) -> impl Iterator<Item = usize> {
    (0..dimensions).map(move |index| match order {
        Order::C => dimensions - 1 - index,
        Order::Fortran => index,
    })
}

fn whole_array<S: Shape>(part: S, extent: i64) -> Result<S> {
    part.resized(0, extent)
}

/// Elements `starts .. starts + subsizes` of an array of `sizes`.
pub(super) fn subarray<S: Shape>(
    sizes: &[i64],
    subsizes: &[i64],
    starts: &[i64],
    order: Order,
    element: S,
    extent: i64,
) -> Result<S> {
    let (mut part, mut stride, mut origin) = (element, extent, 0i64);
    for dimension in by_stride(sizes.len(), order) {
        part = part.repeat(subsizes[dimension], stride)?;
        origin = fits(starts[dimension].checked_mul(stride).and_then(|start| start.checked_add(origin)))?;
        stride = fits(stride.checked_mul(sizes[dimension]))?;
    }
    whole_array(part.moved(origin)?, stride)
}

impl Distribution {
    /// The rank's place in the grid.
    fn coordinates(&self) -> Vec<i64> {
        let mut rest = self.rank;
        let mut coordinates: Vec<i64> = self
            .grid
            .iter()
            .rev()
            .map(|&processes| {
                let coordinate = rest % processes;
                rest /= processes;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The rank's elements.
    pub(super) fn part<S: Shape>(&self, element: S, extent: i64) -> Result<S> {
        let coordinates = self.coordinates();
        let (mut part, mut stride) = (element, extent);
        for dimension in by_stride(self.sizes.len(), self.order) {
            let size = self.sizes[dimension];
            let (processes, coordinate) = (self.grid[dimension], coordinates[dimension]);
            part = match self.distribute[dimension] {
                Distribute::None(_) => part.repeat(size, stride)?,
                Distribute::Block(block) => {
                    let block = block.unwrap_or_else(|| block_size(size, processes));
                    let first = block.saturating_mul(coordinate).min(size);
                    let count = block.min(size - first);
                    let start = fits(first.checked_mul(stride))?;
                    part.repeat(count, stride)?.moved(start)?
                }
                Distribute::Cyclic(block) => deal(&part, stride, size, block.unwrap_or(1), processes, coordinate)?,
            };
            stride = fits(stride.checked_mul(size))?;
        }
        whole_array(part, stride)
    }

    /// What is wrong with it, if anything.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::new(ErrorClass::Argument, what));
        let dimensions = self.sizes.len();
        if dimensions == 0 || self.distribute.len() != dimensions || self.grid.len() != dimensions {
            return refuse("a distributed array needs one size, distribution and grid size for each dimension".into());
        }
        let product = self.grid.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
        if self.grid.iter().any(|&size| size < 1) || product != Some(self.processes) {
            return refuse(format!("the process grid {:?} does not have {} processes", self.grid, self.processes));
        }
        if self.rank < 0 || self.rank >= self.processes {
            return refuse(format!("rank {} is not one of {} processes", self.rank, self.processes));
        }
        for (dimension, &size) in self.sizes.iter().enumerate() {
            let processes = self.grid[dimension];
            if size < 1 {
                return refuse(format!("dimension {dimension} of the array has the size {size}"));
            }
            match self.distribute[dimension] {
                Distribute::None(_) if processes != 1 => {
                    return refuse(format!("dimension {dimension} is not distributed, but has {processes} processes"));
                }
                Distribute::Block(Some(block)) if block < 1 || block < block_size(size, processes) => {
                    return refuse(format!(
                        "dimension {dimension}: blocks of {block} for {processes} processes do not cover {size} indices"
                    ));
                }
                Distribute::Cyclic(Some(block)) if block < 1 => {
                    return refuse(format!("dimension {dimension}: blocks of {block} indices"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn block_size(size: i64, processes: i64) -> i64 {
    // Both are at least 1.
    (size - 1) / processes + 1
}

/// Every `processes`-th block of `block` indices, beginning with block `coordinate`; the last may be cut short by
/// `size`.
fn deal<S: Shape>(part: &S, stride: i64, size: i64, block: i64, processes: i64, coordinate: i64) -> Result<S> {
    let block = block.min(size);
    let round = i128::from(block) * i128::from(processes);
    let first = i128::from(block) * i128::from(coordinate);
    let left = i128::from(size) - first;
    if left <= 0 {
        return Ok(S::empty());
    }
    let whole = if left < i128::from(block) { 0 } else { (left - i128::from(block)) / round + 1 };
    let rest = (left - whole * round).clamp(0, i128::from(block)) as i64;
    let place = |index: i128| fits(i64::try_from(index * i128::from(stride)).ok());
    let blocks = part.repeat(block, stride)?.repeat(whole as i64, if whole > 1 { place(round)? } else { 0 })?;
    let mut parts = vec![Ok((place(first)?, blocks))];
    if rest > 0 {
        parts.push(Ok((place(first + whole * round)?, part.repeat(rest, stride)?)));
    }
    S::join(parts.into_iter())
}
