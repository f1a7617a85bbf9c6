//! How the ranks divide a cube of points among themselves.

use super::shape::Shape;
use std::ops::Range;

/// Processes along each axis, powers of two; rank = x + px·(y + py·z).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// Along x, y and z.
    pub processes: [usize; 3],
}

/// A rank's box in a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first point, counted in the whole grid from 0.
    pub start: [usize; 3],
    /// Its shape.
    pub shape: Shape,
}

impl Decomposition {
    /// Divides the axes among `ranks`, a power of two: z gets most, x least.
    pub fn new(ranks: usize) -> Self {
        let log = ranks.ilog2();
        let log_x = log / 3;
        let log_y = (log - log_x) / 2;
        Decomposition { processes: [1 << log_x, 1 << log_y, 1 << (log - log_x - log_y)] }
    }

    /// Where `rank` stands.
    pub fn position(&self, rank: usize) -> [usize; 3] {
        let [columns, rows, _] = self.processes;
        [rank % columns, rank / columns % rows, rank / (columns * rows)]
    }

    /// Who stands next to `rank` along `axis`: `[before, after]`. The axes are periodic.
    pub fn neighbours(&self, rank: usize, axis: usize) -> [usize; 2] {
        let count = self.processes[axis];
        [count - 1, 1].map(|step| {
            let mut position = self.position(rank);
            position[axis] = (position[axis] + step) % count;
            let [columns, rows, _] = self.processes;
            position[0] + columns * (position[1] + rows * position[2])
        })
    }

    /// The box of `rank` in a cube with `points` points along each axis, no fewer than there are processes.
    pub fn part(&self, rank: usize, points: usize) -> Part {
        let interior = self.processes.map(|processes| points / processes);
        let position = self.position(rank);
        Part { start: std::array::from_fn(|axis| position[axis] * interior[axis]), shape: Shape { interior } }
    }
}

impl Part {
    /// The box's points along `axis`, counted in the whole grid.
    pub fn axis(&self, axis: usize) -> Range<usize> {
        self.start[axis]..self.start[axis] + self.shape.interior[axis]
    }

    /// Where a point of the whole grid is stored here, ghosts counted; `None` if it lies elsewhere.
    pub fn local(&self, position: [usize; 3]) -> Option<[usize; 3]> {
        let here = (0..3).all(|axis| self.axis(axis).contains(&position[axis]));
        here.then(|| std::array::from_fn(|axis| position[axis] - self.start[axis] + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Decomposition;

    #[test]
    fn axes_are_divided_as_the_definition_says() {
        let expected = [[1, 1, 1], [1, 1, 2], [1, 2, 2], [2, 2, 2], [2, 2, 4], [2, 4, 4], [4, 4, 4]];
        for (log, processes) in expected.into_iter().enumerate() {
            assert_eq!(Decomposition::new(1 << log).processes, processes);
        }
    }

    #[test]
    fn neighbours_are_one_step_away_and_mutual() {
        let decomposition = Decomposition::new(16);
        for rank in 0..16 {
            for axis in 0..3 {
                let [before, after] = decomposition.neighbours(rank, axis);
                assert_eq!(decomposition.neighbours(before, axis)[1], rank);
                assert_eq!(decomposition.neighbours(after, axis)[0], rank);
                let mut expected = decomposition.position(rank);
                expected[axis] = (expected[axis] + 1) % decomposition.processes[axis];
                assert_eq!(decomposition.position(after), expected);
            }
        }
    }
}
