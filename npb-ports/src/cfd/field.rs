//! Five numbers for every point of a block and of the ghost points around it.

use super::mesh::{Block, State};
use crate::lanes::LANES;

/// Ghost points on either side of a block: fourth differences reach two points far.
pub const GHOST: usize = 2;

/// How many doubles a loop along a row may read beyond the row's last point (less one), so that it can go in whole
/// vectors.
const VECTOR: usize = 4;

/// Five numbers per point, stored row after row: the first component of a row, its second component, and so on.
///
/// Rows follow the x axis ([`Field::new`]) or the anti-diagonals i + j of a plane ([`Field::skewed`]). Indices count
/// from the first ghost point, so the block's point (i, j, k) is (i + [`GHOST`], j + [`GHOST`], k + [`GHOST`]) here. Up
/// to [`LANES`] doubles may be read from any point on, but what stands beyond the row's points means nothing. Rows
/// along anti-diagonals have room for writing as many, too.
#[derive(Clone, Debug)]
pub struct Field {
    skewed: bool,
    /// Which bits of a plane's index count.
    planes: usize,
    /// Rows of a plane.
    rows: usize,
    /// Doubles from one component of a row to the next.
    stride: usize,
    data: Vec<f64>,
}

impl Field {
    /// All zero, for a block of `extent` points, with rows along x.
    pub fn new(extent: [usize; 3]) -> Self {
        Self::with_rows(false, extent[1], extent[0], extent[2])
    }

    /// All zero, for a block of `extent` points, with rows along the anti-diagonals of the planes across z.
    ///
    /// Such a row holds the points (s - j, j, k) of one sum s = i + j, in the order of j, so that no point of a row is
    /// the neighbour of another: what can't be done along x at once can along it. A long and a short diagonal share a
    /// row.
    pub fn skewed(extent: [usize; 3]) -> Self {
        Self::with_rows(true, extent[0], extent[1], extent[2])
    }

    /// All zero, for the planes of a block that a loop along z works on, rows along x: every plane replaces the fourth
    /// before.
    pub fn latest_planes(extent: [usize; 3]) -> Self {
        const PLANES: usize = 2 * GHOST;
        Field { planes: PLANES - 1, ..Self::with_rows(false, extent[1], extent[0], 0) }
    }

    fn with_rows(skewed: bool, rows: usize, length: usize, planes: usize) -> Self {
        let rows = rows + 2 * GHOST;
        // Rows that are not written to in whole vectors lie close together: there is less to keep in the cache.
        let stride = if skewed { row_stride(length) } else { whole_vectors(length + 2 * GHOST) };
        let data = vec![0.0; 5 * stride * rows * (planes + 2 * GHOST) + LANES];
        Field { skewed, planes: usize::MAX, rows, stride, data }
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

    /// Place in [`Field::data`] of a point's first component.
    #[inline(always)]
    pub fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        let (mut row, place) = if self.skewed { (i + j, j) } else { (j, i) };
        while row >= self.rows {
            row -= self.rows;
        }
        place + 5 * self.stride * (row + self.rows * (k & self.planes))
    }

    /// [`Field::index`] of the points two before to two after `point` along each axis.
    #[inline(always)]
    pub fn stencil(&self, point: [usize; 3]) -> [[usize; 5]; 3] {
        std::array::from_fn(|axis| {
            std::array::from_fn(|offset| {
                let mut neighbour = point;
                neighbour[axis] = point[axis] + offset - 2;
                self.index(neighbour)
            })
        })
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

    /// The components of `count` points of a row, from `first` on.
    #[inline(always)]
    pub fn points(&self, first: [usize; 3], count: usize) -> [&[f64]; 5] {
        let at = self.index(first);
        std::array::from_fn(|m| &self.data[at + m * self.stride..][..count])
    }

    /// The components of `count` points of a row, from `first` on.
    #[inline(always)]
    pub fn points_mut(&mut self, first: [usize; 3], count: usize) -> [&mut [f64]; 5] {
        let at = self.index(first);
        let (a, rest) = self.data[at..].split_at_mut(self.stride);
        let (b, rest) = rest.split_at_mut(self.stride);
        let (c, rest) = rest.split_at_mut(self.stride);
        let (d, e) = rest.split_at_mut(self.stride);
        [&mut a[..count], &mut b[..count], &mut c[..count], &mut d[..count], &mut e[..count]]
    }
}

/// One row of five components, to compute in.
#[derive(Clone, Debug)]
pub struct Row {
    stride: usize,
    data: Vec<f64>,
}

impl Row {
    /// All zero, for rows of blocks that are `extent` points long.
    pub fn new(extent: usize) -> Self {
        let stride = row_stride(extent);
        Row { stride, data: vec![0.0; 5 * stride] }
    }

    /// Its components.
    #[inline(always)]
    pub fn components(&self) -> [&[f64]; 5] {
        std::array::from_fn(|m| &self.data[m * self.stride..][..self.stride])
    }

    /// All components one after the other, and how many doubles each has.
    #[inline(always)]
    pub fn data_mut(&mut self) -> (&mut [f64], usize) {
        (&mut self.data, self.stride)
    }
}

/// A number of points rounded up to whole vectors: rows leave room for that many.
pub fn whole_vectors(points: usize) -> usize {
    points.next_multiple_of(VECTOR)
}

/// Long enough for [`LANES`] doubles from any point on, ghosts included.
fn row_stride(extent: usize) -> usize {
    (extent + 2 * GHOST + LANES - 1).next_multiple_of(LANES)
}

#[cfg(test)]
mod tests {
    use super::{Block, Field, GHOST};
    use crate::cfd::Mesh;

    #[test]
    fn a_point_is_found_by_its_indices_and_so_are_its_neighbours() {
        let mesh = Mesh { n: 20 };
        let block = Block { mesh, start: [3, 5, 7], extent: [9, 4, 3] };
        for mut field in [Field::new(block.extent), Field::skewed(block.extent)] {
            field.fill(&block, |[i, j, k]| [i as f64, j as f64, k as f64, 0.0, (i + 100 * j + 10_000 * k) as f64]);
            let point = [4 + GHOST, 2 + GHOST, 1 + GHOST];
            assert_eq!(field.get(point), [7.0, 7.0, 8.0, 0.0, 80_707.0]);
            let neighbours = field.stencil(point).map(|axis| axis.map(|at| field.data()[at + 4 * field.stride]));
            assert_eq!(neighbours[0], [80_705.0, 80_706.0, 80_707.0, 80_708.0, 80_709.0]);
            assert_eq!(neighbours[1], [80_507.0, 80_607.0, 80_707.0, 80_807.0, 0.0]);
            assert_eq!(neighbours[2], [0.0, 70_707.0, 80_707.0, 90_707.0, 0.0]);
            assert_eq!(field.get([0, 0, 0]), [0.0; 5]);
        }
    }

    #[test]
    fn the_latest_planes_are_kept() {
        let mut field = Field::latest_planes([3, 3, 100]);
        (0..7).for_each(|k| field.set([1, 2, k], [k as f64; 5]));
        (3..7).for_each(|k| assert_eq!(field.get([1, 2, k]), [k as f64; 5]));
    }

    #[test]
    fn rows_follow_x_or_the_anti_diagonals() {
        let block = Block::whole(Mesh { n: 9 });
        let second = |mut field: Field| {
            field.fill(&block, |[i, j, k]| [(i + 10 * j + 100 * k) as f64; 5]);
            let first = [5 + GHOST, 3 + GHOST, 3 + GHOST];
            field.points_mut(first, 3)[1][2] = -1.0;
            field.points(first, 3)[1].to_vec()
        };
        assert_eq!(second(Field::new(block.extent)), [335.0, 336.0, -1.0]);
        assert_eq!(second(Field::skewed(block.extent)), [335.0, 344.0, -1.0]);
    }
}
