//! The arithmetic of a sweep, for the points of one anti-diagonal.
//!
//! The definition has a point subtract the products of its off-diagonal blocks with the results of three neighbours.
//! Here a point that is done computes the three products that its own result has a part in, and leaves them for its
//! successors. So all that a product needs is at hand, and is computed once for the three of them.

use super::blocks::{Blocks, OMEGA};
use super::change::{Change, Flow};
use super::sweep::Sweep;
use crate::lanes::{LANES, Lanes, Unknowns};
use multiversion::multiversion;

/// The points of a diagonal and where they are stored. The points next to the block at either end take part.
#[derive(Clone, Copy)]
pub struct Strip {
    /// Place of the first point in the fields.
    pub field: usize,
    /// Doubles between components of the fields.
    pub field_stride: usize,
    /// Index along y of the first point: its place in rows of terms.
    pub first: usize,
    /// Doubles between components of rows of terms.
    pub stride: usize,
    /// How many points.
    pub count: usize,
    /// The first that is to be solved, counted from the first.
    pub start: usize,
    /// The first after it that is not.
    pub end: usize,
}

/// Products with off-diagonal blocks, each row components after components. Those of this diagonal's predecessors are
/// replaced by its own.
pub struct Terms<'a> {
    /// Of and for the same j.
    pub x: &'a mut [f64],
    /// Of the diagonal before.
    pub y_before: &'a [f64],
    /// For the diagonal after.
    pub y: &'a mut [f64],
    /// Of and for the neighbouring planes.
    pub z: &'a mut [f64],
}

#[inline(always)]
fn load(numbers: &[f64], first: usize, stride: usize) -> Unknowns {
    let component = |m: usize| Lanes::load(numbers, first + m * stride);
    [component(0), component(1), component(2), component(3), component(4)]
}

#[inline(always)]
fn store(unknowns: Unknowns, numbers: &mut [f64], first: usize, stride: usize) {
    for (m, component) in unknowns.into_iter().enumerate() {
        component.store(numbers, first + m * stride);
    }
}

#[inline(always)]
fn load_flow(u: &[f64], primitives: &[f64], first: usize, stride: usize) -> Flow {
    let [inverse_density, x, y, z, kinetic] = load(primitives, first, stride);
    let energy = Lanes::load(u, first + 4 * stride) * inverse_density;
    Flow { inverse_density, velocity: [x, y, z], kinetic, energy }
}

/// Solves the lower triangular system for a diagonal of `v`.
#[multiversion(targets("x86_64+avx2+fma"))]
pub fn lower(blocks: &Blocks, u: &[f64], primitives: &[f64], v: &mut [f64], mut terms: Terms, strip: Strip) {
    for lane in (0..strip.count).step_by(LANES) {
        let flow = load_flow(u, primitives, strip.field + lane, strip.field_stride);
        relax(Sweep::Lower, blocks, flow, v, &mut terms, strip, lane);
    }
}

/// Solves the upper triangular system for a diagonal of `v`, and corrects the unknowns by the result.
#[multiversion(targets("x86_64+avx2+fma"))]
pub fn upper(blocks: &Blocks, u: &mut [f64], primitives: &mut [f64], v: &mut [f64], mut terms: Terms, strip: Strip) {
    for lane in (0..strip.count).step_by(LANES) {
        let (field, stride) = (strip.field + lane, strip.field_stride);
        let flow = load_flow(u, primitives, field, stride);
        let correction = relax(Sweep::Upper, blocks, flow, v, &mut terms, strip, lane);
        let old = load(u, field, stride);
        let corrected = correct(&old, &correction);
        let new = inside(&corrected, &old, strip, lane);
        store(new, u, field, stride);
        store(primitives_of(&new), primitives, field, stride);
    }
}

/// Solves the points from `lane` on and passes on what their successors subtract.
#[inline(always)]
fn relax(
    sweep: Sweep,
    blocks: &Blocks,
    flow: Flow,
    v: &mut [f64],
    terms: &mut Terms<'_>,
    strip: Strip,
    lane: usize,
) -> Unknowns {
    let (field, place, stride) = (strip.field + lane, strip.first + lane, strip.stride);
    let beside = match sweep {
        Sweep::Lower => place - 1,
        Sweep::Upper => place + 1,
    };
    let old = load(v, field, strip.field_stride);
    let (x, y, z) = (load(terms.x, place, stride), load(terms.y_before, beside, stride), load(terms.z, place, stride));
    let solved = solve(sweep, blocks, &flow, &old, [x, y, z]);
    // A neighbour's point, and what is not a point of this diagonal, stays.
    let new = inside(&solved, &old, strip, lane);
    store(new, v, field, strip.field_stride);
    let change = Change::new(flow, new);
    store(blocks.off_diagonal::<0>(sweep, &change, &new), terms.x, place, stride);
    store(blocks.off_diagonal::<1>(sweep, &change, &new), terms.y, place, stride);
    store(blocks.off_diagonal::<2>(sweep, &change, &new), terms.z, place, stride);
    new
}

#[inline(always)]
fn solve(sweep: Sweep, blocks: &Blocks, flow: &Flow, v: &Unknowns, [x, y, z]: [Unknowns; 3]) -> Unknowns {
    let mut right = [Lanes::default(); 5];
    match sweep {
        Sweep::Lower => {
            for m in 0..5 {
                right[m] = blocks.step * v[m] - (x[m] + y[m] + z[m]);
            }
            blocks.divide_by_diagonal(flow, right)
        }
        Sweep::Upper => {
            for m in 0..5 {
                right[m] = x[m] + y[m] + z[m];
            }
            let mut result = blocks.divide_by_diagonal(flow, right);
            for m in 0..5 {
                result[m] = v[m] - result[m];
            }
            result
        }
    }
}

#[inline(always)]
fn inside(new: &Unknowns, old: &Unknowns, strip: Strip, lane: usize) -> Unknowns {
    let (start, end) = (strip.start.saturating_sub(lane), strip.end.saturating_sub(lane));
    let mut chosen = *new;
    for m in 0..5 {
        chosen[m] = new[m].within(start, end, old[m]);
    }
    chosen
}

#[inline(always)]
fn correct(u: &Unknowns, correction: &Unknowns) -> Unknowns {
    let factor = Lanes::splat(1.0 / (OMEGA * (2.0 - OMEGA)));
    let mut corrected = *u;
    for m in 0..5 {
        corrected[m] = u[m].plus_product(factor, correction[m]);
    }
    corrected
}

/// [`crate::cfd::Primitive`]s, as they are stored.
#[inline(always)]
fn primitives_of(u: &Unknowns) -> Unknowns {
    let inverse_density = u[0].recip();
    let [x, y, z] = [u[1] * inverse_density, u[2] * inverse_density, u[3] * inverse_density];
    [inverse_density, x, y, z, 0.5 * (x * x).plus_product(y, y).plus_product(z, z)]
}
