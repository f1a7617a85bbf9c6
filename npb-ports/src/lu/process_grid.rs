//! How the cube is divided: into columns along z, by a grid of processes across x and y.

use crate::cfd::{Block, Mesh};

/// Fewest points of a block along x and y: a sweep's stencils must not reach beyond the next block.
const LEAST_POINTS: usize = 3;

/// One process's place in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGrid {
    /// Processes along x.
    width: usize,
    /// Processes along y.
    height: usize,
    rank: usize,
}

/// A block's four neighbours, named as if x pointed south and y pointed east.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Lower x.
    North,
    /// Higher x.
    South,
    /// Lower y.
    West,
    /// Higher y.
    East,
}

impl Side {
    /// All four.
    pub const ALL: [Side; 4] = [Side::South, Side::North, Side::East, Side::West];
}

impl ProcessGrid {
    /// The grid of `processes`, seen from `rank`.
    pub fn new(processes: usize, rank: usize) -> Self {
        let height = (1..=processes.isqrt()).rev().find(|height| processes.is_multiple_of(*height)).unwrap_or(1);
        ProcessGrid { width: processes / height, height, rank }
    }

    /// Whether the definition allows `processes` for `mesh`: neither too slender a grid nor too small blocks.
    pub fn allows(mesh: Mesh, processes: usize) -> bool {
        let grid = Self::new(processes, 0);
        grid.width <= 2 * grid.height && mesh.n / grid.width >= LEAST_POINTS
    }

    /// The points of this process.
    pub fn block(&self, mesh: Mesh) -> Block {
        let share = |parts: usize, part: usize| {
            let (points, longer) = (mesh.n / parts, mesh.n % parts);
            (part * points + part.min(longer), points + usize::from(part < longer))
        };
        let (x, y) = self.place();
        let ((x_start, x_extent), (y_start, y_extent)) = (share(self.width, x), share(self.height, y));
        Block { mesh, start: [x_start, y_start, 0], extent: [x_extent, y_extent, mesh.n] }
    }

    /// The rank of the neighbour on that side, if there is one.
    pub fn neighbour(&self, side: Side) -> Option<usize> {
        let (x, y) = self.place();
        match side {
            Side::North => (x > 0).then(|| self.rank - 1),
            Side::South => (x + 1 < self.width).then_some(self.rank + 1),
            Side::West => (y > 0).then(|| self.rank - self.width),
            Side::East => (y + 1 < self.height).then_some(self.rank + self.width),
        }
    }

    fn place(&self) -> (usize, usize) {
        (self.rank % self.width, self.rank / self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessGrid, Side};
    use crate::cfd::Mesh;

    #[test]
    fn blocks_tile_the_cube_without_overlap() {
        let mesh = Mesh { n: 33 };
        for processes in [1, 2, 4, 6, 8, 9, 12] {
            let mut owners = vec![0; mesh.n * mesh.n];
            for rank in 0..processes {
                let block = ProcessGrid::new(processes, rank).block(mesh);
                for j in 0..block.extent[1] {
                    for i in 0..block.extent[0] {
                        let [x, y, _] = block.global([i, j, 0]);
                        owners[x + mesh.n * y] += 1;
                    }
                }
            }
            assert!(owners.iter().all(|&owners| owners == 1), "{processes} processes");
        }
    }

    #[test]
    fn six_processes_stand_three_wide_and_two_high() {
        let middle_north_west = ProcessGrid::new(6, 1);
        let neighbours = [Side::North, Side::South, Side::West, Side::East].map(|s| middle_north_west.neighbour(s));
        assert_eq!(neighbours, [Some(0), Some(2), None, Some(4)]);
    }
}
