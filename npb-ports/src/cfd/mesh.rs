//! Constants of the model, the mesh, and the box of it that a process (or cell) owns.

use std::ops::Range;

/// The five unknowns of a point: density, momentum along x, y and z, energy.
pub type State = [f64; 5];

/// Ratio of specific heats.
pub const C1: f64 = 1.4;
/// Pressure per internal energy: `C1 - 1`.
pub const C2: f64 = 0.4;
/// Viscosity constant.
pub const C3: f64 = 0.1;
/// Viscosity constant.
pub const C4: f64 = 1.0;
/// Constant of heat conduction.
pub const C5: f64 = 1.4;
/// Viscosity.
pub const NU: f64 = C3 * C4;
/// Heat conduction.
pub const KAPPA: f64 = C1 * C3 * C4 * C5;
/// Coefficient of the fourth differences that damp oscillations: a quarter of the largest diffusion coefficient.
pub const DISSIPATION: f64 = 0.25;

/// Second-difference coefficient of all five equations along x, y and z.
const DIFFUSION: [f64; 3] = [0.75, 0.75, 1.0];

/// A cube of n points each way, boundary included, at equal distances in the unit cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Points along an edge.
    pub n: usize,
}

/// Factors of the finite differences along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisCoefficients {
    /// Of second differences of the unknowns: diffusion coefficient times `second`.
    pub diffusion: f64,
    /// Of central first differences, `1 / (2 h)`: the definition's tx2.
    pub first: f64,
    /// Of second differences, `1 / h^2`: the definition's tx1.
    pub second: f64,
}

impl Mesh {
    /// Factors of the differences along `axis`.
    pub fn axis(&self, axis: usize) -> AxisCoefficients {
        let intervals = (self.n - 1) as f64;
        let second = intervals * intervals;
        AxisCoefficients { diffusion: DIFFUSION[axis] * second, first: intervals / 2.0, second }
    }

    /// Factors of the differences along all three axes.
    pub fn axes(&self) -> [AxisCoefficients; 3] {
        std::array::from_fn(|axis| self.axis(axis))
    }

    /// Where a point lies in the unit cube.
    pub fn coordinates(&self, point: [usize; 3]) -> [f64; 3] {
        point.map(|index| index as f64 / (self.n - 1) as f64)
    }

    /// Whether a point belongs to the boundary.
    pub fn on_boundary(&self, point: [usize; 3]) -> bool {
        point.iter().any(|&index| index == 0 || index == self.n - 1)
    }

    /// How many points change: those off the boundary.
    pub fn interior_points(&self) -> usize {
        (self.n - 2).pow(3)
    }
}

/// The box of a mesh that is owned by one process or cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The mesh it is cut from.
    pub mesh: Mesh,
    /// Index in the mesh of its first point, along each axis.
    pub start: [usize; 3],
    /// How many points it has along each axis.
    pub extent: [usize; 3],
}

impl Block {
    /// The whole mesh.
    pub fn whole(mesh: Mesh) -> Self {
        Block { mesh, start: [0; 3], extent: [mesh.n; 3] }
    }

    /// The block's own indices (from 0) along `axis` of the points that are off the mesh's boundary.
    pub fn interior(&self, axis: usize) -> Range<usize> {
        let (start, end) = (self.start[axis], self.start[axis] + self.extent[axis]);
        let first = start.max(1) - start;
        first..(end.min(self.mesh.n - 1) - start).max(first)
    }

    /// Index in the mesh of a point given by the block's own indices.
    pub fn global(&self, point: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| self.start[axis] + point[axis])
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Mesh};

    #[test]
    fn the_interior_leaves_out_only_the_mesh_boundary() {
        let mesh = Mesh { n: 12 };
        assert_eq!(Block::whole(mesh).interior(1), 1..11);
        let middle = Block { mesh, start: [0, 4, 8], extent: [4, 4, 4] };
        assert_eq!([middle.interior(0), middle.interior(1), middle.interior(2)], [1..4, 0..4, 0..3]);
    }
}
