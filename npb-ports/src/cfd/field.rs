//! Five numbers for every point of a block and of the ghost points around it.

use super::mesh::{Block, State};

/// Ghost points on either side of a block: fourth differences reach two points far.
pub const GHOST: usize = 2;

/// How many doubles a loop along a row may overshoot the row's last point by (less one), so that it can go in whole vectors.
const VECTOR: usize = 8;

/// Five numbers per point, stored as rows along x: first component of the row, second component, and so on.
///
/// Its indices count from the first ghost point, so the block's point (i, j, k) is (i + [`GHOST`], j + [`GHOST`],
/// k + [`GHOST`]) here. A row is longer than its points: whole vectors may be read and written beyond them, and
/// what stands there means nothing.
#[derive(Clone, Debug)]
pub struct Field {
    /// Rows along y, ghosts included.
    rows: usize,
    /// Doubles from one component of a row to the next.
    stride: usize,
    data: Vec<f64>,
}

impl Field {
    /// All zero, for a block of `extent` points.
    pub fn new(extent: [usize; 3]) -> Self {
        let (rows, planes) = (extent[1] + 2 * GHOST, extent[2] + 2 * GHOST);
        let stride = row_stride(extent[0]);
        Field { rows, stride, data: vec![0.0; 5 * stride * rows * planes] }
    }

    /// Computes the value of every point of `block` (not of its ghosts) from its indices in the mesh.
    pub fn fill(&mut self, block: &Block, value: impl Fn([usize; 3]) -> State) {
        for k in 0..block.extent[2] {
            for j in 0..block.extent[1] {
                for i in 0..block.extent[0] {
                    self.set([i + GHOST, j + GHOST, k + GHOST], value(block.global([i, j, k])));
                }
            }
        }
    }

    /// Doubles from one component of a row to the next.
    pub fn component_stride(&self) -> usize {
        self.stride
    }

    /// Doubles from a point to the next along each axis, within one component.
    pub fn steps(&self) -> [usize; 3] {
        [1, 5 * self.stride, 5 * self.stride * self.rows]
    }

    /// Place in [`Field::data`] of a point's first component.
    #[inline(always)]
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + 5 * self.stride * (j + self.rows * k)
    }

    /// Everything.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Everything.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// A point's numbers.
    #[inline(always)]
    pub fn get(&self, point: [usize; 3]) -> State {
        let at = self.index(point);
        std::array::from_fn(|m| self.data[at + m * self.stride])
    }

    /// Replaces a point's numbers.
    #[inline(always)]
    pub fn set(&mut self, point: [usize; 3], value: State) {
        let at = self.index(point);
        for (m, number) in value.into_iter().enumerate() {
            self.data[at + m * self.stride] = number;
        }
    }

    /// The components of a row, ghosts included.
    #[inline(always)]
    pub fn row(&self, j: usize, k: usize) -> [&[f64]; 5] {
        let at = self.index([0, j, k]);
        components(&self.data[at..at + 5 * self.stride])
    }

    /// The components of a row, ghosts included.
    #[inline(always)]
    pub fn row_mut(&mut self, j: usize, k: usize) -> [&mut [f64]; 5] {
        let at = self.index([0, j, k]);
        components_mut(&mut self.data[at..at + 5 * self.stride])
    }
}

/// One row with the shape of a [`Field`]'s, to compute in.
#[derive(Clone, Debug)]
pub struct Row {
    data: Vec<f64>,
}

impl Row {
    /// All zero, for blocks that are `extent` points long.
    pub fn new(extent: usize) -> Self {
        Row { data: vec![0.0; 5 * row_stride(extent)] }
    }

    /// Its components, ghosts included.
    #[inline(always)]
    pub fn components(&self) -> [&[f64]; 5] {
        components(&self.data)
    }

    /// Its components, ghosts included.
    #[inline(always)]
    pub fn components_mut(&mut self) -> [&mut [f64]; 5] {
        components_mut(&mut self.data)
    }

    /// All components one after the other, [`Field::component_stride`] doubles apart.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }
}

/// `points` rounded up to whole vectors.
pub(super) fn whole_vectors(points: usize) -> usize {
    points.next_multiple_of(VECTOR)
}

/// Long enough that whole vectors from any interior point on, shifted by up to two points, stay in the row.
fn row_stride(extent: usize) -> usize {
    whole_vectors(extent) + VECTOR
}

#[inline(always)]
fn components(row: &[f64]) -> [&[f64]; 5] {
    let (a, rest) = row.split_at(row.len() / 5);
    let (b, rest) = rest.split_at(a.len());
    let (c, rest) = rest.split_at(a.len());
    let (d, e) = rest.split_at(a.len());
    [a, b, c, d, e]
}

#[inline(always)]
fn components_mut(row: &mut [f64]) -> [&mut [f64]; 5] {
    let length = row.len() / 5;
    let (a, rest) = row.split_at_mut(length);
    let (b, rest) = rest.split_at_mut(length);
    let (c, rest) = rest.split_at_mut(length);
    let (d, e) = rest.split_at_mut(length);
    [a, b, c, d, e]
}

#[cfg(test)]
mod tests {
    use super::{Block, Field, GHOST};
    use crate::cfd::Mesh;

    #[test]
    fn a_point_is_found_by_its_indices_by_its_row_and_by_steps() {
        let mesh = Mesh { n: 20 };
        let block = Block { mesh, start: [3, 5, 7], extent: [9, 4, 3] };
        let mut field = Field::new(block.extent);
        field.fill(&block, |[i, j, k]| [i as f64, j as f64, k as f64, 0.0, (i + 100 * j + 10_000 * k) as f64]);
        let point = [4 + GHOST, 2 + GHOST, 1 + GHOST];
        assert_eq!(field.get(point), [7.0, 7.0, 8.0, 0.0, 80_707.0]);
        assert_eq!(field.row(point[1], point[2])[4][point[0]], 80_707.0);
        let last = field.index(point) + 4 * field.component_stride();
        let [x, y, z] = field.steps();
        assert_eq!([x, y, z].map(|step| field.data()[last + step]), [80_708.0, 80_807.0, 90_707.0]);
        assert_eq!(field.get([0, 0, 0]), [0.0; 5]);
    }
}
