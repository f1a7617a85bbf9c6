//! The order in which a sweep visits a plane: anti-diagonal by anti-diagonal, because a point needs its neighbours
//! along x and y done, and these lie on the diagonal before.

use crate::cfd::{Block, GHOST};
use std::ops::Range;

/// A rectangle of points of a plane, in a field's indices (which count from the first ghost).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Along x.
    pub i: Range<usize>,
    /// Along y.
    pub j: Range<usize>,
}

/// The points of a rectangle with i + j = `sum`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagonal {
    /// What i and j add up to.
    pub sum: usize,
    /// From the smallest to beyond the largest j.
    pub j: Range<usize>,
}

impl Rectangle {
    /// The interior points of a plane of `block`.
    pub fn interior(block: &Block) -> Self {
        let shifted = |range: Range<usize>| range.start + GHOST..range.end + GHOST;
        Rectangle { i: shifted(block.interior(0)), j: shifted(block.interior(1)) }
    }

    /// With `margin` more points on all sides.
    pub fn grown(&self, margin: usize) -> Self {
        let grown = |range: &Range<usize>| range.start - margin..range.end + margin;
        Rectangle { i: grown(&self.i), j: grown(&self.j) }
    }

    /// Its points with i + j = `sum`: maybe none.
    pub fn diagonal(&self, sum: usize) -> Diagonal {
        let start = self.j.start.max((sum + 1).saturating_sub(self.i.end));
        let end = self.j.end.min((sum + 1).saturating_sub(self.i.start));
        Diagonal { sum, j: start..end.max(start) }
    }

    /// All its diagonals, in ascending order of their sums.
    pub fn diagonals(&self) -> impl DoubleEndedIterator<Item = Diagonal> + use<> {
        let rectangle = self.clone();
        (self.i.start + self.j.start..(self.i.end + self.j.end).saturating_sub(1))
            .map(move |sum| rectangle.diagonal(sum))
    }
}

impl Diagonal {
    /// Its first point in plane `k`.
    pub fn first(&self, k: usize) -> [usize; 3] {
        [self.sum - self.j.start, self.j.start, k]
    }
}

#[cfg(test)]
mod tests {
    use super::Rectangle;

    #[test]
    fn diagonals_visit_every_point_once_and_after_its_predecessors() {
        for (width, height) in [(1, 1), (3, 1), (1, 4), (5, 3), (4, 7)] {
            let rectangle = Rectangle { i: 3..3 + width, j: 2..2 + height };
            let mut order = Vec::new();
            for diagonal in rectangle.diagonals() {
                order.extend(diagonal.j.clone().map(|j| (diagonal.sum - j, j)));
            }
            assert_eq!(order.len(), width * height);
            let place = |point| order.iter().position(|&visited| visited == point);
            for j in 2..2 + height {
                for i in 3..3 + width {
                    let own = place((i, j)).expect("every point is visited");
                    assert!(i == 3 || place((i - 1, j)).expect("visited") < own);
                    assert!(j == 2 || place((i, j - 1)).expect("visited") < own);
                }
            }
        }
    }

    #[test]
    fn diagonals_beyond_the_corners_are_empty() {
        let rectangle = Rectangle { i: 3..5, j: 2..4 };
        assert!(rectangle.diagonal(4).j.is_empty());
        assert!(rectangle.diagonal(8).j.is_empty());
    }
}
