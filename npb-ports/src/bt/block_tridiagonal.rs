//! The block tridiagonal systems of a line, solved by elimination without pivoting.

use super::coupling::{Block, COUPLED, Coupling, Factors};
use crate::cfd::Mesh;
use crate::lanes::{Lanes, Unknowns};
use crate::multipartition::{Face, LineSolver, Lines, Multipartition};
use multiversion::multiversion;

/// The solver of a class.
#[derive(Clone, Debug)]
pub struct BlockTridiagonal {
    axes: [Factors; 3],
}

impl BlockTridiagonal {
    /// For a mesh of `n` points each way.
    pub fn new(n: usize, time_step: f64) -> Self {
        BlockTridiagonal { axes: [0, 1, 2].map(|axis| Factors::new(Mesh { n }, axis, time_step)) }
    }
}

impl LineSolver for BlockTridiagonal {
    /// The block right of the diagonal, which is the identity.
    type Kept = Block;
    /// The last row: its block and its right-hand side.
    type Forward = [Lanes; 30];
    /// The solution at a point.
    type Backward = [Lanes; 5];

    fn lines_per_message(partition: &Multipartition, _face: &Face) -> usize {
        // Always as many as a cell's face may have with one more line each way, as the definition has it.
        (partition.mesh().n / partition.slabs() + 1).pow(2)
    }

    /// Puts the momentum along the line second.
    fn prepare(&self, axis: usize, lines: &mut Lines<Block>) {
        lines.u.iter_mut().chain(&mut lines.r).for_each(|unknowns| unknowns.swap(1, 1 + axis));
    }

    fn eliminate(&self, axis: usize, _start: usize, lines: &mut Lines<Block>, carry: &mut [Lanes; 30]) {
        eliminate(&self.axes[axis], &lines.u, &mut lines.r, &mut lines.kept, carry);
    }

    fn substitute(&self, lines: &mut Lines<Block>, carry: &mut [Lanes; 5]) {
        substitute(&lines.kept, &mut lines.r, carry);
    }

    /// The reverse of `prepare`.
    fn finish(&self, axis: usize, lines: &mut Lines<Block>) {
        lines.r.iter_mut().for_each(|unknowns| unknowns.swap(1, 1 + axis));
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn eliminate(factors: &Factors, u: &[Unknowns], r: &mut [Unknowns], kept: &mut [Block], carry: &mut [Lanes; 30]) {
    let mut last: (Block, Unknowns) = from_carry(carry);
    let mut couplings = [Coupling::default(); 3];
    factors.couple(&u[0], &mut couplings[0]);
    factors.couple(&u[1], &mut couplings[1]);
    for (t, (r, kept)) in r.iter_mut().zip(kept).enumerate() {
        let [before, here, after] = [t % 3, (t + 1) % 3, (t + 2) % 3];
        factors.couple(&u[t + 2], &mut couplings[after]);
        let (left, own, right) = (&couplings[before].onward, &couplings[here].own, &couplings[after].backward);
        eliminate_point(left, own, right, r, kept, &last);
        last = (*kept, *r);
    }
    to_carry(&last, carry);
}

/// Frees a point's equations of the point before it and of its own unknowns but one each.
///
/// `r` becomes the right-hand side and `kept` the block right of the diagonal; `last` are those of the point before.
#[inline(always)]
fn eliminate_point(
    left: &Block,
    own: &Block,
    right: &Block,
    r: &mut Unknowns,
    kept: &mut Block,
    last: &(Block, Unknowns),
) {
    // The equations of the point: `own x + kept y = r`. They are made upper triangular row by row, with a diagonal
    // of 1.
    let mut triangle = Block::default();
    for row in 0..5 {
        let (mut own, mut right, mut r_row) = (own[row], right[row], r[row]);
        for &column in COUPLED[row] {
            let factor = left[row][column];
            for m in 0..5 {
                own[m] = own[m].plus_product(factor, last.0[column][m]);
            }
            r_row = r_row.plus_product(factor, last.1[column]);
        }
        for above in 0..row {
            let factor = own[above];
            for m in above + 1..5 {
                own[m] = own[m].minus_product(factor, triangle[above][m]);
            }
            for m in 0..5 {
                right[m] = right[m].minus_product(factor, kept[above][m]);
            }
            r_row = r_row.minus_product(factor, r[above]);
        }
        let pivot = own[row].recip();
        for m in row + 1..5 {
            triangle[row][m] = own[m] * pivot;
        }
        for m in 0..5 {
            kept[row][m] = right[m] * pivot;
        }
        r[row] = r_row * pivot;
    }
    for row in (0..4).rev() {
        for below in row + 1..5 {
            let factor = triangle[row][below];
            for m in 0..5 {
                kept[row][m] = kept[row][m].minus_product(factor, kept[below][m]);
            }
            r[row] = r[row].minus_product(factor, r[below]);
        }
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn substitute(kept: &[Block], r: &mut [Unknowns], next: &mut Unknowns) {
    for (r, block) in r.iter_mut().zip(kept).rev() {
        for row in 0..5 {
            for m in 0..5 {
                r[row] = r[row].minus_product(block[row][m], next[m]);
            }
        }
        *next = *r;
    }
}

fn from_carry(carry: &[Lanes; 30]) -> (Block, Unknowns) {
    let number = |place: usize| carry[place];
    let block = std::array::from_fn(|row| std::array::from_fn(|column| number(5 * row + column)));
    (block, std::array::from_fn(|row| number(25 + row)))
}

fn to_carry((block, r): &(Block, Unknowns), carry: &mut [Lanes; 30]) {
    let numbers = block.iter().flatten().chain(r);
    for (place, &number) in carry.iter_mut().zip(numbers) {
        *place = number;
    }
}
