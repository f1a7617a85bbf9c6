//! Who owns which cells.
//!
//! The mesh is cut into q slabs along each axis, so into q^3 cells, for q^2 ranks. A rank owns one cell in each slab,
//! whichever axis the slabs are counted along: so while lines are solved slab by slab, all ranks have work.

use crate::cfd::{Block, Mesh};

/// The two ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards index 0.
    Low,
    /// Towards index n-1.
    High,
}

/// A cell: where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its points.
    pub block: Block,
    /// Which slab it is in, along each axis.
    pub slab: [usize; 3],
}

impl Side {
    /// The other end.
    pub fn opposite(self) -> Self {
        match self {
            Side::Low => Side::High,
            Side::High => Side::Low,
        }
    }
}

/// The cells of one rank, and which ranks own their neighbours.
#[derive(Clone, Debug)]
pub struct Multipartition {
    slabs: usize,
    /// Remainder and quotient of the rank by the number of slabs.
    place: [usize; 2],
    cells: Vec<Cell>,
}

impl Multipartition {
    /// A cell needs this many points along each axis, for the fourth differences.
    const POINTS_MIN: usize = 3;

    /// Whether a mesh of `n` points each way can be dealt to `ranks`.
    pub fn is_possible(n: usize, ranks: usize) -> bool {
        let slabs = ranks.isqrt();
        ranks > 0 && slabs * slabs == ranks && n / slabs >= Self::POINTS_MIN
    }

    /// The cells of `rank`.
    ///
    /// # Panics
    /// If the mesh can't be dealt to so many ranks.
    pub fn new(mesh: Mesh, rank: usize, ranks: usize) -> Self {
        assert!(Self::is_possible(mesh.n, ranks), "{} points each way can't be dealt to {ranks} ranks", mesh.n);
        let slabs = ranks.isqrt();
        let place = [rank % slabs, rank / slabs];
        let cells = (0..slabs).map(|z| {
            let slab = [(place[0] + z) % slabs, (place[1] + slabs - z) % slabs, z];
            let start = slab.map(|index| first_point(mesh.n, slabs, index));
            let extent = std::array::from_fn(|axis| first_point(mesh.n, slabs, slab[axis] + 1) - start[axis]);
            Cell { block: Block { mesh, start, extent }, slab }
        });
        Multipartition { slabs, place, cells: cells.collect() }
    }

    /// The mesh that all cells are cut from.
    pub fn mesh(&self) -> Mesh {
        self.cells[0].block.mesh
    }

    /// How many slabs there are along each axis, and cells per rank.
    pub fn slabs(&self) -> usize {
        self.slabs
    }

    /// The cells, in the order of their slabs along z.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Index in [`Multipartition::cells`] of the cell in slab `slab` along `axis`.
    pub fn cell_in_slab(&self, axis: usize, slab: usize) -> usize {
        self.cells.iter().position(|cell| cell.slab[axis] == slab).expect("a rank has a cell in every slab")
    }

    /// Whether `cell` has a neighbour in the mesh on that side.
    pub fn has_neighbour(&self, cell: &Cell, axis: usize, side: Side) -> bool {
        match side {
            Side::Low => cell.slab[axis] > 0,
            Side::High => cell.slab[axis] + 1 < self.slabs,
        }
    }

    /// The rank that owns the neighbours on one side of all cells of this rank.
    pub fn neighbour(&self, axis: usize, side: Side) -> usize {
        let (next, previous) = (1, self.slabs - 1);
        let step = match (axis, side) {
            (0, Side::High) => [next, 0],
            (0, Side::Low) => [previous, 0],
            (1, Side::High) => [0, next],
            (1, Side::Low) => [0, previous],
            (_, Side::High) => [previous, next],
            (_, Side::Low) => [next, previous],
        };
        (self.place[0] + step[0]) % self.slabs + self.slabs * ((self.place[1] + step[1]) % self.slabs)
    }
}

/// Index in the mesh of the first point of slab `index`; the first slabs have one point more if not all can have as
/// many.
fn first_point(n: usize, slabs: usize, index: usize) -> usize {
    index * (n / slabs) + index.min(n % slabs)
}

#[cfg(test)]
mod tests {
    use super::{Multipartition, Side};
    use crate::cfd::Mesh;
    use std::collections::HashMap;

    const N: usize = 13;

    /// Which rank owns the cell in each place, and the point ranges.
    fn owners(slabs: usize) -> HashMap<[usize; 3], usize> {
        let ranks = slabs * slabs;
        let mut owners = HashMap::new();
        for rank in 0..ranks {
            for cell in Multipartition::new(Mesh { n: N }, rank, ranks).cells() {
                assert_eq!(owners.insert(cell.slab, rank), None, "two ranks own {:?}", cell.slab);
            }
        }
        owners
    }

    #[test]
    fn every_cell_has_one_owner_and_every_rank_a_cell_in_every_slab() {
        for slabs in 1..=4 {
            assert_eq!(owners(slabs).len(), slabs.pow(3));
            for rank in 0..slabs * slabs {
                let partition = Multipartition::new(Mesh { n: N }, rank, slabs * slabs);
                for axis in 0..3 {
                    let mut cells: Vec<_> = (0..slabs).map(|slab| partition.cell_in_slab(axis, slab)).collect();
                    cells.sort_unstable();
                    assert_eq!(cells, (0..slabs).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn neighbours_of_all_cells_on_a_side_belong_to_the_rank_named() {
        let slabs = 3;
        let owners = owners(slabs);
        for rank in 0..slabs * slabs {
            let partition = Multipartition::new(Mesh { n: N }, rank, slabs * slabs);
            for (cell, axis) in partition.cells().iter().flat_map(|cell| (0..3).map(move |axis| (cell, axis))) {
                for (side, step) in [(Side::Low, -1), (Side::High, 1)] {
                    let mut slab = cell.slab;
                    slab[axis] = slab[axis].wrapping_add_signed(step);
                    assert_eq!(partition.has_neighbour(cell, axis, side), owners.contains_key(&slab));
                    if let Some(&owner) = owners.get(&slab) {
                        assert_eq!(partition.neighbour(axis, side), owner);
                    }
                }
            }
        }
    }

    #[test]
    fn the_slabs_cover_the_mesh_and_the_first_are_larger() {
        let partition = Multipartition::new(Mesh { n: N }, 4, 9);
        for axis in 0..3 {
            let blocks = [0, 1, 2].map(|slab| partition.cells()[partition.cell_in_slab(axis, slab)].block);
            assert_eq!(blocks.map(|block| (block.start[axis], block.extent[axis])), [(0, 5), (5, 4), (9, 4)]);
        }
        assert!(!Multipartition::is_possible(N, 8) && !Multipartition::is_possible(N, 25));
    }
}
