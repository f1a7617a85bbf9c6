//! The shape of a rank's part of a grid: a box of points with one layer of ghost points on every side.
//!
//! Points are stored x fastest. Indices count from the ghost layer, so that interior points are `1..=interior[axis]`.

use std::ops::Range;

/// A box of points with ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Points along each axis (x, y, z), without ghosts.
    pub interior: [usize; 3],
}

impl Shape {
    /// Points along each axis, with ghosts.
    pub fn extents(&self) -> [usize; 3] {
        self.interior.map(|points| points + 2)
    }

    /// All points, with ghosts.
    pub fn points(&self) -> usize {
        self.extents().iter().product()
    }

    /// The points of a row along x, with ghosts.
    #[inline(always)]
    pub fn row(&self, y: usize, z: usize) -> Range<usize> {
        let [length, rows, _] = self.extents();
        let start = length * (y + rows * z);
        start..start + length
    }

    /// The points of a row along x, without ghosts.
    #[inline(always)]
    pub fn interior_row(&self, y: usize, z: usize) -> Range<usize> {
        let row = self.row(y, z);
        row.start + 1..row.end - 1
    }

    /// The points of a plane of constant z, with ghosts.
    pub fn plane(&self, z: usize) -> Range<usize> {
        let [length, rows, _] = self.extents();
        length * rows * z..length * rows * (z + 1)
    }

    /// The points of all planes of constant z that are not ghosts.
    pub fn inside(&self) -> Range<usize> {
        self.plane(1).start..self.plane(self.interior[2] + 1).start
    }

    /// The planes of constant z, without ghosts.
    pub fn interior_planes(&self) -> Range<usize> {
        1..self.interior[2] + 1
    }

    /// All rows without those of ghosts.
    pub fn interior_rows(&self) -> Rows {
        Rows { y: 1..self.interior[1] + 1, z: self.interior_planes() }
    }
}

/// The rows of some planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Which rows of each plane.
    pub y: Range<usize>,
    /// Which planes.
    pub z: Range<usize>,
}

impl Rows {
    /// The same rows, of other planes.
    pub fn of(&self, planes: Range<usize>) -> Self {
        Rows { z: planes, ..self.clone() }
    }

    /// `(y, z)` of each, plane by plane.
    pub fn ascending(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let y = self.y.clone();
        self.z.clone().flat_map(move |z| y.clone().map(move |y| (y, z)))
    }

    /// `(y, z)` of each, last plane first.
    pub fn descending(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let y = self.y.clone();
        self.z.clone().rev().flat_map(move |z| y.clone().map(move |y| (y, z)))
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn rows_and_planes_tile_the_box() {
        let shape = Shape { interior: [2, 3, 4] };
        assert_eq!(shape.points(), 4 * 5 * 6);
        assert_eq!(shape.row(0, 0), 0..4);
        assert_eq!(shape.interior_row(1, 0), 5..7);
        assert_eq!(shape.plane(5), 100..120);
        assert_eq!(shape.inside(), 20..100);
        assert_eq!(shape.interior_rows().ascending().count(), 12);
        assert_eq!(shape.interior_rows().ascending().last(), Some((3, 4)));
    }
}
