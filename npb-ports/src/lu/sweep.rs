//! The two triangular sweeps of one iteration over a block.

use super::diagonals::{Diagonal, Rectangle};
use super::kernels::{Coefficients, Flow, push, solve};
use super::process_grid::Side;
use crate::cfd::{Block, Field, GHOST, Row, whole_vectors};
use std::ops::Range;

/// Which of the two triangular systems is solved, and so in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// From low to high indices.
    Lower,
    /// From high to low indices.
    Upper,
}

/// The flow that the blocks of the triangular systems are made from.
#[derive(Clone, Copy)]
pub struct Frozen<'a> {
    /// The unknowns.
    pub u: &'a Field,
    /// Their [`crate::cfd::Primitive`]s, ghosts included.
    pub primitives: &'a Field,
}

/// Products with off-diagonal blocks that wait for the points which will subtract them, and the diagonal in work.
pub struct Sweeper {
    coefficients: Coefficients,
    interior: Rectangle,
    planes: Range<usize>,
    /// For the next diagonal's points at the same j.
    along_x: Row,
    /// For the next diagonal's points one j further.
    along_y: Row,
    /// For the next plane: a row for every diagonal, by the sum of its indices.
    along_z: Vec<Row>,
    results: Row,
}

impl Sweep {
    /// The two sides of a block that its neighbours must have done before it.
    pub fn comes_from(self) -> [Side; 2] {
        match self {
            Sweep::Lower => [Side::North, Side::West],
            Sweep::Upper => [Side::South, Side::East],
        }
    }
}

impl Sweeper {
    /// For `block`.
    pub fn new(coefficients: Coefficients, block: &Block) -> Self {
        let row = Row::new(block.extent[1]);
        let interior = block.interior(2);
        Sweeper {
            coefficients,
            interior: Rectangle::interior(block),
            planes: interior.start + GHOST..interior.end + GHOST,
            along_x: row.clone(),
            along_y: row.clone(),
            along_z: vec![row.clone(); block.extent[0] + block.extent[1] + 4 * GHOST],
            results: row,
        }
    }

    /// The planes across z in the order of the sweep.
    pub fn planes(&self, sweep: Sweep) -> impl Iterator<Item = usize> + use<> {
        let (first, last) = (self.planes.start, self.planes.end - 1);
        self.planes.clone().map(move |k| match sweep {
            Sweep::Lower => k,
            Sweep::Upper => last - (k - first),
        })
    }

    /// The points of a plane that are swept.
    pub fn interior(&self) -> &Rectangle {
        &self.interior
    }

    /// Forgets the plane before: the next one is the sweep's first.
    pub fn begin(&mut self) {
        for row in &mut self.along_z {
            row.data_mut().0.fill(0.0);
        }
    }

    /// Sweeps over plane `k` of `v`. The lines of `v` beside the interior that the sweep comes from must be valid.
    pub fn plane(&mut self, sweep: Sweep, flow: Frozen<'_>, v: &mut Field, k: usize) {
        let done = self.interior.grown(1);
        let sums = done.diagonals().map(|diagonal| diagonal.sum);
        // Two corners of the grown rectangle have no neighbour in the interior.
        match sweep {
            Sweep::Lower => sums.skip(1).for_each(|sum| self.diagonal(sweep, flow, v, sum, k)),
            Sweep::Upper => sums.rev().skip(1).for_each(|sum| self.diagonal(sweep, flow, v, sum, k)),
        }
    }

    fn diagonal(&mut self, sweep: Sweep, flow: Frozen<'_>, v: &mut Field, sum: usize, k: usize) {
        let inside = self.interior.diagonal(sum);
        if !inside.j.is_empty() {
            self.solve_diagonal(sweep, flow, v, &inside, k);
        }
        let around = self.interior.grown(1).diagonal(sum);
        let (results, stride) = self.results.data_mut();
        for j in [around.j.start, around.j.end - 1] {
            if !inside.j.contains(&j) {
                for (m, number) in v.get([sum - j, j, k]).into_iter().enumerate() {
                    results[m * stride + j] = number;
                }
            }
        }
        self.push_diagonal(sweep, flow, &around, k);
    }

    fn solve_diagonal(&mut self, sweep: Sweep, flow: Frozen<'_>, v: &mut Field, inside: &Diagonal, k: usize) {
        let (first, j) = (inside.first(k), inside.j.start);
        let count = whole_vectors(inside.j.len());
        let from_y = match sweep {
            Sweep::Lower => j - 1,
            Sweep::Upper => j + 1,
        };
        let terms = [(&self.along_x, j), (&self.along_y, from_y), (&self.along_z[inside.sum], j)];
        let terms = terms.map(|(row, first)| row.components().map(|component| &component[first..]));
        let (points, frozen) = (v.points(first, count), flow.points(first, count));
        solve(&self.coefficients, sweep, frozen, points, terms, self.results.data_mut(), (j, count));
        for (into, from) in v.points_mut(first, inside.j.len()).into_iter().zip(self.results.components()) {
            into.copy_from_slice(&from[inside.j.clone()]);
        }
    }

    fn push_diagonal(&mut self, sweep: Sweep, flow: Frozen<'_>, around: &Diagonal, k: usize) {
        let (first, j) = (around.first(k), around.j.start);
        let count = whole_vectors(around.j.len());
        let frozen = flow.points(first, count);
        let results = self.results.components().map(|component| &component[j..]);
        let coefficients = &self.coefficients;
        let terms = [&mut self.along_x, &mut self.along_y, &mut self.along_z[around.sum]];
        for (axis, terms) in terms.into_iter().enumerate() {
            push(coefficients, sweep, axis, frozen, results, terms.data_mut(), (j, count));
        }
    }
}

impl<'a> Frozen<'a> {
    fn points(self, first: [usize; 3], count: usize) -> Flow<'a> {
        Flow { primitives: self.primitives.points(first, count), u5: self.u.points(first, count)[4] }
    }
}
